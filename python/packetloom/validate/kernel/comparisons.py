"""Linux's own TCP beside the same flows simulated."""

from __future__ import annotations

import platform
import re
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from packetloom.campaign.api import run
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.kernel.cases import (
    CASES,
    HEADER_BYTES,
    LINUX,
    MANAGED_CASES,
    MSS_BYTES,
    PACKET_BYTES,
    RATE_MBPS,
    Case,
)
from packetloom.validate.kernel.deviations import (
    DROPS,
    LAST_FCT,
    LINUX_PREFIX,
    MEAN_FCT,
    MEAN_QUEUE,
    SETTLED,
    SOJOURN,
    SWING,
    THROUGHPUT,
    deviations_of,
)
from packetloom.validate.kernel.measure import Trial, settled_of, swing_of, trials_of
from packetloom.validate.peers.agreement import agreement, drawn

WITHIN = 0.10
WITHIN_THROUGHPUT = 0.05
WITHIN_STEP = 0.15

Measure = Callable[[Case], Sequence[Trial]]


def kernel_comparisons(measured: Measure = trials_of, version: str = "") -> list[Check]:
    """All of them; they measure when their rows are asked for: here, or where `measured` does, on a kernel of that
    version.
    """
    source = kernel_name(version or platform.release())
    return [_comparison(case, measured, source) for case in (*CASES, *MANAGED_CASES)]


def kernel_name(version: str) -> str:
    """With the version's first two numbers: distributors count the others in their own ways."""
    found = re.match(r"\d+\.\d+", version)
    return f"{LINUX_PREFIX}{found[0] if found else version}"


def _comparison(case: Case, measured: Measure, source: str) -> Check:
    def rows(_: Mapping[str, Results]) -> list[Row]:
        trials = measured(case)
        with tempfile.TemporaryDirectory(prefix="packetloom-kernel-") as folder:
            simulated = [
                simulate(case, trial, Path(folder) / str(number), seed=number) for number, trial in enumerate(trials, 1)
            ]
        return compared(case, trials, simulated, source)

    return Check(f"kernel: {case.title}", lambda _: {}, rows)


