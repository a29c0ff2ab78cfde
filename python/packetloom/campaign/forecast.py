"""What a campaign will cost: packet-hops, processor time, memory and disk, before it runs.

How much the network has to carry follows from the traffic; what a packet costs on this machine comes from a trial, the
first packets of one case of each scheme (`crates/packetloom/src/simulation/trial.rs`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import process_time
from typing import Literal, get_args

from packetloom import _core
from packetloom.campaign.progress import duration_text
from packetloom.campaign.recorded_bytes import (
    CASE_DISK_BYTES,
    FOLDER_DISK_BYTES,
    RUN_MEMORY_BYTES,
    TABLES_MEMORY_BYTES,
    Expected,
    recorded_of,
)
from packetloom.common.quantities import significant, size_said_roughly
from packetloom.common.system import peak_memory_bytes, usable_cores
from packetloom.errors import PacketloomError
from packetloom.scenario.plan import Plan, plan_from_text
from packetloom.schemes import kept

MOST_CASES = 60
"""So many cases are looked at; the others are taken to be like them."""
SPREAD = 2_654_435_761
"""Multiplied by a count, it spreads numbers evenly over any range (Knuth, TAOCP 3, §6.4)."""
FEW_HOPS = 2e6
"""Below so many packet-hops a campaign takes less than a second, and no trial is made."""
HOPS_PER_CPU_S = 1e7
"""What a fast scheme does, in such a campaign."""
ANSWERS = 2.0
"""Packets for each of data where every packet is acknowledged."""
COMMAND_LOOPS = 215.0
"""What a command takes until its first case begins, and for the tables and the diagnosis at the end. This and what
follows are in units of `_loop_cpu_s`: all of it is Python, whose speed depends on the machine."""
CASE_LOOPS = 5.0
FLOW_LOOPS = 9e-4
"""Besides the simulation: of each case and of each flow, until their tables are on disk."""
LOOP = 100_000
SHORT_S = 2.5
"""Below it nobody waits."""
LONG_S = 600.0
"""Above it a person wants to know what would take less."""
LONGEST_TRIED_S = 0.3
"""Beyond it a trial of jobs without packets, of a second and a half, takes as long as it tells."""
PATIENCE_S = 10.0
"""A trial that takes longer has met a method that does not return: the engine ends others after 1.5 CPU-seconds."""
Rung = Literal["steady", "links", "flows"]
RUNGS: tuple[Rung, ...] = get_args(Rung)
"""Estimates below packets (run.fidelity)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What cases cost together, as far as it can be known."""

    packet_hops: float
    cpu_s: float
    longest_s: float
    memory_bytes: float
    disk_bytes: float
    unknown: tuple[str, ...]
    """Schemes whose cases last until something happens that can't be foreseen."""
    workers: int
    stuck: tuple[str, ...] = ()
    """Those of which a method did not return from its trial."""

    @property
    def wall_s(self) -> float:
        """How long a person waits."""
        return max(self.cpu_s / self.workers, self.longest_s)

    @property
    def text(self) -> str:
        """In a line."""
        if self.cpu_s < SHORT_S:
            rest = f"; not known for {', '.join(self.unknown)}, which depends on what happens" if self.unknown else ""
            return f"takes a second or two{rest}"
        least = "at least " if self.unknown else "about "
        cores = f", {duration_text(self.wall_s)} on {self.workers} cores" if self.workers > 1 else ""
        hops = f"{hops_text(self.packet_hops)} packet-hops, " if self.packet_hops else ""
        told = (
            f"{least}{duration_text(self.cpu_s)} of processor time{cores}; {hops}"
            f"{size_said_roughly(self.memory_bytes)} of memory, {size_said_roughly(self.disk_bytes)} of disk"
        )
        rest = f"; not known for {', '.join(self.unknown)}" if self.unknown else ""
        return told + rest


def told(cost: Forecast, plan: Plan) -> list[str]:
    """What cases cost, and, where that is long, what would take less."""
    lines = [f"cost: {cost.text}"]
    lines += [
        f"warning: a method of {scheme} did not return within {PATIENCE_S:g} s: an endless loop?"
        for scheme in cost.stuck
    ]
    if cost.wall_s > LONG_S:
        lines.append(f"warning: more than {duration_text(LONG_S)}: {'; or '.join(_less(plan))}")
    return lines


def _less(plan: Plan) -> list[str]:
    """What would take less: an estimate that this scenario allows, fewer seeds, or fewer flows."""
    ways = []
    for rung in RUNGS:
        with suppress(PacketloomError):
            plan_from_text(plan.text, plan.format, plan.origin, [f"run.fidelity={rung}"])
            ways.append(f"--set run.fidelity={rung} estimates it (packetloom fidelity measures the error)")
            break
    seeds = {case.parameters["seed"] for case in plan.cases}
    if len(seeds) > 1:
        ways.append(f"--set run.seeds=1 takes 1/{len(seeds)} of it")
    if plan.cases[0].parameters["load"] is not None:
        ways.append("--set run.flows=N, with fewer flows than now")
    return ways or ["run it on more cores (docs/campaigns.md), or with smaller messages"]


def hops_text(hops: float) -> str:
    """Packet-hops, short."""
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if hops >= size:
            return f"{significant(hops / size, 2)} {unit}"
    return f"{significant(hops, 2)}"


