"""HPCC's ns-3 simulator: its settings become scenarios, its files are read, and the quick ones are replayed."""

import gzip
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from packetloom.errors import PacketloomError
from packetloom.scenario.plan import read_plan
from packetloom.validate.command import run_validation
from packetloom.validate.comparison import Row, run_comparisons
from packetloom.validate.peers.agreement import PEERS_FOLDER
from packetloom.validate.peers.hpcc import FOLDER, comparison_of, hpcc_comparisons, measured, over_time, rows
from packetloom.validate.peers.hpcc.scenario import replay_scenario
from packetloom.validate.peers.hpcc.settings import Settings, read_settings

pytestmark = pytest.mark.unaudited

CFG = PEERS_FOLDER / FOLDER / "cfg"


def settings(name: str, **changed: str) -> Settings:
    found = read_settings(CFG / f"{name}.txt")
    return Settings(found.path, {**found.keys, **changed})


def scheme_of(name: str, folder: Path, **changed: str) -> dict[str, Any]:
    scheme: dict[str, Any] = replay_scenario(settings(name, **changed), folder, 1)["scheme"][0]
    return scheme


def test_every_setting_is_a_scenario_that_can_be_run(tmp_path: Path) -> None:
    names = [one.name for one in hpcc_comparisons()]
    assert len(names) == len(set(names)) == 25
    for file in sorted(CFG.glob("*.txt")):
        (case, *_) = read_plan(replay_scenario(read_settings(file), tmp_path, 1)).cases
        assert case.json


def test_the_keys_of_a_config_are_those_of_the_transport(tmp_path: Path) -> None:
    dcqcn = scheme_of("incast8_dcqcn", tmp_path)
    assert dcqcn["transport"]["increase_interval"] == "300us"
    assert dcqcn["transport"]["hyper_increase"] == "200Mbps"
    assert dcqcn["queue"]["ecn_min"] == "400000B"
    assert dcqcn["queue"]["ecn_probability"] == 0.2
    hpcc = scheme_of("lone_star_hpcc_mi5", tmp_path)
    assert (hpcc["transport"]["max_stage"], hpcc["transport"]["window"]) == (5, "bdp")
    assert scheme_of("lone_star_hpcc", tmp_path)["transport"]["max_stage"] == 0
    for key, value in (("MULTI_RATE", "multi_rate"), ("SAMPLE_FEEDBACK", "sample_feedback")):
        assert not hpcc["transport"][value]
        assert scheme_of("lone_star_hpcc", tmp_path, **{key: "1"})["transport"][value]
    nocc = scheme_of("incast8_nocc_b2", tmp_path)
    assert (nocc["transport"]["kind"], nocc["queue"]["buffer"]) == ("roce", "2MiB")
    assert "ecn_min" not in nocc["queue"]
    assert scheme_of("incast2_nocc", tmp_path, BUFFER_SIZE="9")["queue"]["buffer"] == "9MiB"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"CC_MODE": "10"}, "CC_MODE 10 is not replayed"),
        ({"GLOBAL_T": "0"}, "GLOBAL_T 0 is not replayed"),
        ({"USE_DYNAMIC_PFC_THRESHOLD": "0"}, "USE_DYNAMIC_PFC_THRESHOLD 0 is not replayed"),
        ({"RATE_AI": "50"}, "RATE_AI is '50'; write a rate such as 20Mb/s"),
        ({"U_TARGET": "most"}, "U_TARGET is 'most', not a number"),
        ({"KMAX_MAP": "2 100000000000 1600 400000000000 1600"}, "not in proportion"),
    ],
)
def test_what_is_not_replayed_is_told(changed: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match=said):
        replay_scenario(settings("ws30_hpcc", ENABLE_QCN="1", **changed), tmp_path, 1)


def test_starts_are_truncated_as_the_peer_does_and_begin_at_0(tmp_path: Path) -> None:
    one = settings("converge2_nocc")
    assert [flow.start_ns for flow in one.flows] == [2_000_000_000, 2_000_999_999]
    replay_scenario(one, tmp_path, 1)
    lines = (tmp_path / "flows" / "converge2_nocc.txt").read_text().splitlines()
    assert lines == ["2", "1 0 3 100 60000000 0.000000000", "2 0 3 100 20000000 0.000999999"]
    for name in ("ws30_hpcc", "lone_ls_inter_dcqcn"):
        starts = sorted(flow.start_ns for flow in settings(name).flows)
        assert starts == sorted(measured.completions(settings(name))["start_ns"].to_list())


def test_addresses_and_pauses_are_read() -> None:
    assert [measured.node_of(one) for one in ("0b000001", "0b001f01", "0b010201")] == [0, 31, 258]
    pauses = measured.pauses(settings("incast2_nocc_b2"))
    assert pauses is not None
    assert pauses.height == 288
    first = pauses.sort("from_ns").row(0, named=True)
    assert first == {"node": 2, "from_ns": 2_000_024_579, "until_ns": 2_000_029_061}
    assert measured.pauses(settings("incast8_hpcc")) is None