def simulate(case: Case, kernel: Trial, folder: Path, seed: int = 1) -> Trial:
    """The same flows with the starts that they had on the kernel."""
    folder.mkdir()
    (folder / "dumbbell.txt").write_text(topology_text(case.flows, case.delay_ms), encoding="utf-8")
    starts = [f"{src},0,{case.flow_bytes},{start}" for src, start in enumerate(kernel.starts_ns, 1)]
    (folder / "flows.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *starts, ""]), encoding="utf-8")
    results = run(scenario(case, folder, seed), folder / "results", progress=False, cache=False)
    flows = results.to_polars().sort("src")
    port = results.to_polars("ports").filter(node=f"switch{case.flows + 1}", peer=f"switch{case.flows + 2}")
    queue = port["queue_mean_bytes"][0]
    if case.managed is None:
        # The kernel keeps a packet in the queue until all of it has been sent.
        queue += port["utilisation"][0] * PACKET_BYTES
    swing, settled = None, None
    if case.swings or case.managed:
        series = results.to_polars("series").filter(port=port["port"][0]).sort("time_ns")
        samples = list(series.select("time_ns", "queue_bytes").iter_rows())
        swing = swing_of(samples, 0, min((flows["start_ns"] + flows["fct_ns"]).to_list())) if case.swings else None
        settled = settled_of(samples, case)
    fcts_ms = tuple((flows["fct_ns"] / 1e6).to_list())
    return Trial(kernel.starts_ns, fcts_ms, queue, port["drops"][0], swing, settled_ms=settled)


def topology_text(senders: int, delay_ms: int = 0) -> str:
    """HPCC's format: hosts 0 to `senders`, a switch on either side of the slow link.

    From the slow link to the receiver and back, and to the queue with what is sent next, is one run of the kernel's, in
    which no other sender's packet comes between. So all other delays are next to nothing, but for `delay_ms` between
    senders and the queue. A class of the kernel's that has rested lets a packet go at once and rests after it; ours
    arrives once all of it is sent. So that a round trip takes as long where nothing waits, the rest of it is shorter.
    """
    near, far = senders + 1, senders + 2
    links = [f"{near} {far} {RATE_MBPS}Mbps 100ns 0", f"{far} 0 100Gbps 100ns 0"]
    delay = f"{delay_ms * 1_000_000 - PACKET_BYTES * 8_000 // RATE_MBPS // 2}ns" if delay_ms else "100ns"
    links += [f"{host} {near} 100Gbps {delay} 0" for host in range(1, near)]
    return "\n".join([f"{senders + 3} 2 {len(links)}", f"{near} {far}", *links, ""])


def scenario(case: Case, folder: Path, seed: int = 1) -> dict[str, Any]:
    """TCP as Linux has it."""
    transport = {
        "kind": case.control.transport,
        "mss": f"{MSS_BYTES}B",
        "header": f"{HEADER_BYTES}B",
        "ack": f"{HEADER_BYTES}B",
        "max_rto": "120s",
        **{key: value for key, value in LINUX.items() if key != "reduction" or case.control.reduces},
        **case.control.own,
        **case.transport,
    }
    queue: dict[str, Any] = {"kind": "drop-tail", "capacity": f"{case.limit_bytes - PACKET_BYTES}B"}
    if case.control.marks:
        queue |= {"kind": "ecn", "mark_above": f"{case.mark_above_bytes}B"}
    if case.managed and case.managed.parts:
        room = {"kind": "private", "capacity": f"{case.limit_bytes}B"}
        queue = {"kind": "egress", "buffer": room, **case.managed.parts}
    return {
        "topology": {"kind": "hpcc", "file": str(folder / "dumbbell.txt")},
        "workload": [{"arrivals": {"kind": "list", "file": str(folder / "flows.csv")}}],
        "scheme": [{"name": "TCP", "transport": transport, "queue": queue, "nic": "drop-tail"}],
        "run": {"seeds": [seed]},
        "measure": {"queues": True, **({"series_interval": "1ms"} if case.swings or case.managed else {})},
    }


def compared(case: Case, kernel: Sequence[Trial], simulated: Sequence[Trial], name: str = "Linux") -> list[Row]:
    """The means over trials of both; the kernel's name has its version."""
    deviations = deviations_of(case.title, behind_bucket=any(trial.behind_bucket for trial in kernel))
    rows = []
    for title, (figure, within) in _figures(case).items():
        theirs, ours = (tuple(figure(trial) for trial in trials) for trials in (kernel, simulated))
        what = f"Linux, {case.title}: {title}"
        source = f"{name}, {f'mean of {len(kernel)} trials' if len(kernel) > 1 else 'one trial'}"
        if case.spread_ms:
            row = drawn(what, what, source, Draws(theirs, ours), within, deviations.get(title))
        else:
            means = statistics.fmean(theirs), statistics.fmean(ours)
            row = agreement(what, what, source, *means, within, deviations.get(title))
        rows.append(replace(row, schemes=schemes_of(case)))
    return rows


def schemes_of(case: Case) -> tuple[str, ...]:
    """As docs/schemes.md has them; of a port of parts, these."""
    transport = f"transport {case.control.transport}"
    parts = case.managed.parts if case.managed else {}
    if parts:
        return (transport, *(f"{part} in egress" for part in parts))
    return (transport, "queue ecn" if case.control.marks else "queue drop-tail")


def _figures(case: Case) -> dict[str, tuple[Callable[[Trial], float], float]]:
    """What is compared, and within what."""
    if case.managed is None:
        figures: dict[str, tuple[Callable[[Trial], float], float]] = {
            MEAN_FCT: (lambda trial: statistics.fmean(trial.fcts_ms), WITHIN),
            LAST_FCT: (lambda trial: max(trial.fcts_ms), WITHIN),
            MEAN_QUEUE: (lambda trial: trial.queue_bytes, WITHIN),
            SWING: (lambda trial: trial.swing_bytes or 0.0, WITHIN),
        }
        if not case.swings:
            del figures[SWING]
        if case.flows == 1:
            del figures[LAST_FCT]
        return figures
    sent_bits = case.flows * case.flow_bytes * 8
    figures = {
        THROUGHPUT: (lambda trial: sent_bits / max(trial.fcts_ms) / 1e3, WITHIN_THROUGHPUT),
        SOJOURN: (lambda trial: trial.queue_bytes * 8 / (RATE_MBPS * 1e3), WITHIN),
        DROPS: (lambda trial: float(trial.drops), WITHIN),
    }
    if case.managed.target_ms is not None:
        figures[SETTLED] = (lambda trial: trial.settled_ms or 0.0, WITHIN_STEP)
    return figures
