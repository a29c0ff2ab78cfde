"""What a campaign will cost, against what it did: packet-hops, which do not depend on how busy the machine is."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

import pytest

import packetloom
from packetloom import _core
from packetloom.campaign import forecast as forecasts
from packetloom.campaign.forecast import ANSWERS, Forecast, forecast, hops_text, told
from packetloom.campaign.progress import RunningCase
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import read_plan

pytestmark = pytest.mark.unaudited

WITHIN = 1.5
ROOT = Path(__file__).parents[2]

LEAF_SPINE = {"kind": "leaf-spine", "spines": 2, "leaves": 4, "hosts_per_leaf": 4}
ECN = {"kind": "ecn", "capacity": "225KB", "mark_above": "30KB"}
DCTCP = {"name": "DCTCP", "transport": {"kind": "dctcp", "min_rto": "1ms"}, "queue": ECN}
NDP = {"name": "NDP", "transport": "ndp", "queue": "ndp"}
HOMA = {"name": "Homa", "transport": "homa", "queue": {"kind": "priority", "capacity": "1MB"}}
IDEAL = {"name": "Ideal", "transport": "ideal"}
POISSON = {"sizes": "web-search"}
ALL_REDUCE = {"arrivals": {"kind": "collective", "operation": "all-reduce", "size": "8MB", "repeat": 3}}
ALL_TO_ALL = {"arrivals": {"kind": "collective", "operation": "all-to-all", "size": "16MB"}}
CLOSED = {"sizes": {"kind": "constant", "size": "300KB"}, "arrivals": "closed"}
SERVING = {
    "arrivals": {
        "kind": "serving",
        "requests": 600,
        "rate_per_second": 2000,
        "prompt": {"kind": "lognormal", "median": 100, "sigma": 0.8, "most": 1000},
        "answer": {"kind": "lognormal", "median": 20, "sigma": 0.8, "most": 200},
        "model": {"layers": 4, "kv_heads": 4, "head_size": 32},
        "prefill": {"instances": 8, "tensor": 1, "base": "1ms", "per_token": "6us"},
        "decode": {"instances": 4, "tensor": 2, "memory": "40GB", "base": "1ms"},
    }
}
TRAINING = {
    "arrivals": {
        "kind": "training",
        **{"tensor": 2, "data": 4, "pipeline": 2, "layers": 16, "microbatches": 8, "repeat": 4},
        **{"forward": "100us", "activations": "1MB", "gradients": "4MB"},
    }
}


def scenario(workload: dict[str, Any], *schemes: dict[str, Any], **run: Any) -> dict[str, Any]:
    return {"topology": LEAF_SPINE, "workload": [workload], "scheme": list(schemes), "run": {"seeds": 2, **run}}


@pytest.mark.parametrize(
    ("workload", "run"),
    [
        (POISSON, {"loads": [0.3, 0.7], "flows": 200}),
        (ALL_REDUCE, {}),
        (ALL_TO_ALL, {}),
        (CLOSED, {"flows": 300}),
    ],
    ids=["poisson", "all-reduce", "all-to-all", "closed"],
)
def test_packet_hops_are_foreseen(workload: dict[str, Any], run: dict[str, Any], tmp_path: Path) -> None:
    plan = read_plan(scenario(workload, DCTCP, NDP, **run))
    expected = forecast(plan.cases, 1)
    results = packetloom.run(scenario(workload, DCTCP, NDP, **run), tmp_path / "out")
    hops = sum(row.counters["packet_hops"] for row in results.rows())
    assert not expected.unknown
    assert hops / WITHIN < expected.packet_hops < hops * WITHIN


def test_a_trial_tells_more_than_how_many_packets_are_acknowledged(tmp_path: Path) -> None:
    """NDP's pulls make three packets of one, which a trial sees."""
    given = scenario(POISSON, NDP, loads=[0.5], flows=2000, seeds=1)
    (case,) = read_plan(given).cases
    demand = case.demand()
    cost = _core.Trial(case).cost_of(case)
    assert demand is not None
    assert cost is not None
    hops = sum(row.counters["packet_hops"] for row in packetloom.run(given, tmp_path / "out").rows())
    assert abs(cost.packet_hops / hops - 1) < abs(ANSWERS * demand[1] / hops - 1)
    assert hops / WITHIN < cost.packet_hops < hops * WITHIN


def test_what_arrives_until_the_end_is_not_cut_by_how_slowly_it_begins(tmp_path: Path) -> None:
    """A trial sees queues that fill: at its pace half of it would be carried before `max_time`."""
    rounds = ROOT / "papers/transports/scenarios/dcpim-rounds.toml"
    shortened = ["run.seeds=1", "run.duration=8ms", "run.max_time=8ms"]
    shortened += ["scheme.0.transport.rounds=4", "scheme.1.transport.channels=1"]
    expected = forecast(read_plan(rounds, shortened).cases, 1)
    results = packetloom.run(rounds, tmp_path / "out", overrides=shortened, progress=False)
    hops = sum(row.counters["packet_hops"] for row in results.rows())
    assert hops / WITHIN < expected.packet_hops < hops * WITHIN