def forecast(cases: Sequence[_core.Case], workers: int | None = None) -> Forecast:
    """What these cases cost on this machine."""
    workers = workers or len(usable_cores())
    schemes: defaultdict[str, list[_core.Case]] = defaultdict(list)
    for case in cases:
        schemes[str(case.parameters["scheme"])].append(case)
    most = max(1, MOST_CASES // len(schemes))
    looked_at = {scheme: _some(of_it, most) for scheme, of_it in schemes.items()}
    before = peak_memory_bytes()
    began_s = process_time()
    stuck: list[str] = []
    costs = _few(looked_at, len(cases)) or {scheme: _tried(some, stuck) for scheme, some in looked_at.items()}
    trials_s = process_time() - began_s
    loop_s = _loop_cpu_s()
    of_a_network_bytes = peak_memory_bytes() - before
    hops = cpu_s = longest_s = disk = most_memory = 0.0
    for scheme, known in costs.items():
        for case, cost in known:
            like_it = len(schemes[scheme]) / len(known)
            alone_s = cost.cpu_s + loop_s * (CASE_LOOPS + cost.flows * FLOW_LOOPS)
            hops, cpu_s = hops + like_it * cost.packet_hops, cpu_s + like_it * alone_s
            longest_s = max(longest_s, alone_s)
            recorded = recorded_of(case, cost)
            disk += like_it * recorded.disk_bytes
            most_memory = max(most_memory, recorded.memory_bytes)
    at_once = min(workers, len(cases))
    now = max(RUN_MEMORY_BYTES, peak_memory_bytes() + TABLES_MEMORY_BYTES)
    memory = now + (at_once - 1) * of_a_network_bytes + at_once * most_memory
    unknown = tuple(scheme for scheme, known in costs.items() if not known)
    disk += CASE_DISK_BYTES * sum(len(schemes[scheme]) for scheme in unknown)
    command_s = trials_s + COMMAND_LOOPS * loop_s
    cpu_s, longest_s, disk = cpu_s + command_s, longest_s + command_s, disk + FOLDER_DISK_BYTES
    return Forecast(hops, cpu_s, longest_s, memory, disk, unknown, workers, tuple(stuck))


def _some(cases: Sequence[_core.Case], most: int) -> list[_core.Case]:
    """All, or so many, spread over all points of the grid and all seeds."""
    if len(cases) <= most:
        return list(cases)
    return [cases[nth * SPREAD % len(cases)] for nth in range(most)]


Costs = dict[str, list[tuple[_core.Case, Expected]]]
"""For each scheme some of its cases, and what they cost."""


def _few(looked_at: Mapping[str, Sequence[_core.Case]], cases: int) -> Costs | None:
    """The costs, where the traffic alone tells that they are small: not of a Python class, which may take any time."""
    if any(kept.has_classes(case) for of_scheme in looked_at.values() for case in of_scheme):
        return None
    demands = {scheme: [(case, case.demand()) for case in some] for scheme, some in looked_at.items()}
    known = [demand for of_scheme in demands.values() for _, demand in of_scheme if demand]
    looked = sum(map(len, demands.values()))
    if len(known) < looked or ANSWERS * sum(hops for _, hops in known) * cases / looked > FEW_HOPS:
        return None
    return {
        scheme: [
            (case, Expected(one[0], ANSWERS * one[1], ANSWERS * one[1] / HOPS_PER_CPU_S))
            for case, one in of_scheme
            if one
        ]
        for scheme, of_scheme in demands.items()
    }


def _tried(cases: Sequence[_core.Case], stuck: list[str]) -> list[tuple[_core.Case, Expected]]:
    """The costs, by a trial of the case at the highest load, whose queues are longest; of long jobs without packets, of
    which a trial would be no share, by their operations. A scheme whose trial does not end is added to those stuck."""
    foreseen = [(case, case.flow_cost()) for case in cases]
    if all(cost is not None and cost[1] > LONGEST_TRIED_S for _, cost in foreseen):
        return [
            (case, Expected(flows, 0.0, cpu_s, operations=operations, memory_bytes=memory, is_whole=True))
            for case, cost in foreseen
            if cost
            for flows, cpu_s, memory, operations in [cost]
        ]
    # By demand a trial tells of others; by background traffic, which has none, only of the same point of the grid.
    points: defaultdict[str, list[_core.Case]] = defaultdict(list)
    for case in cases:
        points["" if case.demand() else _point(case)].append(case)
    return [found for alike in points.values() for found in _by_one_trial(alike, stuck)]


def _point(case: _core.Case) -> str:
    return str({name: value for name, value in case.parameters.items() if name != "seed"})


def _by_one_trial(cases: Sequence[_core.Case], stuck: list[str]) -> list[tuple[_core.Case, Expected]]:
    tried = max(cases, key=_load)
    scheme = str(tried.parameters["scheme"])
    if scheme in stuck:
        return []
    try:
        trial = _core.Trial(tried, PATIENCE_S if kept.has_classes(tried) else None)
    except TimeoutError:
        stuck.append(scheme)
        return []
    found = []
    for case in cases:
        if (cost := trial.cost_of(case)) is not None:
            slower = _load(tried) / _load(case) if _load(case) else 1.0
            port_s = slower * cost.simulated_s * cost.ports
            found.append(
                (case, Expected(cost.flows, cost.packet_hops, cost.cpu_s, port_s, cost.ports, cost.operations))
            )
    return found


def _load(case: _core.Case) -> float:
    return float(case.parameters["load"] or 0)


def _loop_cpu_s() -> float:
    """What a loop of additions takes here: the least of a few, since the machine may be busy."""

    def once() -> float:
        began_s = process_time()
        total = 0
        for number in range(LOOP):
            total += number
        return process_time() - began_s

    return min(once() for _ in range(5))
