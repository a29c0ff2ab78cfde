"""Switches in servers that reduce and multicast: what NCCL's NVLS and NVLSTree send by packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import packetloom
from packetloom import PacketloomError, Results

SIZE = 8 * 2**20
Json = Any


def scenario(servers: int, ranks: int, operation: str = "all-reduce", *, reduction: bool = True) -> Json:
    """Servers of four accelerators; ranks fill them one after the other."""
    library = {"kind": "nccl", "algorithm": "nvls" if ranks == 4 else "nvls-tree"}
    arrivals = {"kind": "collective", "operation": operation, "size": f"{SIZE}B", "ranks": ranks, "library": library}
    return {
        "topology": {
            "kind": "rail-optimised",
            "servers": servers,
            "accelerators": 4,
            "servers_per_rail_switch": servers,
            "link": {"rate": "400Gbps", "delay": "500ns"},
            "scale_up": {"rate": "3600Gbps", "delay": "300ns"},
        }
        | ({"reduction": "14400Gbps"} if reduction else {}),
        "workload": [{"arrivals": arrivals}],
        "scheme": [{"name": "RDMA", "transport": {"kind": "roce", "preset": "deployed"}, "queue": "drop-tail"}],
        "measure": {"critical_path": True, "operations": True},
    }


def run(made: Json, folder: Path) -> tuple[Results, pl.DataFrame]:
    """The results, and the bytes from each host to each other."""
    results = packetloom.run(made, folder / "results")
    flows = results.to_polars("flows")
    assert flows["fct_ns"].is_nan().sum() == 0
    return results, flows.group_by("src", "dst").agg(pl.col("size_bytes").sum())


def sent(pairs: pl.DataFrame, src: set[int], dst: set[int]) -> dict[int, int]:
    """The bytes that each of some hosts sends to others."""
    found = pairs.filter(pl.col("src").is_in(src) & pl.col("dst").is_in(dst)).group_by("src")
    return dict(found.agg(pl.col("size_bytes").sum()).iter_rows())


@pytest.mark.parametrize(
    ("operation", "of_rank", "of_node"),
    [("all-reduce", 5 / 4, 5), ("reduce-scatter", 1, 1), ("all-gather", 1 / 4, 4)],
)
def test_a_server_sends_everything_once_to_its_switch_and_back(
    operation: str, of_rank: float, of_node: float, tmp_path: Path
) -> None:
    results, pairs = run(scenario(2, 4, operation), tmp_path)
    # The nodes follow all accelerators; that of the second server has nothing to do.
    assert sent(pairs, {*range(8)}, {8}) == dict.fromkeys(range(4), SIZE * of_rank)
    assert sent(pairs, {8, 9}, {*range(10)}) == {8: SIZE * of_node}
    (job,) = results.to_polars("jobs").iter_rows(named=True)
    # An accelerator's link carries 8 MiB in 18.6 us; latencies are 25 us.
    least_us = max(of_rank, 1) * SIZE * 8 / 3600e9 * 1e6
    assert least_us < job["jct_ns"] / 1e3 < 2.2 * least_us + 26


def test_a_trees_heads_alone_cross_servers(tmp_path: Path) -> None:
    results, pairs = run(scenario(3, 12), tmp_path)
    hosts = {*range(12)}
    crossing = pairs.filter(pl.col("src").is_in(hosts) & pl.col("dst").is_in(hosts))
    assert (crossing["src"] % 4 == crossing["dst"] % 4).all()
    # Two edges of a tree, up and down.
    assert crossing["size_bytes"].sum() == 2 * 2 * SIZE
    assert sent(pairs, {12, 13, 14}, hosts) == dict.fromkeys((12, 13, 14), 5 * SIZE)
    path = results.to_polars("critical_path")
    (job,) = results.to_polars("jobs").iter_rows(named=True)
    took = (path["end_ns"] - path["start_ns"]).sum()
    assert took == pytest.approx(job["jct_ns"], rel=1e-6)


def test_other_traffic_knows_accelerators_alone(tmp_path: Path) -> None:
    made = scenario(2, 4)
    made["workload"] = [{"sizes": {"kind": "constant", "size": "9KB"}, "arrivals": "at-once", "pattern": "all-to-all"}]
    del made["measure"]
    _, pairs = run(made, tmp_path)
    assert {*pairs["src"]} == {*pairs["dst"]} == {*range(8)}


def test_without_such_switches_it_is_refused() -> None:
    with pytest.raises(PacketloomError, match=r"where switches in servers reduce \(topology.reduction\)"):
        packetloom.check(scenario(2, 4, reduction=False))
    alone = scenario(2, 4)
    del alone["topology"]["scale_up"]
    with pytest.raises(PacketloomError, match="write scale_up, too"):
        packetloom.check(alone)


def test_switches_that_reduce_nothing_draw_a_warning(tmp_path: Path) -> None:
    made = scenario(1, 4)
    _, pairs = run(made, tmp_path / "nvls")
    assert pairs.height > 0
    assert not Results(tmp_path / "nvls" / "results").to_polars("cases")["warnings"][0]
    made["workload"][0]["arrivals"]["library"]["algorithm"] = "ring"
    run(made, tmp_path / "ring")
    (warning,) = Results(tmp_path / "ring" / "results").to_polars("cases")["warnings"]
    assert "topology.reduction changes nothing" in warning
