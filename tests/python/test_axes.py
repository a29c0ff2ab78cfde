"""A grid's axes have one type: in every table, over all cases of the scenario, whichever are finished."""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packetloom
from packetloom.store.case_rows import CaseRow, index_table, parameter_types
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

ROOT = Path(__file__).parents[2]
FAN_IN = "workload.pattern.fan_in"
CAPACITY = "scheme.queue.capacity_bytes"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    scenario = {
        "topology": {"kind": "rack", "hosts": 12},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "30KB"},
                "arrivals": "at-once",
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": [2, 10, 4]},
            }
        ],
        "scheme": [
            {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "capacity": ["100KB", "50KB"]}},
            {"name": "Ideal", "transport": "ideal"},
        ],
        "run": {"seeds": 1},
        "measure": {"series_interval": "10us"},
    }
    return packetloom.run(scenario, tmp_path_factory.mktemp("axes") / "out", progress=False)


def test_a_number_is_a_number_in_every_table(results: Results) -> None:
    tables = [
        results.cases,
        results.flows,
        results.ports,
        results.series,
        pq.read_table(results.path / "cases.parquet"),
    ]
    for axis in (FAN_IN, CAPACITY):
        assert {table.schema.field(axis).type for table in tables} == {pa.int64()}
    assert results.to_pandas("flows")[FAN_IN].sum() == 3 * (2 * 2 + 4 * 4 + 10 * 10)


def test_groups_come_in_the_order_of_the_numbers(results: Results) -> None:
    flows = results.to_polars("flows").filter(scheme="DCTCP").group_by(FAN_IN).len().sort(FAN_IN)
    assert flows.rows() == [(2, 4), (4, 8), (10, 20)]


def test_the_summary_has_the_same_types(results: Results) -> None:
    assert packetloom.summary(results)[FAN_IN].dtype == pl.Int64
    assert packetloom.summary(results)[CAPACITY].null_count() > 0  # a flow-level model has no queue


def test_an_axis_that_a_case_does_not_have_is_null_there(results: Results) -> None:
    ideal = results.to_polars("flows").filter(scheme="Ideal")
    assert ideal[CAPACITY].null_count() == ideal.height > 0


def test_the_type_does_not_hang_on_which_cases_are_finished() -> None:
    planned = [{"scheme": "A", "threshold": value} for value in (1, 2.5, None)]
    (whole_number, *_) = [CaseRow("", parameters, {}, "", "", ()) for parameters in planned]
    types = parameter_types(planned)
    assert index_table([whole_number], types).schema.field("threshold").type == pa.float64()
    types = parameter_types([*planned, {"scheme": "B", "threshold": "none"}])
    assert index_table([whole_number], types)["threshold"].to_pylist() == ["1"]


def test_the_snippet_of_the_examples_groups_by_the_number_of_senders(tmp_path: Path) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "examples/README.md").read_text(), re.DOTALL)
    (shown,) = re.findall(
        r"```python\n.*?```\n\n```text\n(.*?)```", (ROOT / "examples/README.md").read_text(), re.DOTALL
    )
    script = snippet.replace("results/incast", str(tmp_path / "out")).replace("incast.png", str(tmp_path / "a.png"))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == shown.strip()
