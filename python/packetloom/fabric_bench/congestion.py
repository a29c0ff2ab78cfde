"""Training, test category 2: marks, pauses, convergence, deadlock."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from packetloom.common.fairness import jain
from packetloom.fabric_bench.cases import Case, seconds_of, size_of, source_flows
from packetloom.fabric_bench.catalogue import Part, Row, TableOf, Test
from packetloom.fabric_bench.measures import lost_ppm, mark_share, pauses_per_s, throughput_gbps

FAIR_WITHIN = 0.1
WINDOW_PACKETS = 100
"""A rate is a mean over a window in which a flow at its fair share sends so many packets."""


def shared_part(scenario: str, senders: int, start: str, quick: str | None, full: str) -> Part:
    """So many senders to host 0, and as many more from `start` on, for as long as `quick` or `full`."""
    first, second = [*range(1, senders + 1), 0], [*range(senders + 1, 2 * senders + 1), 0]
    settings = (
        f"topology.hosts={2 * senders + 1}",
        f"workload.0.arrivals.prefill={senders}",
        f"workload.0.arrivals.placement={first}",
        f"workload.1.arrivals.prefill={senders}",
        f"workload.1.arrivals.placement={second}",
        f"workload.1.start={start}",
    )
    for_quick = None if quick is None else (*settings, f"run.max_time={quick}")
    return Part(f"senders-{senders}", scenario, for_quick, (*settings, f"run.max_time={full}"))


def incast_rows(case: Case) -> Iterable[Row]:
    """Throughput, queue and loss of the whole run."""
    ports = case.frame("ports", "node", "peer", "tx_bytes", "queue_max_bytes", "tier")
    receiver = ports.filter(pl.col("peer") == "host0").row(0, named=True)
    yield {
        "scheme": case.scheme,
        "senders": case.arrivals()["prefill"],
        "throughput (Gb/s)": receiver["tx_bytes"] * 8 / case.simulated_s / 1e9,
        "peak queue (KB)": receiver["queue_max_bytes"] / 1e3,
        "PAUSE/s": pauses_per_s(case),
        "loss (ppm)": lost_ppm(case),
        "trimmed": case.counter("trims"),
        "marks per 100 packets": 100 * mark_share(case),
    }


def rates(case: Case) -> tuple[float, pl.DataFrame]:
    """The window in s, and each sender's bytes over the window that begins at each sample after senders doubled."""
    senders = 2 * int(case.arrivals()["prefill"])
    interval = seconds_of(case.spec["measure"]["series_interval"])
    packet = size_of(case.transport["mss"]) + size_of(case.transport["header"])
    window = WINDOW_PACKETS * senders * packet * 8 / case.host_rate
    samples = max(1, math.ceil(window / interval))
    ports = case.frame("ports", "port", "tier", "node").filter(
        pl.col("tier").str.starts_with("host to") & (pl.col("node") != "host0")
    )
    doubled = seconds_of(case.workload(1)["start"]) * 1e9
    series = case.frame("series", "port", "time_ns", "tx_bytes").filter(
        pl.col("port").is_in(ports["port"].implode()) & (pl.col("time_ns") >= doubled)
    )
    wide = series.pivot(on="port", index="time_ns", values="tx_bytes").sort("time_ns").fill_null(0)
    columns = [name for name in wide.columns if name != "time_ns"]
    summed = wide.select("time_ns", pl.col(columns).cast(pl.Float64).rolling_sum(samples).shift(1 - samples))
    return samples * interval, summed.drop_nulls()