def test_marks_that_are_drawn_make_a_setting_one_draw() -> None:
    drawn = {file.stem for file in CFG.glob("*.txt") if read_settings(file).is_drawn}
    assert drawn == {file.stem for file in CFG.glob("*_dcqcn.txt")}


def test_how_far_apart_two_curves_are() -> None:
    pairs = pl.DataFrame({"theirs": [10.0, 10.0, 0.0], "ours": [9.0, 11.0, 1.0]})
    assert over_time.apart(pairs, "theirs") == pytest.approx(15.0)
    assert over_time.apart(pairs.with_columns(ours="theirs"), "theirs") == 0


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match=r"none.txt: there is no such file"):
        comparison_of(tmp_path / "cfg" / "none.txt")
    shutil.copytree(PEERS_FOLDER / FOLDER, tmp_path / "peer")
    one = read_settings(tmp_path / "peer" / "cfg" / "lone_star_nocc.txt")
    fct = tmp_path / "peer" / "out" / "lone_star_nocc.fct.gz"
    fct.write_bytes(gzip.compress(b"rubbish"))
    with pytest.raises(PacketloomError, match=r"lone_star_nocc.fct.gz: damaged"):
        measured.completions(one)
    fct.unlink()
    with pytest.raises(PacketloomError, match=r"lone_star_nocc.fct.gz: there is no such file"):
        measured.completions(one)


Replayed = Callable[[str], list[Row]]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """What comes of a setting, which is replayed once for all tests."""
    folder = tmp_path_factory.mktemp("replayed")
    return cache(lambda name: run_comparisons([comparison_of(CFG / f"{name}.txt")], 1, folder))


def test_what_is_quick_agrees(replayed: Replayed) -> None:
    quick = [one.name.removeprefix("hpcc-") for one in hpcc_comparisons() if one.quick]
    assert len(quick) == 23
    assert {row.verdict for name in quick for row in replayed(name)} <= {"holds", "differs as known", "undecided"}


@pytest.mark.parametrize("name", [file.stem for file in sorted(CFG.glob("lone_*.txt"))])
def test_a_lone_flow_takes_as_long_to_the_nanosecond(name: str, replayed: Replayed) -> None:
    found = replayed(name)
    assert len(found) == 6
    assert [row.measured for row in found] == [row.expected[0] for row in found]


@pytest.mark.parametrize(
    ("name", "pauses"),
    [("incast2_nocc", 62), ("incast2_nocc_b2", 288), ("incast8_nocc_b2", 416), ("converge2_nocc", 547)],
)
def test_every_pause_begins_and_ends_where_and_when_theirs_does(name: str, pauses: int, replayed: Replayed) -> None:
    found = {row.what.partition(f"{name}: ")[2]: row for row in replayed(name)}
    assert found["pauses that begin and end where and when theirs do, to the ns"].measured == pauses
    assert {row.verdict for row in found.values()} == {"holds"}


@pytest.mark.parametrize("name", sorted({name for name, _ in rows.SAMPLED}))
def test_what_a_sample_sees_otherwise_is_known_to_the_figure(name: str, replayed: Replayed) -> None:
    found = {row.what.partition(f"{name}: ")[2]: row for row in replayed(name)}
    known = {what for where, what in rows.SAMPLED if where == name}
    # Neither one that is not looked at, nor one that nothing is known of; and none may become better in silence.
    assert {what for what, row in found.items() if row.verdict != "holds"} == known
    for what in known:
        row = found[what]
        assert row.verdict == "differs as known"
        for another in (row.measured * 1.03, row.measured * 0.97):
            assert replace(row, measured=another).verdict == "differs"
        assert replace(row, measured=row.band[1]).known_no_longer


def test_a_setting_is_replayed_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = CFG / "lone_star_timely.txt"
    assert run_validation(["peers"], Path("rows.json"), configs=[file])
    assert [row["measured"] for row in json.loads(Path("rows.json").read_text())][:2] == [4016, 4176]
    with pytest.raises(PacketloomError, match="--config goes with `packetloom validate peers`"):
        run_validation(["theory", "peers"], configs=[file])


def test_one_draw_of_theirs_is_held_against_many_of_ours() -> None:
    drawn = settings("incast8_dcqcn")

    def verdict(*draws: float) -> str:
        return rows._row(drawn, "queue", 100.0, draws, 0.02).verdict

    assert verdict(99.8, 99.9, 100.1) == "holds"
    assert verdict(90.0, 99, 101) == "undecided"
    assert verdict(90.0, 90.1, 90.2) == "differs"
    assert verdict(99.8, 99.9, math.nan) == "differs"
    curves = pl.DataFrame({"theirs": [10.0, 10.0], "draw 1": [9.0, 9.0], "draw 2": [13.0, 13.0], "ours": [11.0, 11.0]})
    assert over_time.apart_from_the_others(curves, "draw 1") == pytest.approx(40)
    row = rows._apart(drawn, "queue", [curves], 0.02)
    assert (row.expected, row.measured, row.verdict) == ((10.0, 10.0), 40.0, "differs")
    assert rows._apart(drawn, "queue", [curves.drop("draw 2")], 0.02).verdict == "differs"
