"""Linux's own TCP beside the same flows simulated."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packetloom.campaign.api import run
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.kernel.cases import (
    CASES,
    HEADER_BYTES,
    LINUX,
    MSS_BYTES,
    PACKET_BYTES,
    RATE_MBPS,
    Case,
)
from packetloom.validate.kernel.deviations import LAST_FCT, MEAN_FCT, MEAN_QUEUE, SWING, deviations_of
from packetloom.validate.kernel.measure import Trial, swing_of, trials_of
from packetloom.validate.peers.agreement import agreement

WITHIN = 0.10

Measure = Callable[[Case], Sequence[Trial]]


def kernel_comparisons(measured: Measure = trials_of) -> list[Check]:
    """All of them; they measure when their rows are asked for: here, or where `measured` does."""
    return [_comparison(case, measured) for case in CASES]


def _comparison(case: Case, measured: Measure) -> Check:
    def rows(_: Mapping[str, Results]) -> list[Row]:
        trials = measured(case)
        with tempfile.TemporaryDirectory(prefix="packetloom-kernel-") as folder:
            simulated = [simulate(case, trial, Path(folder) / str(number)) for number, trial in enumerate(trials)]
        return compared(case, trials, simulated)

    return Check(f"kernel: {case.title}", lambda _: {}, rows)


def simulate(case: Case, kernel: Trial, folder: Path) -> Trial:
    """The same flows with the starts that they had on the kernel."""
    folder.mkdir()
    (folder / "dumbbell.txt").write_text(topology_text(case.flows), encoding="utf-8")
    starts = [f"{src},0,{case.flow_bytes},{start}" for src, start in enumerate(kernel.starts_ns, 1)]
    (folder / "flows.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *starts, ""]), encoding="utf-8")
    results = run(scenario(case, folder), folder / "results", progress=False, cache=False)
    flows = results.to_polars().sort("src")
    port = results.to_polars("ports").filter(node=f"switch{case.flows + 1}", peer=f"switch{case.flows + 2}")
    # The kernel keeps a packet in the queue until all of it has been sent.
    queue = port["queue_mean_bytes"][0] + port["utilisation"][0] * PACKET_BYTES
    swing = None
    if case.swings:
        series = results.to_polars("series").filter(port=port["port"][0]).sort("time_ns")
        samples = list(series.select("time_ns", "queue_bytes").iter_rows())
        swing = swing_of(samples, 0, min((flows["start_ns"] + flows["fct_ns"]).to_list()))
    return Trial(kernel.starts_ns, tuple((flows["fct_ns"] / 1e6).to_list()), queue, port["drops"][0], swing)


def topology_text(senders: int) -> str:
    """HPCC's format: hosts 0 to `senders`, a switch on either side of the slow link.

    From the slow link to the receiver and back, and to the queue with what is sent next, is one run of the kernel's, in
    which no other sender's packet comes between. So all other delays are next to nothing.
    """
    near, far = senders + 1, senders + 2
    links = [f"{near} {far} {RATE_MBPS}Mbps 100ns 0", f"{far} 0 100Gbps 100ns 0"]
    links += [f"{host} {near} 100Gbps 100ns 0" for host in range(1, near)]
    return "\n".join([f"{senders + 3} 2 {len(links)}", f"{near} {far}", *links, ""])


def scenario(case: Case, folder: Path) -> dict[str, Any]:
    """TCP as Linux has it."""
    transport = {
        "kind": case.control.transport,
        "mss": f"{MSS_BYTES}B",
        "header": f"{HEADER_BYTES}B",
        "ack": f"{HEADER_BYTES}B",
        "max_rto": "120s",
        **LINUX,
        **case.transport,
    }
    queue = {"kind": "drop-tail", "capacity": f"{case.limit_bytes - PACKET_BYTES}B"}
    if case.control.marks:
        queue |= {"kind": "ecn", "mark_above": f"{case.mark_above_bytes}B"}
    return {
        "topology": {"kind": "hpcc", "file": str(folder / "dumbbell.txt")},
        "workload": [{"arrivals": {"kind": "list", "file": str(folder / "flows.csv")}}],
        "scheme": [{"name": "TCP", "transport": transport, "queue": queue, "nic": "drop-tail"}],
        "run": {"seeds": 1},
        "measure": {"queues": True, **({"series_interval": "1ms"} if case.swings else {})},
    }


def compared(case: Case, kernel: Sequence[Trial], simulated: Sequence[Trial]) -> list[Row]:
    """The means over trials of both."""
    figures: dict[str, Callable[[Trial], float]] = {
        MEAN_FCT: lambda trial: statistics.fmean(trial.fcts_ms),
        LAST_FCT: lambda trial: max(trial.fcts_ms),
        MEAN_QUEUE: lambda trial: trial.queue_bytes,
        SWING: lambda trial: trial.swing_bytes or 0.0,
    }
    if not case.swings:
        del figures[SWING]
    if case.flows == 1:
        del figures[LAST_FCT]
    deviations = deviations_of(case.title, behind_bucket=any(trial.behind_bucket for trial in kernel))
    rows = []
    for title, figure in figures.items():
        theirs, ours = (statistics.fmean(figure(trial) for trial in trials) for trials in (kernel, simulated))
        what = f"Linux, {case.title}: {title}"
        source = f"this kernel, mean of {len(kernel)} trials"
        rows.append(agreement(what, what, source, theirs, ours, WITHIN, deviations.get(title)))
    return rows