def convergence_rows(case: Case) -> Iterable[Row]:
    """From when senders doubled to the first window since which all are within a tenth of their fair share."""
    window, summed = rates(case)
    senders = 2 * int(case.arrivals()["prefill"])
    doubled = seconds_of(case.workload(1)["start"])
    shares = summed.drop("time_ns")
    row: dict[str, object] = {"scheme": case.scheme, "senders": case.arrivals()["prefill"], "window (us)": window * 1e6}
    if shares.is_empty():
        yield row | {"converged after (ms)": None, "within a tenth at the end (%)": None, "JFI at the end": None}
        return
    numbers = shares.to_numpy()
    mean = numbers.sum(axis=1, keepdims=True) / senders
    close = abs(numbers - mean) <= FAIR_WITHIN * mean
    whole = close.all(axis=1)
    first_of_the_last = len(whole) - _trailing(whole.tolist())
    times = summed["time_ns"].to_numpy() / 1e9
    converged = (times[first_of_the_last] - doubled) * 1e3 if first_of_the_last < len(whole) else None
    first = int(whole.argmax()) if whole.any() else None
    yield row | {
        "first within (ms)": None if first is None else (times[first] - doubled) * 1e3,
        "converged after (ms)": converged,
        "within a tenth at the end (%)": 100 * float(close[-1].mean()),
        "JFI at the end": jain(numbers[-1]),
    }


def _trailing(values: list[bool]) -> int:
    """How many at the end are true."""
    count = 0
    for value in reversed(values):
        if not value:
            break
        count += 1
    return count


def expected_marks(peak: int, low: int, high: int, probability: float, packet: int) -> float:
    """Marks on a queue that rises to its peak by a packet for each that leaves, and falls so.

    What counts is what waits beside the packet that leaves: each length below the peak, twice.
    """
    total = 0.0
    for waiting in range(packet, peak, packet):
        ramp = probability * (waiting - low) / (high - low)
        total += 0.0 if waiting <= low else 1.0 if waiting > high else ramp
    return 2 * total


def _marks(case: Case) -> Iterable[Row]:
    queue = case.spec["scheme"]["queue"]
    low, high = size_of(queue["ecn_min"]), size_of(queue["ecn_max"])
    ports = case.frame("ports", "peer", "node", "queue_max_bytes", "marks", "tx_packets")
    port = ports.filter(pl.col("peer") == "host0").row(0, named=True)
    packet = size_of(case.transport["mss"]) + size_of(case.transport["header"])
    peak = int(port["queue_max_bytes"])
    expected = expected_marks(peak, low, high, queue["ecn_probability"], packet)
    yield {
        "threshold": case.scheme,
        "peak queue (KB)": peak / 1e3,
        "where": "below the minimum" if peak <= low else "on the ramp" if peak <= high else "above the maximum",
        "packets": port["tx_packets"],
        "marked": port["marks"],
        "expected": expected,
        "deviation (%)": 100 * (port["marks"] / expected - 1) if expected >= 10 else None,
    }


def _pfc(case: Case) -> Iterable[Row]:
    pauses = case.frame("pauses")
    flows = source_flows(case, 0, "size_bytes", "start_ns", "fct_ns")
    row = {"senders": case.workload()["pattern"]["fan_in"], "throughput (Gb/s)": throughput_gbps(flows)}
    if pauses.is_empty():
        yield row | {"PAUSE/s": 0.0, "ports paused": 0, "paused of each (us)": 0.0, "hops": 0, "drops": 0.0}
        return
    ports = pauses.group_by("port").agg((pl.col("until_ns") - pl.col("from_ns")).sum().alias("ns"))
    yield row | {
        "PAUSE/s": pauses_per_s(case),
        "ports paused": ports.height,
        "paused of each (us)": ports["ns"].mean() / 1e3,  # type: ignore[operator]
        "longest paused port (us)": ports["ns"].max() / 1e3,  # type: ignore[operator]
        "hops": int(pauses["passed_on"].max()) + 1,  # type: ignore[arg-type]
        "first pause (us)": pauses["from_ns"].min() / 1e3,  # type: ignore[operator]
        "drops": case.counter("drops"),
    }


def _pfc_by_hop(case: Case) -> Iterable[Row]:
    ports = case.frame("ports", "tier", "pauses", "paused_ns")
    for tier, group in ports.group_by("tier", maintain_order=True):
        yield {
            "senders": case.workload()["pattern"]["fan_in"],
            "paused": tier[0],
            "PAUSE/s": float(group["pauses"].sum()) / case.simulated_s,
        }


