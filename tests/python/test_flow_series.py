"""What senders knew of flows over time: the table, and the figure that is made of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import packetloom
from packetloom.errors import PacketloomError
from packetloom.pages.figures import Chart, chart
from packetloom.pages.panels import Curve
from packetloom.stats import flow_series
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results

NAN = float("nan")
TCP: dict[str, object] = {"name": "TCP", "transport": "tcp", "queue": {"kind": "drop-tail", "capacity": "100KB"}}
DCQCN: dict[str, object] = {"name": "DCQCN", "transport": "dcqcn", "queue": "shared-buffer"}


class Made(Results):
    """Cases with these samples, by label and seed."""

    def __init__(self, **samples: dict[str, list[Any]]) -> None:
        self.made = samples

    def rows(self) -> list[CaseRow]:
        return [
            CaseRow(name, {"scheme": name.partition("_")[0], "load": None, "seed": seed}, {}, "", "", ())
            for seed, name in enumerate(self.made)
        ]

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        for row in self.rows():
            yield row, pl.DataFrame(self.made[row.case_id]).to_arrow()


def samples(flow: int, window: Sequence[float], arrived: Sequence[int]) -> dict[str, list[Any]]:
    """One a microsecond, of a scheme that knows its window only."""
    count = len(window)
    return {
        "flow_id": [flow] * count,
        "time_ns": [1000.0 * at for at in range(count)],
        "window_bytes": list(window),
        "rate_gbps": [NAN] * count,
        "rtt_ns": [NAN] * count,
        "arrived_bytes": list(arrived),
        "in_flight_bytes": [int(one) for one in window],
        "retransmissions": [0] * count,
    }


def of(frame: pl.DataFrame, statistic: str) -> tuple[list[float], list[float]]:
    own = frame.filter(statistic=statistic)
    return own["time_ns"].to_list(), own["value"].to_list()


def test_a_quantity_is_drawn_where_it_changes_and_at_its_end() -> None:
    window = [2e3, 2e3, 4e3, 4e3, 4e3, 8e3, 8e3]
    found = flow_series.flows_over_time(Made(TCP=samples(7, window, [0] * 7)))
    assert of(found, "window (KB)") == ([0.0, 2000.0, 5000.0, 6000.0], [2.0, 4.0, 8.0, 8.0])
    assert of(found, "rate (Gb/s)") == ([], [])
    assert of(found, "sent again (packets)") == ([0.0, 6000.0], [0.0, 0.0])
    assert set(found["flow"]) == {7}


def test_what_arrived_is_a_mean_over_stretches() -> None:
    # Ten intervals are two stretches of five: 5 kB in 5 us are 8 Gb/s, then 2.5 kB are 4 Gb/s.
    arrived = [1000 * min(at, 5) + 500 * max(at - 5, 0) for at in range(11)]
    found = flow_series.flows_over_time(Made(TCP=samples(0, [1e3] * 11, arrived)))
    assert of(found, flow_series.DELIVERED) == ([0.0, 5000.0, 10000.0], [8.0, 4.0, 4.0])
    few = flow_series.flows_over_time(Made(TCP=samples(0, [1e3] * 4, [0, 1, 2, 3])))
    assert of(few, flow_series.DELIVERED) == ([], [])


def test_of_a_sender_that_is_told_of_no_arrival_is_drawn_what_it_sent() -> None:
    found = flow_series.flows_over_time(Made(SIRD=samples(0, [1e3 * at for at in range(6)], [0] * 6)))
    assert of(found, flow_series.SENT) == ([0.0, 5000.0], [8.0, 8.0])
    assert of(found, flow_series.DELIVERED) == ([], [])


def test_only_the_first_seed_is_drawn_and_long_lines_are_thinned() -> None:
    long = samples(0, [1e3 * (1 + at % 2) for at in range(1999)], [0] * 1999)
    found = flow_series.flows_over_time(Made(TCP_a=long, TCP_b=samples(5, [9e9], [0]), DCTCP=samples(3, [1e3], [0])))
    assert found.group_by("label").agg(pl.col("flow").unique()).sort("label").rows() == [("DCTCP", [3]), ("TCP", [0])]
    times, _ = of(found.filter(label="TCP"), "window (KB)")
    assert len(times) <= flow_series.MOST_POINTS + 1
    assert times[-1] == 1998e3
    # The more lines there are, the fewer points each has.
    many = {
        name: [value for flow in range(40) for value in ([flow] * 1999 if name == "flow_id" else column)]
        for name, column in long.items()
    }
    found = flow_series.flows_over_time(Made(TCP=many))
    assert found.filter(statistic="window (KB)").height <= flow_series.MOST_POINTS_TOGETHER + 40


def ran(folder: Path, *schemes: dict[str, object], **measure: object) -> Results:
    """Two flows of 1 MB to one host."""
    link = {"rate": "10Gbps", "delay": "5us"}
    flows = {
        "sizes": {"kind": "constant", "size": "1MB"},
        "arrivals": "at-once",
        "pattern": {"kind": "incast", "fan_in": 2, "receiver": 0},
        "flows": 2,
    }
    scenario = {
        "topology": {"kind": "rack", "hosts": 3, "link": link},
        "workload": [flows],
        "scheme": list(schemes),
        "measure": measure,
    }
    return packetloom.run(scenario, folder, progress=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return ran(tmp_path_factory.mktemp("flows") / "out", TCP, DCQCN, flows=[0, 1])


def test_the_table_has_what_each_scheme_knows(results: Results) -> None:
    table = results.flow_series
    assert table.column_names[4:] == [
        *("flow_id", "time_ns", "window_bytes", "rate_gbps", "rtt_ns", "in_flight_bytes", "arrived_bytes"),
        *("packets_sent", "retransmissions", "timeouts", "trimmed"),
    ]
    meanings = [table.schema.field(name).metadata for name in table.column_names]
    assert all(meaning and meaning.get(b"meaning") for meaning in meanings)
    frame = results.to_polars("flow_series")
    tcp, dcqcn = (frame.filter(scheme=name) for name in ("TCP", "DCQCN"))
    assert tcp["rate_gbps"].is_nan().all()
    assert not tcp["window_bytes"].is_nan().any()
    assert dcqcn["window_bytes"].is_nan().all()
    assert dcqcn["rate_gbps"].max() == 10.0
    # Every microsecond, from the start to the last acknowledgement.
    flows = results.to_polars("flows")
    for own in (tcp, dcqcn):
        for (flow,), series in own.group_by("flow_id"):
            row = flows.filter(scheme=own["scheme"][0], flow_id=flow).row(0, named=True)
            ends = row["start_ns"] + row["sender_fct_ns"]
            assert series["time_ns"].to_list() == list(np.arange(0.0, ends, 1000.0))
            last = series.row(-1, named=True)
            assert 1_000_000 - 30_000 < last["arrived_bytes"] < 1_000_000
            assert last["retransmissions"] == row["retransmissions"]
    assert tcp["retransmissions"].max() > 0  # type: ignore[operator]


def test_what_arrived_adds_up(results: Results) -> None:
    frame = flow_series.flows_over_time(results).filter(statistic=flow_series.DELIVERED)
    samples = results.to_polars("flow_series")
    for (label, flow), line in frame.group_by("label", "flow"):
        taken = samples.filter(scheme=label, flow_id=flow)
        bits = (line["value"][:-1] * line["time_ns"].diff()[1:]).sum()
        assert bits / 8 == pytest.approx(taken["arrived_bytes"][-1] - taken["arrived_bytes"][0])


def lines_of(drawn: Chart, statistic: str) -> list[Curve]:
    return [mark for mark in drawn.panel({"statistic": statistic}).marks if isinstance(mark, Curve)]


def test_the_figure_has_a_panel_for_each_quantity_and_a_line_for_each_flow(results: Results, tmp_path: Path) -> None:
    drawn = chart("flows-over-time", results)
    known = [name for name in flow_series.ORDER if name != flow_series.SENT]
    assert drawn.values("statistic") == known
    lines = {name: [mark.label for mark in lines_of(drawn, name)] for name in known}
    assert lines["window (KB)"] == ["TCP, flow 0", "TCP, flow 1"]
    assert lines["rate (Gb/s)"] == ["DCQCN, flow 0", "DCQCN, flow 1"]
    assert len(lines[flow_series.DELIVERED]) == 4
    # Flows of several schemes differ in dashes, those of the only one in colour.
    looks = [mark.look for mark in lines_of(drawn, "window (KB)")]
    assert [look.colour for look in looks] == [looks[0].colour] * 2
    assert looks[0].dash != looks[1].dash
    alone = chart("flows-over-time", ran(tmp_path / "alone", TCP, flows=[0, 1]))
    colours = [mark.look.colour for mark in lines_of(alone, "window (KB)")]
    assert len(set(colours)) == 2
    assert alone.values("statistic") == [name for name in known if name != "rate (Gb/s)"]


def test_without_samples_it_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match=r"name some in \[measure\], such as flows = \[0, 1\]"):
        flow_series.flows_over_time(ran(tmp_path / "none", TCP))
