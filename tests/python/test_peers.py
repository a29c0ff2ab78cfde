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
from packetloom.validate.comparison import Check
from packetloom.validate.draws import Draws
from packetloom.validate.peers import flow_lists
from packetloom.validate.peers.agreement import PEERS_FOLDER, Deviation, agreement, drawn
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
    made_up = Check("x", lambda _: {}, lambda _: [row])
    for kind in KINDS:
        monkeypatch.setitem(KINDS, kind, ("theirs", lambda: [made_up]))
        assert run_validation([kind]) is not fails


def test_what_is_known_is_told_with_its_bounds_and_when_it_is_true_no_longer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [agreement(f"row {ours}", "", "", 100.0, ours, 0.03, CHANCE) for ours in (82.0, 99.0, 60.0)]
    rows.append(agreement("by chance", "", "", 100.0, 101.0, 0.03, RANGE))
    monkeypatch.setitem(KINDS, "peers", ("theirs", lambda: [Check("x", lambda _: {}, lambda _: rows)]))
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


@pytest.mark.parametrize(
    ("theirs", "ours", "verdict"),
    [
        # Alike, and the interval of the difference within 3 %.
        ((100.0, 101, 99, 100), (100.0, 100.5, 99.5, 101), "holds"),
        # The means agree to the digit: what may be between them reaches beyond 3 %.
        ((100.0, 140, 60, 100), (100.0, 60, 140, 100), "undecided"),
        # The more chance there is, the less can hold: one draw beside many that spread.
        ((100.0,), tuple(map(float, range(80, 121, 2))), "undecided"),
        ((100.0,), (100.0,) * 20, "holds"),
        ((100.0,), (104.0, 104.1, 103.9, 104, 104), "differs"),
        ((100.0, 101, 99, 100), (110.0, 111, 109, 110), "differs"),
        # Equal means, and two times in place of one: told by the distributions.
        ((100.0,) * 40, (10.0, 190.0) * 20, "differs"),
        # Theirs is among ours, and 10 % from their mean.
        ((110.0,), (90.0, 95, 100, 105, 110, 100), "undecided"),
    ],
)
def test_where_chance_decides_both_sides_draws_are_compared(
    theirs: tuple[float, ...], ours: tuple[float, ...], verdict: str
) -> None:
    row = drawn("x", "x", "made up", Draws(theirs, ours), 0.03)
    assert row.verdict == verdict
    assert row.to_dict()["draws"] == {"theirs": len(theirs), "ours": len(ours)}


def test_the_interval_of_a_difference_is_student_s() -> None:
    from scipy.stats import ttest_ind

    theirs, ours = (3.0, 5.0, 4.0, 9.0), (4.0, 7.0, 6.0, 1.0, 8.0, 3.0)
    low, high = ttest_ind(ours, theirs).confidence_interval(0.95)
    mean = sum(theirs) / len(theirs)
    assert Draws(theirs, ours).reach == pytest.approx((mean + low, mean + high))


def test_undecided_rows_fail_nothing_and_do_not_hold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = drawn("x", "x", "made up", Draws((100.0,), (80.0, 100.0, 120.0)), 0.03)
    monkeypatch.setitem(KINDS, "peers", ("theirs", lambda: [Check("x", lambda _: {}, lambda _: [row])]))
    assert run_validation(["peers"])
    said = " ".join(capsys.readouterr().out.split())
    assert "0 of 1 hold, 1 undecided" in said
    assert "x: one draw of theirs, 3 draws of ours: the difference may lie within the bound or beyond it" in said


def test_goodputs_that_differ_as_known_have_points() -> None:
    row = agreement("x", "", "", 50.0, 60.0, 1.5, Deviation("", (1.2, 1.2)), points=True)
    assert row.known
    assert row.known.band == (58.5, 61.5)


def test_means_and_tails_that_chance_moves_are_not_compared_at_one_link_delay(tmp_path: Path) -> None:
    (tcp,) = (expected for expected in NS2.schemes if expected.scheme == "TCP")
    rows = flow_lists._rows(NS2, tcp, paired(read_list(NS2), ours(NS2, "TCP", 1.2), "TCP"))
    assert [row.id.split("-tcp-")[1].split("-")[0] for row in rows] == ["flows"] * 4
    (pfabric,) = (expected for expected in NS2.schemes if expected.scheme == "pFabric")
    rows = flow_lists._rows(NS2, pfabric, paired(read_list(NS2), ours(NS2, "pFabric", 1.2), "pFabric"))
    assert len(rows) == 4 + 4 + 3
    assert {row.verdict for row in rows} == {"differs"}


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
