"""The public functions: each has an example that runs, and says what is wrong with its arguments."""

import doctest
import gc
import importlib
import inspect
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import packetloom
from packetloom.errors import ArgumentError, PacketloomError
from packetloom.scenario.plan import read_plan
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

WITH_EXAMPLES = [
    *(
        "check",
        "compare",
        "estimate",
        "export",
        "fidelity",
        "Network",
        "plot",
        "run",
        "size_bins",
        "summary",
        "tune",
        "report",
    ),
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_its_example_runs(name: str, scenario: Path, finished: Path, tmp_path: Path) -> None:
    if name == "tune":
        pytest.importorskip("optuna", reason="a tuning needs Optuna")
    function: Callable[..., object] = getattr(packetloom, name)
    rack = '[topology]\nkind = "rack"\n[[scheme]]\nname = "one"\ntransport = "tcp"\nqueue = "drop-tail"\n'
    given = {
        "packetloom": packetloom,
        "network_scenario": rack,
        "scenario": scenario,
        "results": Results(finished),
        "folder": tmp_path / "files",
    }
    (tmp_path / "files").mkdir()
    module = importlib.import_module(function.__module__)
    (found,) = (one for one in doctest.DocTestFinder(recurse=False).find(function, name, module, globs=given))
    assert found.examples
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(found, out=said.append).failed == 0, "".join(said)


def test_a_functions_text_names_what_it_raises() -> None:
    """Of errors and warnings a reader learns from the text, not from a traceback."""
    errors = [name for name in packetloom.__all__ if name.endswith("Error")]
    functions = [name for name in packetloom.__all__ if inspect.isfunction(getattr(packetloom, name))]
    silent = [name for name in functions if not any(error in getattr(packetloom, name).__doc__ for error in errors)]
    assert silent == []


def test_a_table_or_column_that_there_is_not_is_named_with_the_nearest(finished: Path) -> None:
    results = Results(finished)
    row = results.rows()[0]
    for asked in (
        lambda: results.table("flow"),  # type: ignore[arg-type]
        lambda: next(results.partitions("flow")),  # type: ignore[arg-type]
        lambda: results.part("flow", row),  # type: ignore[arg-type]
        lambda: results.to_polars("flow"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ArgumentError, match="there is no table 'flow'; did you mean 'flows'"):
            asked()
    for read in (results.table, lambda name, columns: next(results.partitions(name, columns))):
        with pytest.raises(ArgumentError, match="has no column 'size_byte'; did you mean 'size_bytes'"):
            read("flows", ["size_byte"])
    assert not results.problems


def test_a_comparison_is_the_commands(finished: Path) -> None:
    found = packetloom.compare(f"{finished}:TCP", ":DCTCP", by="mean-slowdown")
    assert found["condition"].to_list() == ["load 0.2", "load 0.8"]
    assert found["times_as_bad"].to_list() == found["ratio_or_difference"].to_list()
    assert ((found["low"] < found["ratio_or_difference"]) & (found["ratio_or_difference"] < found["high"])).all()
    along = packetloom.compare(finished, along="load", by="mean-slowdown")
    assert along["condition"].to_list() == ["TCP", "DCTCP"]
    assert (along["b_mean"] > along["a_mean"]).all()


def test_what_is_checked_costs_what_it_says(scenario: Path) -> None:
    found = packetloom.check(scenario, overrides=["run.seeds=4"])
    assert (found.cases, found.most_cases) == (16, 16)
    assert any("4 hosts" in fact for fact in found.facts)
    assert any("buffer of a switch's port" in one for one in found.unequal)
    assert found.cost.packet_hops > 1000


def test_mistakes_get_a_message(finished: Path, scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="give b, or along"):
        packetloom.compare(finished)
    with pytest.raises(ArgumentError, match="base goes with along"):
        packetloom.compare(finished, ":DCTCP", base="0.2")
    with pytest.raises(PacketloomError, match="there is no statistic 'p98' to compare by"):
        packetloom.compare(f"{finished}:TCP", ":DCTCP", by="p98")
    with pytest.raises(ArgumentError, match=r"rung is 'packet'.*one of steady, links, flows"):
        packetloom.estimate(scenario, "packet")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="results is"):
        packetloom.export(str(finished), "fct-hpcc", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(PacketloomError, match=r"fidelity sets run\.seeds itself"):
        packetloom.fidelity(scenario, overrides=["run.seeds=3"])


def test_what_the_commands_warn_of_is_a_warning_here(scenario: Path) -> None:
    """Packets of unequal size are no scheme's own; the warning names the line that asked for the run."""
    document = tomllib.loads(scenario.read_text())
    document["run"] = {"loads": [0.2], "flows": 20, "seeds": 1}
    document["scheme"][0]["transport"] = {"kind": "tcp", "mss": "500B"}
    with pytest.warns(packetloom.ScenarioWarning, match="differs between schemes|packet") as caught:
        packetloom.run(document, progress=False)
    assert {one.filename for one in caught} == {__file__}
    document["scheme"][1]["transport"] = "ndp"
    document["scheme"][1]["queue"] = "ndp"
    with pytest.warns(packetloom.ScenarioWarning, match="DCTCP: no (links|steady|flows)"):
        packetloom.fidelity(document, flows=20, seeds=1, progress=False)


def test_overrides_by_key_are_those_of_the_command(scenario: Path) -> None:
    texts = ['scheme.DCTCP.queue={kind="ecn", capacity="100KB"}', "run.loads=[0.2]", 'run.warm_up="1ms"']
    values = {
        "scheme.DCTCP.queue": {"kind": "ecn", "capacity": "100KB"},
        "run.loads": np.array([0.2]),
        "run.warm_up": "1ms",
    }
    by_text, by_key = (read_plan(scenario, overrides) for overrides in (texts, values))
    assert [one.id for one in by_text.cases] == [one.id for one in by_key.cases]
    with pytest.raises(PacketloomError, match=r"run\.seeds: is None"):
        read_plan(scenario, {"run.seeds": None})
    with pytest.raises(ArgumentError, match="or values by key"):
        read_plan(scenario, 5)  # type: ignore[arg-type]


def test_a_scenario_has_the_keys_of_the_format(scenario: Path) -> None:
    document = tomllib.loads(scenario.read_text())
    schemes = [packetloom.Scheme(**scheme, nic="drop-tail") for scheme in document["scheme"]]
    parts = {key: document[key] for key in ("topology", "workload", "run", "measure")}
    made = packetloom.Scenario(schemes=schemes, name="small", description="Two of them.", **parts)
    named = document | {"name": "small", "description": "Two of them."}
    named["scheme"] = [scheme | {"nic": "drop-tail"} for scheme in document["scheme"]]
    assert made.to_dict() == named
    assert [one.id for one in read_plan(made).cases] == [one.id for one in read_plan(named).cases]


def test_temporary_results_go_with_the_last_who_holds_them(scenario: Path, tmp_path: Path) -> None:
    less = {"run.seeds": 1, "run.loads": [0.2]}
    results = packetloom.run(scenario, overrides=less, progress=False)
    folder, flows = results.path, results.table("flows")
    held = results
    del results
    gc.collect()
    assert folder.is_dir()
    del held
    gc.collect()
    assert not folder.exists()
    assert flows.num_rows == 100
    kept = packetloom.run(scenario, tmp_path / "kept", overrides=less, progress=False).path
    gc.collect()
    assert packetloom.Results(kept).table("flows").equals(flows)


def test_tables_without_rows_have_no_folder(finished: Path) -> None:
    assert {one.name for one in finished.glob("*.parquet")} == {"cases.parquet", "flows.parquet", "ports.parquet"}
    assert packetloom.Results(finished).table("jobs").num_rows == 0