def test_flows_that_never_start_are_counted_before_the_duration_is_over(tmp_path: Path) -> None:
    """Their number is not known: what was counted down from the largest there is ended the run with a traceback."""
    given = scenario(POISSON, DCTCP, loads=[0.5], duration="10ms", max_time="4ms", seeds=1)
    (row,) = packetloom.run(given, tmp_path / "out").rows()
    del given["run"]["max_time"]
    (whole,) = packetloom.run(given, tmp_path / "whole").rows()
    never = row.counters["flows_never_started"]
    assert 0 < never == whole.counters["flows_started"] - row.counters["flows_started"]
    assert f"{never} flows never started, as the case ended before" in row.warnings


def gpt(data: int, servers_per_rail_switch: int) -> list[str]:
    """`examples/gpt-16k.toml` with fewer data parallel ranks, on as many servers as these fill."""
    return [
        f"workload.0.arrivals.data={data}",
        f"topology.servers={16 * data}",
        f"topology.servers_per_rail_switch={servers_per_rail_switch}",
        f"topology.spines={servers_per_rail_switch}",
    ]


def test_the_disk_of_operations_as_wholes_is_foreseen(tmp_path: Path) -> None:
    settings = gpt(4, 16)
    expected = forecast(read_plan(ROOT / "examples/gpt-16k.toml", settings).cases, 1)
    packetloom.run(ROOT / "examples/gpt-16k.toml", tmp_path / "out", overrides=settings, progress=False)
    disk_bytes = sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert disk_bytes / WITHIN < expected.disk_bytes < disk_bytes * WITHIN


