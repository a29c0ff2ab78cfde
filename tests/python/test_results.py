"""Results folders as other tools see them."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import packetloom
from packetloom.cli.catalogue import print_explanation
from packetloom.cli.reference import column_page
from packetloom.errors import ArgumentError, PacketloomError
from packetloom.store.columns import TABLES, columns_of
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited


@pytest.fixture
def results(finished: Path) -> Results:
    return Results(finished)


def test_columns_explain_themselves(results: Results) -> None:
    schema = results.flows.schema
    assert schema.field("slowdown").metadata[b"meaning"].startswith(b"fct / best_fct")
    assert b"target load" in schema.field("load").metadata[b"meaning"].lower()
    assert results.cases.schema.field("packet_hops").metadata[b"role"] == b"counter"


def test_a_name_that_there_is_not_gets_the_nearest(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError, match="there is no table 'flow'; did you mean 'flows' or 'flow_series'"):
        results.table("flow")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the table 'flows' has no column 'slowdwn'; did you mean 'slowdown'"):
        results.table("flows", ["slowdwn"])
    with pytest.raises(ArgumentError, match="the table 'cases' has no column 'hops'; did you mean 'packet_hops'"):
        results.table("cases", ["hops"])
    assert results.table("flows", ["slowdown"]).column_names == ["slowdown"]
    assert capsys.readouterr().err == ""


def test_plain_tools_read_the_files(results: Results) -> None:
    frame = pl.read_parquet(results.path / "flows.parquet")
    assert frame.group_by("scheme", "load", "seed").len()["len"].to_list() == [50] * 8
    assert len(pd.read_parquet(results.path / "flows.parquet")) == 400
    assert pq.read_table(results.path / "cases.parquet").num_rows == 8


def test_every_column_is_in_the_documentation(scenario: Path, tmp_path: Path) -> None:
    sample = "measure.series_interval=1ms"
    by_class = [sample, "measure.by_class=true"]
    sampled = packetloom.run(scenario, tmp_path / "sampled", overrides=by_class, progress=False)
    assert sampled.classes.column_names[-4:] == ["class", "data_bytes", "queue_bytes", "credit_bytes"]
    ndp = [sample, "scheme.*.transport=ndp", "scheme.*.queue=ndp"]
    pulled = packetloom.run(scenario, tmp_path / "pulled", overrides=ndp, progress=False)
    assert pulled.pulls.column_names[-3:] == ["host", "time_ns", "pulls"]
    page = column_page()
    of_each = {name: sampled.table(name).column_names for name in ("cases", "flows", "ports", "series", "classes")}
    for table, columns in (of_each | {"pulls": pulled.pulls.column_names}).items():
        assert set(columns) <= set(columns_of(table))
    for table in TABLES:
        section = page.partition(f"\n## {table}.parquet\n")[2].partition("\n## ")[0]
        assert [name for name in TABLES[table] if f"\n| `{name}` | " not in section] == []


def test_a_tables_columns_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation("flows.parquet")
    assert "fct / best_fct, also called normalised FCT" in capsys.readouterr().out
    with pytest.raises(PacketloomError, match=r"no table 'flow\.parquet' in results; did you mean 'flows\.parquet'"):
        print_explanation("flow.parquet")
    with pytest.raises(PacketloomError, match=r"no table 'flows\.parqet'; did you mean 'flows\.parquet'"):
        print_explanation("flows.parqet")


def test_pandas_and_polars(results: Results) -> None:
    assert len(results.to_pandas("cases")) == 8
    assert results.to_polars("ports").height == 8 * 8  # each of 4 links has two ends
    assert results.to_polars("flows")["slowdown"].dtype == pl.Float64


def test_cases_come_in_the_scenarios_order(results: Results) -> None:
    loads = results.cases.select(["scheme", "load", "seed"]).to_pylist()
    assert loads[0] == {"scheme": "TCP", "load": 0.2, "seed": 1}
    assert loads[-1] == {"scheme": "DCTCP", "load": 0.8, "seed": 2}


def test_damaged_file_is_named(out: Path) -> None:
    results = Results(out)
    flows = sorted((out / "flows.parquet").glob("*.parquet"))[0]
    flows.write_bytes(b"rubbish")
    (out / "cases.parquet").unlink()
    assert len(results.rows()) == 7
    (problem,) = results.problems
    assert f"{flows.name}: is damaged, cut short or overwritten" in problem


def test_what_is_not_a_results_folder(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="there is no such folder"):
        Results(tmp_path / "missing")
    with pytest.raises(PacketloomError, match="not a results folder"):
        Results(tmp_path)
    (tmp_path / "packetloom.json").write_text("{")
    with pytest.raises(PacketloomError, match="damaged"):
        Results(tmp_path)
