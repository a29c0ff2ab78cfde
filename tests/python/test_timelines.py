"""What happens over time, and how late flows are."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import packetloom
from packetloom.errors import PacketloomError
from packetloom.stats import timelines
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results


class Made(Results):
    """One case with these tables."""

    def __init__(self, **tables: dict[str, list[Any]]) -> None:
        self.made = tables

    def rows(self) -> list[CaseRow]:
        return [CaseRow("a", {"scheme": "DAQ", "load": None, "seed": 1}, {"simulated_ns": 3000.0}, "", "", ())]

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        if name in self.made:
            table = pl.DataFrame(self.made[name])
            yield (
                self.rows()[0],
                table.select(one for one in columns or table.columns if one in table.columns).to_arrow(),
            )


def test_lateness_counts_flows_that_never_came_at_every_time() -> None:
    nan = float("nan")
    flows: dict[str, list[Any]] = {
        "start_ns": [10.0, 10.0, 10.0, 10.0, 10.0, 10.0],
        "fct_ns": [5.0, 25.0, 45.0, nan, 99.0, 99.0],
        "deadline_ns": [20.0, 20.0, 20.0, 20.0, nan, 20.0],
        "measured": [True, True, True, True, True, False],
    }
    found = timelines.missed_by(Made(flows=flows))
    # 15 and 35 ns late, and one forever.
    assert found["missed_by_ns"].to_list() == [0.0, 15.0, 35.0]
    assert found["fraction"].to_list() == [0.75, 0.5, 0.25]
    with pytest.raises(PacketloomError, match="no flow has a deadline"):
        timelines.missed_by(Made(flows={**flows, "deadline_ns": [nan] * 6}))


PORTS: dict[str, list[Any]] = {
    "port": [0, 1, 2],
    "node": ["host0", "switch0", "switch0"],
    "peer": ["switch0", "host0", "switch1"],
    "tx_packets": [1, 2, 3],
    "tx_bytes": [10, 2000, 30],
    "utilisation": [0.0, 0.5, 0.0],
}
TIMES = [0.0, 1000.0, 2000.0]


def test_utilisation_is_of_the_busiest_link() -> None:
    # 2000 B in half of 3000 ns: the link can carry 4/3 B/ns.
    series: dict[str, list[Any]] = {
        "port": [1] * 3 + [0] * 3,
        "time_ns": TIMES * 2,
        "tx_bytes": [1000, 400, 600, 9, 9, 9],
    }
    found = timelines.utilisation_over_time(Made(ports=PORTS, series=series))
    assert found["value"].to_list() == pytest.approx([0.75, 0.3, 0.45])
    # Since ports have a rate, that is what counts, and framing: each packet of 1000 B takes 1020 B of 8 Gb/s.
    rates: dict[str, list[Any]] = {"link_gbps": [1.0, 8.0, 1.0], "framing_bytes": [20] * 3}
    found = timelines.utilisation_over_time(Made(ports=PORTS | rates, series=series))
    assert found["value"].to_list() == pytest.approx([1.02, 0.408, 0.612])
    # Only port 1 leads to a host: 1000, 400 and 600 B in 1000 ns each.
    received = timelines.throughput_over_time(Made(ports=PORTS, series=series))
    assert received["value"].to_list() == pytest.approx([8.0, 3.2, 4.8])


def test_classes_are_summed_where_they_count() -> None:
    nan = float("nan")
    samples: dict[str, list[Any]] = {
        "port": [0, 1, 2],
        "time_ns": [0.0] * 3,
        "class": [1] * 3,
        "data_bytes": [500, 1000, 4000],
        "queue_bytes": [7.0, 40.0, 2.0],
        "credit_bytes": [300.0, nan, 50.0],
    }
    later: dict[str, list[Any]] = {
        name: [1000.0] * 3 if name == "time_ns" else values for name, values in samples.items()
    }
    both = {name: [*samples[name], *later[name]] for name in samples}
    made = Made(ports=PORTS, classes=both)
    first = {name: timelines.classes_over_time(made, name)["value"][0] for name in ("throughput", "queue", "credit")}
    # To hosts: port 1, 8000 bits in 1000 ns. In switches: ports 1 and 2. Credit: wherever it is counted.
    assert first == {"throughput": 8.0, "queue": 42.0, "credit": 350.0}


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Results:
    scenario = {
        "topology": {"kind": "rack", "hosts": 6, "link": {"rate": "1Gbps", "delay": "70us"}},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "30KB"},
                "arrivals": {"kind": "periodic", "interval": "10ms"},
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": 3},
                "deadlines": {"kind": "fixed", "after": "1ms"},
            },
            {
                "sizes": {"kind": "constant", "size": "10MB"},
                "arrivals": "closed",
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": 2},
                "class": 1,
                "background": True,
            },
        ],
        "scheme": [
            {"name": "DAQ", "transport": "daq", "queue": {"kind": "daq", "weight_ratio": 1}},
            {"name": "TCP", "transport": "tcp", "queue": "drop-tail"},
        ],
        "run": {"duration": "50ms"},
        "measure": {"series_interval": "1ms", "by_class": True},
    }
    return packetloom.run(scenario, tmp_path_factory.mktemp("sampled") / "out", progress=False)


def test_a_run_sampled_by_class_adds_up(sampled: Results) -> None:
    used = timelines.utilisation_over_time(sampled).filter(pl.col("label") == "DAQ")["value"].to_numpy()
    assert used.max() <= 1.02
    assert used[5:].mean() > 0.95
    carried = timelines.classes_over_time(sampled, "throughput").filter(pl.col("label") == "DAQ")
    both = carried.group_by("time_ns").agg(pl.col("value").sum()).sort("time_ns")["value"].to_numpy()
    assert np.all(both <= 1.02)
    assert both[5:].mean() > 0.9
    credit = timelines.classes_over_time(sampled, "credit")
    assert credit["label"].unique().to_list() == ["DAQ"]
    assert credit["value"].max() <= 6 * 2 * 2e6 / 5  # type: ignore[operator]


@pytest.mark.parametrize(
    "name", ["missed-by", "utilisation-over-time", "class-throughput", "class-queue", "class-credits"]
)
def test_every_figure_over_time_draws_a_line_per_scheme_and_class(name: str, sampled: Results, tmp_path: Path) -> None:
    axes = packetloom.plot(name, sampled)
    labels = set(axes.get_legend_handles_labels()[1])
    schemes = {"DAQ"} if name in ("class-queue", "class-credits") else {"DAQ", "TCP"}
    classes = ("",) if not name.startswith("class") else (", class 0", ", class 1")
    assert labels == {f"{scheme}{one}" for scheme in schemes for one in classes}
    plt.savefig(tmp_path / "figure.png")
    plt.close("all")


def test_what_was_not_sampled_is_told(tmp_path: Path) -> None:
    empty = Made(ports=PORTS)
    with pytest.raises(PacketloomError, match="series_interval"):
        timelines.utilisation_over_time(empty)
    with pytest.raises(PacketloomError, match="by_class = true"):
        timelines.classes_over_time(empty, "queue")
