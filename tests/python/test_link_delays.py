"""ns-2's TCP over a range of link delays, beside ours."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from packetloom.errors import PacketloomError
from packetloom.validate.peers import link_delays
from packetloom.validate.peers.flow_lists import PEERS, PeerList
from packetloom.validate.peers.link_delays import NAMES, figures, link_delay_comparisons, read_runs, scenario

LISTS = [peer for peer in PEERS if peer.name in NAMES]


@pytest.mark.parametrize("peer", LISTS, ids=lambda peer: peer.name)
def test_ns2s_runs_are_replayed_at_their_delays(peer: PeerList, tmp_path: Path) -> None:
    replay = scenario(peer, tmp_path)
    assert [scheme["name"] for scheme in replay["scheme"]] == ["TCP"]
    delays = replay["topology"]["link"]["delay"]
    assert "400ns" in delays
    runs = read_runs(peer)
    assert len(delays) == runs.filter(sizes="all").height
    # Each run has each size range once, and a p99 of all flows and of the small ones.
    assert runs.group_by("delay_ns").len()["len"].unique().to_list() == [4]
    assert runs.filter(pl.col("sizes").is_in(["all", "≤ 100 KB"]))["p99"].null_count() == 0


def test_the_figures_of_runs_are_by_size_and_a_p99_needs_enough_flows() -> None:
    sizes = [1_000] * 1_000 + [200_000]
    numbers = range(len(sizes))
    theirs = pl.DataFrame({"size_bytes": sizes}).with_columns(
        *(pl.lit(end).cast(pl.Int64).alias(name) for name, end in (("src", 0), ("dst", 1))),
        *(pl.lit(1.0).alias(name) for name in ("best_us", "TCP_us")),
        pl.lit(0).alias("TCP_timeouts"),
    )
    runs = [
        theirs.select("src", "dst", "size_bytes").with_columns(
            pl.lit(f"case {run}").alias("case_id"),
            pl.lit("TCP").alias("scheme"),
            pl.Series("flow_id", numbers),
            pl.Series("sender_fct_ns", [1e3 * fct for fct in (*range(1_000), 5_000 * run)]),
            pl.lit(0).alias("timeouts"),
        )
        for run in (1, 2, 7)
    ]
    found = figures(theirs, pl.concat(runs))
    assert found["mean", "≤ 100 KB"] == pytest.approx((499.5,) * 3)
    assert found["p99", "≤ 100 KB"] == pytest.approx((989.01,) * 3)
    assert sorted(found["mean", "100 KB-10 MB"]) == [5_000.0, 10_000.0, 35_000.0]
    assert min(found["mean", "all"]) == pytest.approx((499_500 + 5_000) / 1_001)
    assert ("p99", "100 KB-10 MB") not in found
    assert ("mean", "> 10 MB") not in found


def test_missing_figures_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_delays, "PEERS_FOLDER", tmp_path)
    with pytest.raises(PacketloomError, match=r"link_delays.csv: cannot be read .*source tree"):
        read_runs(LISTS[0])


def test_each_list_is_a_comparison_of_its_own() -> None:
    assert [one.name for one in link_delay_comparisons()] == [f"{name}-link-delays" for name in NAMES]
