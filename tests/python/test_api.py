"""The public functions: each has an example that runs, and says what is wrong with its arguments."""

import doctest
import importlib
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import packetloom
from packetloom.errors import ArgumentError, PacketloomError
from packetloom.store.results import Results

WITH_EXAMPLES = ["check", "compare", "estimate", "export", "fidelity", "run"]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_its_example_runs(name: str, scenario: Path, finished: Path, tmp_path: Path) -> None:
    function: Callable[..., object] = getattr(packetloom, name)
    given = {"packetloom": packetloom, "scenario": scenario, "results": Results(finished), "folder": tmp_path / "files"}
    module = importlib.import_module(function.__module__)
    (found,) = (one for one in doctest.DocTestFinder(recurse=False).find(function, name, module, globs=given))
    assert found.examples
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(found, out=said.append).failed == 0, "".join(said)


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
