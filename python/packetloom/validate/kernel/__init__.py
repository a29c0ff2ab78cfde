"""`packetloom validate kernel`: Linux's own TCP Reno through a slow link, and the same flows simulated.

CUBIC is not among packetloom's transports, and DCTCP is compared with theory and other simulators.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packetloom.api import run
from packetloom.results import Results
from packetloom.validate.comparison import Comparison, Row
from packetloom.validate.kernel.measure import Trial, measure
from packetloom.validate.kernel.network import Dumbbell
from packetloom.validate.peers.agreement import agreement

CONGESTION_CONTROL = "reno"
WITHIN = 0.10
TRIALS = 9
RATE_MBPS = 20
LIMIT_BYTES = 60_000
# Tokens for four packets, so that a machine that wakes the queue late loses no rate.
BURST_BYTES = 6_000
# Ethernet, IPv4, TCP with timestamps.
MSS_BYTES, HEADER_BYTES = 1448, 66
PACKET_BYTES = MSS_BYTES + HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Case:
    """So many flows of a size that start together; `why` says what is known of why it may differ.

    `settings` are sysctls of the kernel's.
    """

    name: str
    flows: int
    flow_bytes: int
    why: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


WHY_RACK = (
    "After a timeout the senders overrun the queue again. Linux finds lost retransmissions by time (RACK, RFC 8985), "
    "ours waits for a second timeout. Without RACK Linux does, too: the rows that say so"
)
WHY_CHANCE = (
    "How many of the sixteen wait for a third timeout is chance: in four series of trials the last took 592 to 694 ms "
    "in the mean on Linux, 650 here"
)

CASES = (
    Case("one long flow", 1, 2_000_000),
    Case("four long flows", 4, 1_000_000),
    Case("incast of 8 x 100 KB", 8, 100_000),
    Case("incast of 16 x 30 KB", 16, 30_000, WHY_RACK),
    # Without SACK Linux has no RACK either.
    Case("incast of 16 x 30 KB, no RACK", 16, 30_000, WHY_CHANCE, {"net.ipv4.tcp_sack": "0"}),
)


def kernel_comparisons() -> list[Comparison]:
    """All of them; they measure when their rows are asked for."""
    return [_comparison(case) for case in CASES]


def _comparison(case: Case) -> Comparison:
    def rows(_: Mapping[str, Results]) -> list[Row]:
        with Dumbbell(
            case.flows, RATE_MBPS * 1_000_000, LIMIT_BYTES, BURST_BYTES, CONGESTION_CONTROL, case.settings
        ) as dumbbell:
            trials = [measure(dumbbell, case.flow_bytes) for _ in range(TRIALS)]
        with tempfile.TemporaryDirectory(prefix="packetloom-kernel-") as folder:
            simulated = [simulate(case, trial, Path(folder) / str(number)) for number, trial in enumerate(trials)]
        return compared(case, trials, simulated)

    return Comparison(f"kernel-{case.name}", lambda _: {}, rows)


def simulate(case: Case, kernel: Trial, folder: Path) -> Trial:
    """The same flows with the starts that they had on the kernel."""
    folder.mkdir()
    (folder / "dumbbell.txt").write_text(topology_text(case.flows), encoding="utf-8")
    starts = [f"{src},0,{case.flow_bytes},{start}" for src, start in enumerate(kernel.starts_ns, 1)]
    (folder / "flows.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *starts, ""]), encoding="utf-8")
    results = run(scenario(folder), folder / "results", progress=False, cache=False)
    flows = results.to_polars().sort("src")
    port = results.to_polars("ports").filter(node=f"switch{case.flows + 1}", peer=f"switch{case.flows + 2}")
    # The kernel's token bucket keeps a packet in the queue until all its tokens are there.
    queue = port["queue_mean_bytes"][0] + port["utilisation"][0] * PACKET_BYTES
    return Trial(kernel.starts_ns, tuple((flows["fct_ns"] / 1e6).to_list()), queue, port["drops"][0])


def topology_text(senders: int) -> str:
    """HPCC's format: hosts 0 to `senders`, a switch on either side of the slow link."""
    near, far = senders + 1, senders + 2
    links = [f"{near} {far} {RATE_MBPS}Mbps 5000ns 0", f"{far} 0 10Gbps 5000ns 0"]
    links += [f"{host} {near} 10Gbps 5000ns 0" for host in range(1, near)]
    return "\n".join([f"{senders + 3} 2 {len(links)}", f"{near} {far}", *links, ""])


def scenario(folder: Path) -> dict[str, Any]:
    """TCP as Linux has it: 200 ms is the least timeout, 10 packets the first window."""
    tcp = {
        "kind": "tcp",
        "mss": f"{MSS_BYTES}B",
        "header": f"{HEADER_BYTES}B",
        "ack": f"{HEADER_BYTES}B",
        "min_rto": "200ms",
        "max_rto": "120s",
    }
    queue = {"kind": "drop-tail", "capacity": f"{LIMIT_BYTES - PACKET_BYTES}B"}
    return {
        "topology": {"kind": "hpcc", "file": str(folder / "dumbbell.txt")},
        "workload": [{"arrivals": {"kind": "list", "file": str(folder / "flows.csv")}}],
        "scheme": [{"name": "TCP", "transport": tcp, "queue": queue, "nic": "drop-tail"}],
        "run": {"seeds": 1},
        "measure": {"queues": True},
    }


def compared(case: Case, kernel: Sequence[Trial], simulated: Sequence[Trial]) -> list[Row]:
    """The means over trials of both."""
    figures: dict[str, Callable[[Trial], float]] = {
        "mean FCT in ms": lambda trial: statistics.fmean(trial.fcts_ms),
        "FCT of the last flow in ms": lambda trial: max(trial.fcts_ms),
        "mean queue in bytes": lambda trial: trial.queue_bytes,
    }
    if case.flows == 1:
        del figures["FCT of the last flow in ms"]
    rows = []
    for title, figure in figures.items():
        theirs, ours = (statistics.fmean(figure(trial) for trial in trials) for trials in (kernel, simulated))
        what = f"Linux, TCP Reno, {case.name}: {title}"
        source = f"this kernel, mean of {len(kernel)} trials"
        rows.append(agreement(what, what, source, theirs, ours, WITHIN, case.why))
    return rows
