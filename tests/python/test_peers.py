"""Other simulators' flow lists: read, paired with ours, and (slow) replayed."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from packetloom.errors import PacketloomError
from packetloom.validate.command import KINDS, run_validation
from packetloom.validate.comparison import Comparison
from packetloom.validate.peers import flow_lists
from packetloom.validate.peers.agreement import P99_WITHIN, PEERS_FOLDER, Deviation, agreement
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

NS2, _, YAPS, _, FASTPASS, _ = PEERS


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


def test_flows_with_a_handshake_count() -> None:
    assert paired(read_list(NS2), ours(NS2, "pFabric", 1), "pFabric").height == 6000


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
    replayed = dict.fromkeys(expected.scheme for expected in peer.schemes)
    assert [scheme["name"] for scheme in scenario["scheme"]] == [*replayed]
    flows = pl.read_csv(scenario["workload"][0]["arrivals"]["file"])
    assert flows.columns == ["src", "dst", "size_bytes", "start_ns"]
    assert flows["start_ns"].is_sorted()
    assert flows["start_ns"].to_list() == read_list(peer)["start_ns"].to_list()


def test_results_have_folders_of_their_own(tmp_path: Path) -> None:
    for one in flow_lists.flow_list_comparisons():
        names = one.scenarios(tmp_path / one.name)
        assert not [name for name in names if (tmp_path / one.name / name).exists()]


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


CHANCE = Deviation("chance", (0.80, 0.84))
RANGE = Deviation("chance", (1.07, 1.20), measured=True, always=False)


@pytest.mark.parametrize(
    ("deviation", "ours", "verdict", "fails"),
    [
        (None, 99.0, "holds", False),
        (None, 82.0, "differs", True),
        (CHANCE, 82.0, "differs as known", False),
        (CHANCE, 77.5, "differs as known", False),
        (CHANCE, 86.5, "differs as known", False),
        (CHANCE, 76.5, "differs", True),
        (CHANCE, 87.5, "differs", True),
        (CHANCE, 104.0, "differs", True),
        (CHANCE, 99.0, "holds", False),
        (RANGE, 1.19e2, "differs as known", False),
        (RANGE, 1.21e2, "differs", True),
    ],
)
def test_what_is_known_to_differ_fails_beyond_what_is_known(
    deviation: Deviation | None, ours: float, verdict: str, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = agreement("x", "x", "made up", 100.0, ours, 0.03, deviation)
    assert row.verdict == verdict
    made_up = Comparison("x", lambda _: {}, lambda _: [row])
    for kind in KINDS:
        monkeypatch.setitem(KINDS, kind, ("theirs", lambda: [made_up]))
        assert run_validation([kind]) is not fails


def test_what_is_known_is_told_with_its_bounds_and_when_it_is_true_no_longer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [agreement(f"row {ours}", "", "", 100.0, ours, 0.03, CHANCE) for ours in (82.0, 99.0, 60.0)]
    rows.append(agreement("by chance", "", "", 100.0, 101.0, 0.03, RANGE))
    monkeypatch.setitem(KINDS, "peers", ("theirs", lambda: [Comparison("x", lambda _: {}, lambda _: rows)]))
    assert not run_validation(["peers"], tmp_path / "rows.json")
    said = " ".join(capsys.readouterr().out.split())
    assert "2 of 4 hold, 1 differs as known, 1 differs" in said
    assert "row-82.0: chance" in said
    assert "row-60.0: beyond 77 to 87, which would be known: chance" in said
    assert "row-99.0: holds now; what was known of it can be deleted: chance" in said
    assert "by-chance: holds now" not in said
    found = {row["id"]: row for row in json.loads((tmp_path / "rows.json").read_text())}
    assert found["row-82.0"]["verdict"] == "differs as known"
    assert found["row-82.0"]["known"] == {"band": [77.0, 87.0], "rule": "0.8 to 0.84 times theirs, within 3 %"}
    assert "reason" not in found["row-99.0"]


def test_goodputs_that_differ_as_known_have_points() -> None:
    row = agreement("x", "", "", 50.0, 60.0, 1.5, Deviation("", (1.2, 1.2)), points=True)
    assert row.known
    assert row.known.band == (58.5, 61.5)


def test_every_deviation_is_of_a_size_range_and_lies_beyond_what_holds() -> None:
    for peer in PEERS:
        for expected in peer.schemes:
            assert set(expected.p99_deviations) <= {one.name for one in flow_lists.SIZE_RANGES}
            for deviation in expected.p99_deviations.values():
                assert deviation.ratio[1] > 1 + P99_WITHIN


def peers_file(peer: PeerList) -> Path:
    return PEERS_FOLDER / peer.flows


@pytest.mark.slow
def test_replayed_flows_take_as_long_as_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "packetloom", "validate", "peers", "--json", "peers.json"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    findings = json.loads((tmp_path / "peers.json").read_text())
    assert len(findings) >= 100, run.stderr
    assert [finding["id"] for finding in findings if finding["verdict"] == "differs"] == []
    assert "can be deleted" not in run.stdout
    assert run.returncode == 0
