"""ConWeave's ns-3 simulator: its settings become scenarios, and the quick ones are replayed."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from packetloom.errors import PacketloomError
from packetloom.scenario.plan import read_plan
from packetloom.validate.comparison import Row, run_comparisons
from packetloom.validate.peers import config_comparison
from packetloom.validate.peers.agreement import PEERS_FOLDER
from packetloom.validate.peers.conweave import DRAWS, FOLDER, conweave_comparisons
from packetloom.validate.peers.conweave.scenario import replay_scenario
from packetloom.validate.peers.hpcc.settings import Settings, read_settings

pytestmark = pytest.mark.unaudited

CFG = PEERS_FOLDER / FOLDER / "cfg"


def settings(name: str, **changed: str) -> Settings:
    found = read_settings(CFG / f"{name}.txt")
    return Settings(found.path, {**found.keys, **changed})


def routing_of(name: str, folder: Path) -> dict[str, Any]:
    routing: dict[str, Any] = replay_scenario(settings(name), folder, 1)["scheme"][0]["routing"]
    return routing


def test_every_setting_is_a_scenario_that_can_be_run(tmp_path: Path) -> None:
    comparisons = conweave_comparisons()
    assert len({one.name for one in comparisons}) == len(comparisons) == 18
    for file in sorted(CFG.glob("*.txt")):
        (case, *_) = read_plan(replay_scenario(read_settings(file), tmp_path, 1)).cases
        assert case.json


def test_settings_are_those_of_the_file(tmp_path: Path) -> None:
    conweave = routing_of("lone_inter_conweave", tmp_path)
    assert conweave["kind"] == "conweave"
    times = [conweave[key] for key in ("expiry", "reply_extra", "path_pause", "flush_extra", "flush_default")]
    assert times == ["300us", "4us", "16us", "16us", "200us"]
    assert [routing_of(f"lone_inter_{name}", tmp_path)["kind"] for name in ("ecmp", "letflow", "conga", "drill")] == [
        "ecmp",
        "letflow",
        "conga",
        "drill",
    ]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("LB_MODE", "4", "LB_MODE 4 is not replayed; these are: 0 (ECMP), 2 (DRILL)"),
        ("ENABLE_IRN", "1", "only DCQCN with PFC is replayed"),
        ("HAS_WIN", "1", "HAS_WIN 1 is not replayed"),
    ],
)
def test_what_is_not_replayed_is_refused(tmp_path: Path, key: str, value: str, message: str) -> None:
    with pytest.raises(PacketloomError) as refused:
        replay_scenario(settings("lone_inter_ecmp", **{key: value}), tmp_path, 1)
    assert message in str(refused.value)


Replayed = Callable[[str], list[Row]]


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """What comes of a setting, which is replayed once for all tests."""
    folder = tmp_path_factory.mktemp("replayed")
    comparisons = {one.name.removeprefix("conweave-"): one for one in conweave_comparisons()}
    return cache(lambda name: run_comparisons([comparisons[name]], 1, folder))


def test_what_is_quick_agrees(rows_of: Replayed) -> None:
    quick = [one.name.removeprefix("conweave-") for one in conweave_comparisons() if one.quick]
    assert len(quick) == 15
    assert {row.verdict for name in quick for row in rows_of(name)} <= {"holds", "undecided"}


@pytest.mark.parametrize("scheme", ["ecmp", "letflow", "conga", "drill", "conweave"])
@pytest.mark.parametrize("where", ["inter", "intra"])
def test_a_flow_alone_takes_as_long_as_there_to_the_nanosecond(scheme: str, where: str, rows_of: Replayed) -> None:
    rows = rows_of(f"lone_{where}_{scheme}")
    assert len(rows) == 6
    assert all(row.expected == (row.measured, row.measured) for row in rows), rows


def test_their_draws_of_two_flows_are_held_against_ours_as_one_sample(rows_of: Replayed) -> None:
    rows = rows_of("two_collide_drill")
    assert len(rows) == 2
    for row in rows:
        assert row.draws
        assert (len(row.draws.theirs), len(row.draws.ours)) == (4, DRAWS)
        beyond = replace(row, draws=replace(row.draws, ours=tuple(2 * one for one in row.draws.ours)))
        assert replace(beyond, measured=2 * row.measured).verdict == "differs"


def test_a_config_says_whose_it_is() -> None:
    assert config_comparison(CFG / "lone_inter_ecmp.txt").name == "conweave-lone_inter_ecmp"
    assert config_comparison(PEERS_FOLDER / "hpcc_ns3" / "cfg" / "lone_star_nocc.txt").name == "hpcc-lone_star_nocc"