def _deadlock(case: Case) -> Iterable[Row]:
    locked = [warning for warning in case.row.warnings if "deadlock" in warning]
    yield {
        "scheme": case.scheme,
        "locked": "yes" if locked else "no",
        "flows finished": case.counter("flows_finished"),
        "of": case.counter("flows_started"),
        "ended after (ms)": case.simulated_s * 1e3,
        "pauses": case.counter("pauses"),
        "dropped by the watchdog": case.counter("drops"),
    }


TESTS = (
    Test(
        id="ecn-accuracy",
        draft="training",
        sections=("ECN Marking Accuracy and Threshold",),
        measures="marks on queues of known length against thresholds of 100 KB, 1 MB and 5 MB",
        parts=(Part("marks", "ecn-accuracy", (), ("run.seeds=20",)),),
        tables=(
            TableOf(
                name="marks",
                title="ECN marks against the queue",
                rows=_marks,
                keys=("threshold", "peak queue (KB)", "where"),
                lead="marked",
                drawn=("peak queue (KB)", "marked"),
                notes=(
                    "The queue passes each length below its peak twice; expected is the sum of the configured "
                    "probability (0 up to the minimum, a ramp to 0.2 at the maximum, 1 above) over these.",
                ),
            ),
        ),
    ),
    Test(
        id="pfc-incast",
        draft="training",
        sections=("PFC Behavior Under Incast",),
        measures="pauses by hop, paused time, how far pauses travel, and throughput, of 2 to 64 senders to one",
        parts=(Part("incast", "pfc-incast", (), ("run.seeds=10", "workload.0.sizes.size=16MB")),),
        tables=(
            TableOf(
                name="pfc",
                title="PFC under incast",
                rows=_pfc,
                keys=("senders",),
                lead="throughput (Gb/s)",
                notes=(
                    "Hops: how many links back from the congested switch a pause came; 1 is the switch's own links. A "
                    "storm, by the draft's word, begins where pauses reach further than that.",
                ),
                drawn=("senders", "PAUSE/s"),
            ),
            TableOf(
                name="by-hop",
                title="PAUSE frames a second, by the links that they stop",
                rows=_pfc_by_hop,
                keys=("senders", "paused"),
                lead="PAUSE/s",
                layout=("paused", "PAUSE/s"),
            ),
        ),
        not_measured=(
            "whether headroom suffices: less than a link needs is refused; for the watchdog see pfc-deadlock",
        ),
    ),
    Test(
        id="dcqcn-convergence",
        draft="training",
        sections=("DCQCN Convergence Time",),
        measures="time from when M flows become 2M until all are within a tenth of their fair share; by parameters",
        parts=tuple(
            shared_part("dcqcn-convergence", senders, start="2ms", quick=quick, full=full)
            for senders, quick, full in (
                (4, "12ms", "100ms"),
                (16, "12ms", "100ms"),
                (64, None, "200ms"),
                (256, None, "200ms"),
            )
        ),
        tables=(
            TableOf(
                name="convergence",
                title="DCQCN convergence",
                rows=convergence_rows,
                keys=("senders", "scheme"),
                lead="JFI at the end",
                notes=(
                    "Senders: M. Rates are means over a window in which a fair flow sends 100 packets. A dash: not "
                    "within the time that was simulated. The paper's constants are for 40 Gb/s.",
                ),
            ),
            TableOf(
                name="bottleneck",
                title="The bottleneck meanwhile",
                rows=incast_rows,
                keys=("senders", "scheme"),
                lead="throughput (Gb/s)",
            ),
        ),
        not_run={"quick": ("M = 64 and 256: their flows take longer than 12 ms to settle; full has them",)},
    ),
    Test(
        id="pfc-deadlock",
        draft="training",
        sections=("PFC Storm and Deadlock Resilience",),
        measures="whether cyclic traffic locks under PFC alone, with a watchdog, and under DCQCN",
        parts=(Part("ring", "pfc-deadlock"),),
        stalls=True,
        tables=(
            TableOf(
                name="deadlock",
                title="PFC deadlock",
                rows=_deadlock,
                keys=("scheme",),
                lead="flows finished",
                notes=(
                    "A cycle of pauses that wait for each other is found exactly, and ends the case. The draft runs "
                    "for 300 s; here it is flows of 4 MB, for 20 ms at most.",
                ),
            ),
        ),
    ),
)