def test_long_jobs_without_packets_are_foreseen_by_their_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial of a second and a half would come to no share of them, and takes as long as a check has."""
    monkeypatch.delattr(_core, "Trial")
    (case,) = read_plan(ROOT / "examples/gpt-16k.toml", gpt(64, 64)).cases
    flows, cpu_s, memory_bytes, operations = case.flow_cost() or (0.0, 0.0, 0.0, 0)
    # Sends from stage to stage and back, of each of 32 micro-batches.
    assert flows == 2 * 32 * 15 * 8 * 64
    expected = forecast([case], 1)
    assert not expected.unknown
    assert expected.cpu_s > cpu_s > forecasts.LONGEST_TRIED_S
    assert expected.memory_bytes > memory_bytes > 50 * operations


def test_of_others_a_trial_tells() -> None:
    ring = {"workload": [ALL_REDUCE], "topology": LEAF_SPINE, "scheme": [NDP | {"routing": "permutation"}]}
    for rung in ("packets", "flows", {"kind": "flows", "collectives": "whole"}):
        (case,) = read_plan(ring | {"run": {"seeds": 1, "fidelity": rung}}).cases
        assert (case.flow_cost() is not None) == isinstance(rung, dict)
        assert not forecast([case], 1).unknown


def test_a_trial_that_is_spent_on_planning_tells_a_number_or_nothing() -> None:
    """ASY plans all departures first; its packets cross links in the plan before the engine has carried one."""
    plan = read_plan(ROOT / "papers/sync-or-not/scenarios/uniform.toml", ("run.loads=[0.1]", "run.seeds=1"))
    (case,) = [case for case in plan.cases if case.parameters["scheme"] == "ASY"]
    cost = _core.Trial(case).cost_of(case)
    assert cost is None or all(map(isfinite, (cost.packet_hops, cost.cpu_s, cost.simulated_s)))
    assert forecast([case], 2).text


def test_a_trial_is_short_whatever_the_case(tmp_path: Path) -> None:
    given = scenario(POISSON, DCTCP, IDEAL, loads=[0.5], flows=1_000_000, seeds=1)
    cost = forecast(read_plan(given).cases, 2)
    assert cost.cpu_s > 60
    assert cost.wall_s >= cost.cpu_s / 2
    assert cost.packet_hops > 1e9


def test_a_class_that_is_slow_is_tried_however_few_packets_there_are(tmp_path: Path) -> None:
    def foreseen_s(name: str, times: int) -> float:
        file = tmp_path / f"{name}.py"
        head = "from packetloom.schemes import QueueRule\nclass Slow(QueueRule):\n    sum: int = 1\n"
        loop = (
            f"        for number in range({times}):\n            self.sum += number * self.sum % 7\n        return 0\n"
        )
        file.write_text(f"{head}    def arrives(self, arrival, queue):\n{loop}")
        rule = {"name": name, "transport": "tcp", "queue": {"kind": "python", "file": str(file), "class": "Slow"}}
        given = scenario({"sizes": {"kind": "constant", "size": "30KB"}}, rule, loads=[0.5], flows=200, seeds=1)
        return forecast(read_plan(given).cases, 1).cpu_s

    # On one machine 5.1 s, and 0.4 s with a rule that takes none, which is what the command itself takes.
    assert foreseen_s("slow", 30_000) > 5 * foreseen_s("quick", 0)


def test_what_a_command_takes_beside_its_cases_follows_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = read_plan(scenario(POISSON, DCTCP, loads=[0.3], flows=20)).cases
    monkeypatch.setattr(forecasts, "_loop_cpu_s", lambda: 1e-3)
    fast = forecast(cases, 1)
    monkeypatch.setattr(forecasts, "_loop_cpu_s", lambda: 1e-2)
    assert forecast(cases, 1).cpu_s > 5 * fast.cpu_s


def test_trials_are_a_part_of_what_a_campaign_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "_loop_cpu_s", lambda: 1e-3)
    monkeypatch.setattr(forecasts, "process_time", iter([100.0, 103.0]).__next__)
    alone = forecast(read_plan(scenario(POISSON, DCTCP, loads=[0.3], flows=20)).cases, 1)
    assert 3 < alone.cpu_s < 4


def test_what_lasts_until_others_are_done_is_not_foreseen_but_by_its_share(tmp_path: Path) -> None:
    endless = {**CLOSED, "background": True}
    given = scenario(POISSON, DCTCP, loads=[0.3], flows=100_000) | {"workload": [POISSON, endless]}
    case = read_plan(given).cases[0]
    assert case.demand() is None


def test_a_long_campaign_is_warned_of_with_what_would_take_less() -> None:
    given = scenario(POISSON, DCTCP, loads=[0.5], flows=500)
    plan = read_plan(given)
    long = Forecast(1e10, 3600.0, 1800.0, 1e9, 1e6, (), 2)
    lines = told(long, plan)
    assert lines[0].startswith(
        "cost: about 1 h 00 min of processor time, 30 min 00 s on 2 cores; 10 billion packet-hops"
    )
    assert "run.fidelity=" in lines[1]
    assert "run.seeds=1" in lines[1]
    of_jobs = told(long, read_plan(scenario(ALL_REDUCE, DCTCP, seeds=1)))
    assert "run.flows" not in of_jobs[1]
    assert len(told(Forecast(1e6, 0.1, 0.1, 1e8, 1e5, (), 2), plan)) == 1


def test_every_suggestion_can_be_followed() -> None:
    """The estimate that is named is one that the scenario allows."""
    for workload, run in ((POISSON, {"loads": [0.5], "flows": 500}), (ALL_REDUCE, {})):
        given = scenario(workload, DCTCP, **run)
        lines = told(Forecast(1e10, 3600.0, 1800.0, 1e9, 1e6, (), 2), read_plan(given))
        named = [word for word in lines[1].split() if word.startswith("run.fidelity=")]
        try:
            assert [read_plan(given, [one]) for one in named]
        except PacketloomError as error:
            pytest.fail(str(error))


def test_what_runs_says_how_far_it_is() -> None:
    assert RunningCase("DCTCP", 0.25, 1.5e6).text == " 25% DCTCP (1.50 ms simulated)"
    assert RunningCase("DCTCP", 0.0, 0.0).text == "DCTCP"


def test_counts_as_people_say_them() -> None:
    assert [hops_text(count) for count in (120.0, 2.5e6, 4e10)] == ["120", "2.5 million", "40 billion"]


@pytest.mark.parametrize(
    ("workload", "measure", "run"),
    [
        (POISSON, {}, {"loads": [0.5], "flows": 2000}),
        (POISSON, {"series_interval": "20us"}, {"loads": [0.3, 0.7], "flows": 400}),
        (ALL_REDUCE, {"operations": True}, {}),
        (SERVING, {}, {}),
        ({"arrivals": ALL_TO_ALL["arrivals"] | {"repeat": 12}}, {}, {}),
        (TRAINING, {"operations": True}, {"fidelity": "flows"}),
    ],
    ids=["flows", "samples", "operations", "requests", "messages", "without packets"],
)
def test_disk_is_foreseen_by_what_is_recorded(
    workload: dict[str, Any], measure: dict[str, Any], run: dict[str, Any], tmp_path: Path
) -> None:
    given = scenario(workload, DCTCP, NDP, **run) | ({"measure": measure} if measure else {})
    expected = forecast(read_plan(given).cases, 1)
    packetloom.run(given, tmp_path / "out")
    disk_bytes = sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert disk_bytes / WITHIN < expected.disk_bytes < disk_bytes * WITHIN


def test_operations_are_counted_before_they_run() -> None:
    """16 ranks, three repetitions of one all-reduce."""
    (case,) = read_plan(scenario(ALL_REDUCE, DCTCP, seeds=1)).cases
    cost = _core.Trial(case).cost_of(case)
    assert cost is not None
    assert cost.operations == 16 * 3
    assert cost.ports == 2 * (16 + 2 * 4)
