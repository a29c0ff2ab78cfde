"""`packetloom validate kernel`: Linux's own TCP through a slow link, and the same flows simulated."""

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
from packetloom.validate.kernel.network import Dumbbell, parameters
from packetloom.validate.peers.agreement import agreement

WITHIN = 0.10
RATE_MBPS = 20
# What DCTCP marks: 22.5 KB at that rate.
MARK_ABOVE_US = 9_000
# Tokens for four packets, so that a machine that wakes the queue late loses no rate.
BURST_BYTES = 6_000
# Ethernet, IPv4, TCP with timestamps.
MSS_BYTES, HEADER_BYTES = 1448, 66
PACKET_BYTES = MSS_BYTES + HEADER_BYTES


@dataclass(frozen=True, slots=True)
class Control:
    """A congestion control, as people, Linux and packetloom call it."""

    title: str
    linux: str
    transport: str
    marks: bool = False


RENO = Control("TCP Reno", "reno", "tcp")
CUBIC = Control("CUBIC", "cubic", "cubic")
DCTCP = Control("DCTCP", "dctcp", "dctcp", marks=True)


@dataclass(frozen=True, slots=True)
class Case:
    """So many flows of a size that start together; `why` says what is known of why it may differ.

    `settings` are sysctls of the kernel's, `module` parameters of its congestion control's module, `transport` keys of
    ours. `limit_bytes` may wait.
    """

    name: str
    flows: int
    flow_bytes: int
    why: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    control: Control = RENO
    limit_bytes: int = 60_000
    trials: int = 9
    module: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """With the congestion control."""
        return f"{self.control.title}, {self.name}"


WHY_RECOVERY = (
    "The queue differs while what was lost is sent again, from 80 to 160 ms after the start: in the mean 47 KB here, "
    "34 on Linux"
)
WHY_TICKS = (
    "Linux's timers go off at ticks: all that lost everything send again in the same moment, ours spread over as much "
    "as their starts were. Of flows that start together ours end 339 (Reno) and 347 ms (CUBIC) after it, Linux's 347 "
    "and 345"
)
WHY_CHANCE = (
    "How many of the sixteen wait for a third timeout is chance: in four series of trials the last took 592 to 694 ms "
    "in the mean on Linux, 650 here"
)

# What Linux does unless it is told otherwise: RACK (RFC 8985), PRR (RFC 9937), and timeouts that are 200 ms longer than
# the smoothed round trip, rounded up to its ticks of 4 ms: as captured, 205 to 210 ms after a first window was lost.
LINUX = {"loss_detection": "rack", "reduction": "prr", "min_rto_bounds": "variation", "min_rto": "208ms"}

# Without SACK Linux has no RACK either.
NO_SACK = {"net.ipv4.tcp_sack": "0"}
NO_RACK = {"loss_detection": "rfc6675"}

# Round trips of 240 ms, three of the cubic function's saws.
DEEP = Case(
    "40 MB, 600 KB may wait, slow start to 280 packets",
    1,
    40_000_000,
    control=CUBIC,
    limit_bytes=600_000,
    trials=3,
    module={"initial_ssthresh": "280"},
    transport={"initial_ssthresh": 280},
)

CASES = (
    Case("one long flow", 1, 2_000_000),
    Case("four long flows", 4, 1_000_000),
    Case("incast of 8 x 100 KB", 8, 100_000),
    Case("incast of 16 x 30 KB", 16, 30_000, WHY_TICKS),
    Case("incast of 16 x 30 KB, no RACK", 16, 30_000, WHY_CHANCE, NO_SACK, transport=NO_RACK),
    Case("one long flow", 1, 2_000_000, control=CUBIC),
    Case(
        "one long flow, slow start to 30 packets",
        1,
        2_000_000,
        control=CUBIC,
        module={"initial_ssthresh": "30"},
        transport={"initial_ssthresh": 30},
    ),
    DEEP,
    Case("four long flows", 4, 1_000_000, control=CUBIC),
    Case("incast of 8 x 100 KB", 8, 100_000, control=CUBIC),
    Case(
        "incast of 8 x 100 KB, beta 0.5",
        8,
        100_000,
        WHY_RECOVERY,
        control=CUBIC,
        module={"beta": "512"},
        transport={"beta": 0.5},
    ),
    Case("incast of 16 x 30 KB", 16, 30_000, WHY_TICKS, control=CUBIC),
    Case("incast of 16 x 30 KB, no RACK", 16, 30_000, WHY_CHANCE, NO_SACK, control=CUBIC, transport=NO_RACK),
    Case("one long flow", 1, 2_000_000, control=DCTCP),
    Case("four long flows", 4, 1_000_000, control=DCTCP),
    Case("incast of 8 x 100 KB", 8, 100_000, control=DCTCP),
)


def kernel_comparisons() -> list[Comparison]:
    """All of them; they measure when their rows are asked for."""
    return [_comparison(case) for case in CASES]


def _comparison(case: Case) -> Comparison:
    def rows(_: Mapping[str, Results]) -> list[Row]:
        with dumbbell_of(case) as dumbbell, parameters(case.control.linux, case.module):
            trials = [measure(dumbbell, case.flow_bytes) for _ in range(case.trials)]
        with tempfile.TemporaryDirectory(prefix="packetloom-kernel-") as folder:
            simulated = [simulate(case, trial, Path(folder) / str(number)) for number, trial in enumerate(trials)]
        return compared(case, trials, simulated)

    return Comparison(f"kernel: {case.title}", lambda _: {}, rows)


def dumbbell_of(case: Case) -> Dumbbell:
    """The kernel's side of a case."""
    ecn = {"net.ipv4.tcp_ecn": "1"} if case.control.marks else {}
    return Dumbbell(
        case.flows,
        RATE_MBPS * 1_000_000,
        case.limit_bytes,
        BURST_BYTES,
        case.control.linux,
        {**case.settings, **ecn},
        MARK_ABOVE_US if case.control.marks else None,
    )


def simulate(case: Case, kernel: Trial, folder: Path) -> Trial:
    """The same flows with the starts that they had on the kernel."""
    folder.mkdir()
    (folder / "dumbbell.txt").write_text(topology_text(case.flows), encoding="utf-8")
    starts = [f"{src},0,{case.flow_bytes},{start}" for src, start in enumerate(kernel.starts_ns, 1)]
    (folder / "flows.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *starts, ""]), encoding="utf-8")
    results = run(scenario(case, folder), folder / "results", progress=False, cache=False)
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
        queue |= {"kind": "ecn", "mark_above": f"{MARK_ABOVE_US * RATE_MBPS // 8}B"}
    return {
        "topology": {"kind": "hpcc", "file": str(folder / "dumbbell.txt")},
        "workload": [{"arrivals": {"kind": "list", "file": str(folder / "flows.csv")}}],
        "scheme": [{"name": "TCP", "transport": transport, "queue": queue, "nic": "drop-tail"}],
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
        what = f"Linux, {case.title}: {title}"
        source = f"this kernel, mean of {len(kernel)} trials"
        rows.append(agreement(what, what, source, theirs, ours, WITHIN, case.why))
    return rows
