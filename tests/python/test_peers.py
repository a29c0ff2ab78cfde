"""Other simulators' flow lists: read, paired with ours, and (slow) replayed."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from packetloom.errors import PacketloomError
from packetloom.validate.peers import flow_lists
from packetloom.validate.peers.agreement import PEERS_FOLDER, agreement
from packetloom.validate.peers.flow_lists import (
    PEERS,
    PeerList,
    means,
    median_ratios,
    p99s,
    paired,
    read_list,
    replay_scenario,
)

NS2, _, YAPS, _, FASTPASS = PEERS


def ours(peer: PeerList, scheme: str, factor: float) -> pl.DataFrame:
    """What a simulator would give whose times at the sender are so many times the peer's."""
    return read_list(peer).select(
        pl.lit(scheme).alias("scheme"),
        pl.int_range(pl.len()).alias("flow_id"),
        pl.col("src", "dst", "size_bytes").cast(pl.UInt64),
        (pl.col(f"{scheme}_us") * 1e3 * factor).alias("sender_fct_ns"),
        pl.lit(0, pl.UInt32).alias("timeouts"),
    )


def test_ns2s_list_gives_the_figures_that_were_measured_with_it() -> None:
    flows = read_list(NS2)
    assert flows.height == 6000
    assert flows.row(0, named=True)["size_bytes"] == 21 * 1460
    # A flow of 6 packets over 6 links takes 18.192 us alone.
    assert flows.filter(size_bytes=6 * 1460)["best_us"].max() == pytest.approx(18.192)
    all_flows, short, middle, long = means(paired(flows, ours(NS2, "DCTCP", 1), "DCTCP"))
    assert [round(pair.theirs, 3) for pair in (all_flows, short, middle, long)] == [2.588, 2.553, 2.642, 2.461]


def test_yaps_fastpass_list_leaves_a_host_of_each_leaf_to_be_the_arbiter() -> None:
    flows = read_list(FASTPASS)
    assert set(flows["src"] % 17) == set(flows["dst"] % 17) == set(range(16))
    all_flows, short, _, long = means(paired(flows, ours(FASTPASS, "Fastpass", 1), "Fastpass"))
    assert [round(pair.theirs, 3) for pair in (all_flows, short, long)] == [1.53, 1.608, 2.013]


def test_yaps_list_gives_the_figures_that_were_measured_with_it() -> None:
    flows = paired(read_list(YAPS), ours(YAPS, "pFabric", 1), "pFabric")
    assert [round(pair.theirs, 3) for pair in means(flows)[:2]] == [1.230, 1.090]


def test_flows_with_a_handshake_do_not_count() -> None:
    assert paired(read_list(NS2), ours(NS2, "pFabric", 1), "pFabric").height == 6000 - 170


def test_what_differs_shows() -> None:
    flows = paired(read_list(YAPS), ours(YAPS, "pFabric", 1.05), "pFabric")
    assert [round(pair.ours, 6) for pair in median_ratios(flows)] == [1.05] * 4
    mean = means(flows)[0]
    assert mean.ours == pytest.approx(1.05 * mean.theirs)
    for tolerance, verdict in ((0.03, "differs"), (0.06, "holds")):
        assert agreement("mean", "", "", mean.theirs, mean.ours, tolerance).verdict == verdict


def test_a_p99_needs_flows() -> None:
    flows = paired(read_list(YAPS), ours(YAPS, "pFabric", 1), "pFabric")
    assert [pair.name for pair in p99s(flows)] == ["all", "≤ 100 KB"]


def test_other_flows_are_refused() -> None:
    with pytest.raises(PacketloomError, match="not those of the list"):
        paired(read_list(NS2), ours(YAPS, "pFabric", 1), "pFabric")


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_the_list_is_put_where_the_scenario_finds_it(peer: PeerList, tmp_path: Path) -> None:
    scenario = replay_scenario(peer, tmp_path)
    assert [scheme["name"] for scheme in scenario["scheme"]] == [expected.scheme for expected in peer.schemes]
    flows = pl.read_csv(scenario["workload"][0]["arrivals"]["file"])
    assert flows.columns == ["src", "dst", "size_bytes", "start_ns"]
    assert flows["start_ns"].is_sorted()
    assert flows["start_ns"].to_list() == read_list(peer)["start_ns"].to_list()


def test_missing_and_damaged_lists_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_lists, "PEERS_FOLDER", tmp_path)
    with pytest.raises(PacketloomError, match=r"mixed_search_0.5.tsv.gz: there is no such file.*source tree"):
        read_list(NS2)
    path = tmp_path / NS2.flows
    path.parent.mkdir()
    for content in (b"rubbish", gzip.compress(b"rubbish\n1\n"), (peers_file(NS2).read_bytes())[:1000]):
        path.write_bytes(content)
        with pytest.raises(PacketloomError, match=r"mixed_search_0.5.tsv.gz: damaged"):
            read_list(NS2)


def peers_file(peer: PeerList) -> Path:
    return PEERS_FOLDER / peer.flows


@pytest.mark.slow
def test_replayed_flows_take_as_long_as_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "packetloom", "validate", "peers", "--json", "peers.json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    findings = json.loads((tmp_path / "peers.json").read_text())
    assert len(findings) >= 100, run.stderr
    differing = {finding["id"].rpartition("-p99-")[0] for finding in findings if finding["verdict"] != "holds"}
    assert differing == {"ns2-web-search-tcp"}
    assert run.returncode == 0
