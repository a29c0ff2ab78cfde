"""What pauses did: time, paths, innocent flows, figures and the fabric, against figures worked out by hand."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import packetloom
from packetloom.errors import PacketloomError
from packetloom.pages.fabric_view import fabric_view
from packetloom.pages.figures import chart
from packetloom.pages.report import report_page
from packetloom.stats.pauses import innocent_flows, overlap, pause_reach, paused_over_time, paused_ports
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results

US = 1_000.0
LINKS = [(f"host{host}", f"leaf{host // 2}") for host in range(4)] + [
    (f"leaf{leaf}", f"spine{spine}") for leaf in range(2) for spine in range(2)
]
PORTS = [end for link in LINKS for end in (link, link[::-1])]


def port(node: str, peer: str) -> int:
    return PORTS.index((node, peer))


def pause(at: tuple[str, str], from_us: float, until_us: float, origin: tuple[str, str], reach: int) -> dict[str, Any]:
    where = {"port": port(*at), "origin_port": port(*origin), "passed_on": reach, "class": 3}
    return where | {"from_ns": from_us * US, "until_ns": until_us * US}


def flow(number: int, src: int, dst: int, start_us: float, fct_us: float, of_class: int = 3) -> dict[str, Any]:
    times = {"start_ns": start_us * US, "fct_ns": fct_us * US, "slowdown": 2.0, "measured": True}
    return {"flow_id": number, "src": src, "dst": dst, "size_bytes": 1_000, "class": of_class} | times


class Made(Results):
    """Two leaves of two hosts, two spines; 100 us."""

    def __init__(
        self, pauses: list[dict[str, Any]], flows: list[dict[str, Any]], own_class: int | None = None, seeds: int = 1
    ) -> None:
        ports = [{"port": place, "node": node, "peer": peer, "tier": ""} for place, (node, peer) in enumerate(PORTS)]
        self.path = Path("made")
        self.made = {"pauses": pauses, "flows": flows, "ports": ports}
        self.own_class = own_class
        self.seeds = seeds

    def rows(self) -> list[CaseRow]:
        counters: dict[str, int | float] = {"simulated_ns": 100 * US}

        def row(seed: int) -> CaseRow:
            return CaseRow(str(seed), {"scheme": "PFC", "load": 0.5, "seed": seed}, counters, "", "", ())

        return [row(seed) for seed in range(self.seeds)]

    def plan_lines(self) -> list[dict[str, Any]]:
        case = json.dumps({"scheme": {"transport": {"class": self.own_class}}})
        return [{"id": row.case_id, "parameters": row.parameters, "case": case} for row in self.rows()]

    def part(self, name: TableName, row: CaseRow, columns: Sequence[str] | None = None) -> pa.Table | None:
        if row.seed and name == "pauses":
            return None
        table = pl.DataFrame(self.made[name]).to_arrow() if self.made[name] else pa.table({})
        return table if columns is None else table.select(list(columns))

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        for row in self.rows():
            if (table := self.part(name, row, columns)) is not None:
                yield row, table


HOT = ("leaf1", "host3")
"""Too much waits for it, so links to leaf 1 are paused, and then host 0's and host 1's."""
TREE = [
    pause(("spine0", "leaf1"), 10, 20, HOT, 0),
    pause(("leaf0", "spine0"), 12, 30, HOT, 1),
    pause(("host0", "leaf0"), 15, 35, HOT, 2),
    pause(("host0", "leaf0"), 50, 60, HOT, 2),
    pause(("host1", "leaf0"), 16, 26, HOT, 2),
]


def test_time_on_pauses_that_touch_and_overlap() -> None:
    pauses = pl.DataFrame({"from_ns": [30.0, 10.0, 15.0, 20.0], "until_ns": [40.0, 20.0, 18.0, 25.0]})
    starts, ends = np.array([0.0, 10, 12, 24, 26, 35, 0]), np.array([5.0, 20, 14, 31, 30, 99, 99])
    assert overlap(pauses, starts, ends).tolist() == [0, 10, 2, 2, 0, 5, 25]


def test_who_waited_and_who_is_innocent() -> None:
    flows = [
        flow(0, 0, 3, 0, 40),  # what the hot port was hot with: 15 to 35
        flow(1, 0, 1, 10, 15),  # to its own leaf, behind the same NIC: 15 to 25, innocent
        flow(2, 0, 2, 55, np.nan),  # to the other leaf, to the end: 55 to 60, innocent
        flow(3, 2, 3, 0, 50),  # to the hot port, by no link that was ever paused
        flow(4, 1, 2, 40, 20),  # after its host's pause
        flow(5, 1, 2, 0, 20, of_class=1),  # in a class that nobody paused
    ]
    found = innocent_flows(Made(TREE, flows))
    rows = {row["flow_id"]: row for row in found.iter_rows(named=True)}
    assert {number: (row["waited_ns"], row["innocent"]) for number, row in rows.items()} == {
        0: (20 * US, False),
        1: (10 * US, True),
        2: (5 * US, True),
    }
    assert {(row["port"], row["origin"], row["passed_on"]) for row in rows.values()} == {
        ("host0 to leaf0", "leaf1 to host3", 2)
    }
    # Where the transport has a class of its own, flows' do not count.
    assert set(innocent_flows(Made(TREE, flows, own_class=3))["flow_id"]) == {0, 1, 2, 5}
    assert innocent_flows(Made(TREE, flows, own_class=4)).is_empty()


def test_one_of_several_paths_makes_nobody_wait_but_may_make_guilty() -> None:
    # Only one of the two ways between the leaves is paused; the other one is free.
    one_way = [pause(("leaf0", "spine0"), 0, 100, ("spine0", "leaf1"), 0)]
    assert innocent_flows(Made(one_way, [flow(0, 0, 2, 0, 50)])).is_empty()
    # Both hosts' pauses began at that link, which lies on a path of one flow and on none of the other.
    began = [pause(("host0", "leaf0"), 0, 100, ("leaf0", "spine0"), 0)]
    found = innocent_flows(Made(began, [flow(0, 0, 2, 0, 50), flow(1, 0, 1, 0, 50)]))
    assert dict(found.select("flow_id", "innocent").iter_rows()) == {0: False, 1: True}


def test_flows_to_a_slow_host_are_not_innocent() -> None:
    slow = [
        pause(("leaf1", "host3"), 0, 90, ("host3", "leaf1"), 0),
        pause(("host0", "leaf0"), 5, 90, ("host3", "leaf1"), 3),
    ]
    found = innocent_flows(Made(slow, [flow(0, 0, 3, 0, 50), flow(1, 0, 2, 0, 50), flow(2, 3, 1, 0, 50)]))
    assert {row["flow_id"]: (row["innocent"], row["origin"]) for row in found.iter_rows(named=True)} == {
        0: (False, "host3 to leaf1"),
        1: (True, "host3 to leaf1"),
    }


def test_what_the_figures_draw() -> None:
    made = Made(TREE, [flow(0, 0, 3, 0, 40)])
    ports = {row["port"]: (row["paused"] / US, row["caused"] / US) for row in paused_ports(made).iter_rows(named=True)}
    assert ports == {
        "leaf1 to host3": (0, 68),
        "host0 to leaf0": (30, 0),
        "leaf0 to spine0": (18, 0),
        "spine0 to leaf1": (10, 0),
        "host1 to leaf0": (10, 0),
    }
    reach = pause_reach(made).select("passed_on", pl.col("paused") / US, "pauses").rows()
    assert reach == [(0, 10, 1), (1, 18, 1), (2, 40, 3)]
    over_time = paused_over_time(made)
    at = dict(zip(over_time["time_ns"].round().to_list(), over_time["ports"].round(6).to_list(), strict=True))
    assert [at[time] for time in (0, 11_000, 13_000, 17_000, 27_000, 40_000, 51_000)] == [0, 1, 2, 4, 2, 0, 1]
    # A seed in which nothing was paused counts.
    assert pause_reach(Made(TREE, [], seeds=2))["pauses"].to_list() == [0.5, 0.5, 1.5]
    for name in ("paused-ports", "pause-reach", "paused-over-time"):
        assert chart(name, made).to_json()["series"][0]["label"] == "PFC, class 3"
        with pytest.raises(PacketloomError, match=r"set pauses = true in \[measure\]"):
            chart(name, Made([], []))
    # A port where pauses began, and that was not paused itself, has no bar among those that were.
    bars = {series["at"]["statistic"]: series["x"] for series in chart("paused-ports", made).to_json()["series"]}
    assert bars["paused by what began there (ms)"] == ["leaf1 to host3"]
    assert sorted(bars["paused at it (ms)"]) == sorted(name for name, (paused, _) in ports.items() if paused)


SCENARIO = {
    "topology": {"kind": "rack", "hosts": 5, "link": {"rate": "100Gbps", "delay": "1us"}},
    "workload": [
        {
            "sizes": {"kind": "constant", "size": "500KB"},
            "arrivals": "at-once",
            "pattern": {"kind": "incast", "fan_in": 4, "receiver": 0},
        }
    ],
    "scheme": [{"name": "PFC alone", "transport": "roce", "queue": {"kind": "shared-buffer", "buffer": "1MB"}}],
    "measure": {"pauses": True, "series_interval": "10us"},
    "run": {"seeds": 1},
}


def test_the_report_and_the_fabric_show_pauses_over_time(tmp_path: Path) -> None:
    results = packetloom.run(SCENARIO, tmp_path / "paused", progress=False)
    view = fabric_view(results)
    assert view is not None
    case, network = view["cases"][0], view["topologies"][0]
    assert [len(case[name]) for name in ("paused", "utilisation")] == [len(case["times_ms"])] * 2
    pauses = results.to_polars("pauses")
    lasted = dict(pauses.group_by("port").agg((pl.col("until_ns") - pl.col("from_ns")).sum()).iter_rows())
    end_ns = results.rows()[0].counters["simulated_ns"]
    ns = np.diff([*(1e6 * time for time in case["times_ms"]), end_ns])
    for place, (node, _) in enumerate(network["links"]):
        shown = sum(
            share / 10_000 * length
            for share, length in zip((frame[place] for frame in case["paused"]), ns, strict=True)
        )
        assert shown == pytest.approx(lasted.get(place, 0.0), abs=len(ns))
        assert ("paused" in case["totals"][place]) == (network["nodes"][node]["kind"] == "host" and place in lasted)
    text = report_page([results]).render()
    assert "Flows that waited behind pauses" in text
    assert "How far pauses travelled" in text
