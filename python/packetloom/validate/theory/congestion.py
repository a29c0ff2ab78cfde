"""Congestion control: TCP's and CUBIC's rates under random loss, DCTCP's saw, RCP's fixed point."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from packetloom.common.percentiles import quantiles
from packetloom.scenario.plan import Component, Scenario
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.theory import formulas
from packetloom.validate.theory.replicates import predicted

PACKET_BYTES, ACK_BYTES = 1500, 40

Floats = np.ndarray[Any, np.dtype[np.float64]]


def congestion_comparisons() -> list[Check]:
    """All of them."""
    return [
        _square_root_comparison(),
        _cubic_comparison(),
        _dctcp_comparison(flows=2, delay_us=50, threshold=100, run_ms=400, quick=True),
        _dctcp_comparison(flows=2, delay_us=100, threshold=300, run_ms=1000),
        _dctcp_comparison(flows=4, delay_us=50, threshold=100, run_ms=400),
        _rcp_comparison(flows=2, target=0.95, quick=True),
        _rcp_comparison(flows=10, target=0.95),
        _rcp_comparison(flows=10, target=0.8),
    ]


def one_receiver(
    senders: int, rate_gbps: float, delay_us: float, transport: Component, queue: Component, run: Mapping[str, Any]
) -> dict[str, Any]:
    """Flows without end from as many hosts to host 0, which start within a millisecond."""
    scenario = Scenario(
        topology={"kind": "rack", "hosts": senders + 1, "link": {"rate": f"{rate_gbps}Gbps", "delay": f"{delay_us}us"}},
        workload=[
            {
                "sizes": {"kind": "constant", "size": "1000GB"},
                "arrivals": "at-once",
                "pattern": {"kind": "incast", "fan_in": senders, "receiver": 0, "jitter": "1ms"},
            }
        ],
        schemes=[{"name": "long flows", "transport": transport, "queue": queue, "nic": "drop-tail"}],
        run=run,
    )
    return scenario.to_dict()


def round_trip_s(rate_gbps: float, delay_us: float) -> float:
    """Of a packet and its ACK over the two links of a rack, empty."""
    return 4 * delay_us * 1e-6 + 2 * (PACKET_BYTES + ACK_BYTES) * 8 / (rate_gbps * 1e9)


def _square_root_comparison() -> Check:
    return _random_loss(
        "square-root",
        "TCP's rate under random loss, C of C / (RTT √p) as p goes to 0",
        "Ott, Kemperman and Mathis 1996; Mathis et al. 1997",
        formulas.square_root_constant(),
        lambda probability, round_trip: {"kind": "tcp"},
        lambda window, lost, probability: window * np.sqrt(lost),
    )


def _cubic_comparison() -> Check:
    def transport(probability: float, round_trip: float) -> dict[str, Any]:
        # So steep that there are as many round trips between losses as packets in the window. No Reno-friendly region:
        # the formula knows none.
        steepness = probability / round_trip**3
        return {"kind": "cubic", "c": steepness, "reno_friendly": False, "fast_convergence": False}

    return _random_loss(
        "cubic",
        "CUBIC's window under random loss, a of a C^(1/4) (RTT / p)^(3/4) as p goes to 0",
        "RFC 9438 §5.1, which has a = 1.325 for losses at even distances; here they come at random",
        formulas.cubic_constant(),
        transport,
        lambda window, lost, probability: window * lost**0.75 / probability**0.25,
        # Its windows vary more than TCP's.
        longer=2,
    )


def _random_loss(
    name: str,
    what: str,
    source: str,
    expected: float,
    transport: Callable[[float, float], dict[str, Any]],
    constant: Callable[[Floats, Floats, float], Floats],
    longer: float = 1,
) -> Check:
    """One flow's mean window. Formulas are those of windows without end; what small ones do differently goes with √p.

    `transport` is made from a probability and the round trip; `constant` from windows, losses as they came out, and the
    probability.
    """
    rate_gbps, delay_us = 100, 40
    probabilities = {1e-3: 1.0, 3e-4: 1.5, 1e-4: 3.0}
    round_trip = round_trip_s(rate_gbps, delay_us)

    def scenario(probability: float, run_s: float) -> dict[str, Any]:
        # Slow start ends where the window will be.
        begin = {"initial_ssthresh": round(1 / math.sqrt(probability)), "min_rto": "1ms"}
        run = {"seeds": 24, "max_time": f"{longer * run_s}s"}
        flow = transport(probability, round_trip) | begin
        case = one_receiver(1, rate_gbps, delay_us, flow, "drop-tail", run)
        case["fault"] = [{"kind": "corruption", "probability": probability, "between": ["host1", "switch0"]}]
        return case | {"measure": {"series_interval": "100ms"}}

    def constants(probability: float, results: Results) -> tuple[Floats, Floats]:
        """√p and the constant of every seed, with p as it came out."""
        port = results.to_polars("ports").filter(node="host1", peer="switch0")
        seconds = results.to_polars("cases")["simulated_ns"].to_numpy() / 1e9
        lost = (port["corrupted"] / port["tx_packets"]).to_numpy()
        window = port["tx_packets"].to_numpy() / seconds * round_trip
        return np.sqrt(lost), constant(window, lost, probability)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = [constants(probability, results[f"loss-{probability:g}"]) for probability in probabilities]
        # Seed by seed a line through the probabilities, drawn on to √p = 0.
        limits = [float(np.polyfit(roots, values, 1)[1]) for roots, values in _by_replicate(found)]
        return [predicted(name, what, source, expected, limits, known_to=0.03)]

    cases = {f"loss-{probability:g}": scenario(probability, run_s) for probability, run_s in probabilities.items()}
    return Check(name, lambda _: cases, rows)


def _by_replicate(found: Sequence[tuple[Floats, Floats]]) -> list[tuple[list[float], list[float]]]:
    replicates = range(len(found[0][0]))
    return [([x[one] for x, _ in found], [y[one] for _, y in found]) for one in replicates]


def _dctcp_comparison(*, flows: int, delay_us: int, threshold: int, run_ms: int, quick: bool = False) -> Check:
    name = f"dctcp-{flows}-{threshold}"
    rate_gbps = 10
    in_flight = round_trip_s(rate_gbps, delay_us) * rate_gbps * 1e9 / 8 / PACKET_BYTES
    alpha, swing, per_cycle = formulas.dctcp_cycle((in_flight + threshold) / flows, grows_while_marked=False)
    # The estimate must be steady (the paper asks for a g below 1.386 / √(2(C·RTT + K))); it starts near its end.
    dctcp = {"kind": "dctcp", "g": 1 / 4096, "initial_alpha": round(alpha, 4)}
    dctcp["initial_ssthresh"] = round(in_flight / flows)
    queue = {"kind": "ecn", "mark_above": f"{threshold * PACKET_BYTES}B"}
    scenario = one_receiver(flows, rate_gbps, delay_us, dctcp, queue, {"seeds": 5, "max_time": f"{run_ms}ms"})
    scenario["measure"] = {"series_interval": f"{delay_us / 10}us"}
    packet_us = PACKET_BYTES * 8 / rate_gbps / 1e3

    def rows(results: Mapping[str, Results]) -> list[Row]:
        saws = [saw(samples, run_ms * 1e6 / 2, flows * swing) for samples in queue_samples(results[name])]
        amplitude, period = flows * swing, flows * per_cycle * packet_us
        round_trip = (in_flight + threshold) * packet_us
        case = f"DCTCP, {flows} flows, C·RTT = {in_flight:.0f} and K = {threshold} packets"
        source = "Alizadeh et al. 2010 §3.3, with RFC 3168 §6.1.2"
        return [
            predicted(
                f"{name}-amplitude",
                f"{case}: the queue's swing in packets, give or take one per flow",
                source,
                (amplitude - flows, amplitude + flows),
                [one[0] for one in saws],
                known_to=0.05,
            ),
            predicted(
                f"{name}-period",
                f"{case}: the saw's period in us, give or take a round trip",
                source,
                (period - round_trip, period + round_trip),
                [one[1] for one in saws],
                known_to=0.05,
            ),
        ]

    return Check(name, lambda _: {name: scenario}, rows, quick=quick)


def queue_samples(results: Results) -> list[pl.DataFrame]:
    """For each seed the samples of the port to host 0."""
    ports = results.to_polars("ports").filter(node="switch0", peer="host0").select("seed", "port")
    samples = results.to_polars("series").join(ports, on=["seed", "port"]).sort("seed", "time_ns")
    return samples.partition_by("seed", maintain_order=True)


def saw(samples: pl.DataFrame, from_ns: float, swing: float) -> tuple[float, float]:
    """The mean height in packets and the mean period in us of a queue's teeth that are about `swing` packets high."""
    samples = samples.filter(pl.col("time_ns") >= from_ns)
    queue = samples["queue_bytes"].to_numpy() / PACKET_BYTES
    times = samples["time_ns"].to_numpy() / 1e3
    middle = float(quantiles(queue, [0.1, 0.9]).mean())
    # A tooth begins as the queue comes from well below the middle to well above it.
    starts: list[int] = []
    is_low = False
    for index, packets in enumerate(queue):
        if packets < middle - swing / 4:
            is_low = True
        elif packets > middle + swing / 4 and is_low:
            is_low = False
            starts.append(index)
    teeth = [queue[first:last] for first, last in pairwise(starts)]
    if not teeth:
        return math.nan, math.nan
    height = float(np.mean([tooth.max() - tooth.min() for tooth in teeth]))
    return height, float(times[starts[-1]] - times[starts[0]]) / len(teeth)


def _rcp_comparison(*, flows: int, target: float, quick: bool = False) -> Check:
    name = f"rcp-{flows}-{target:g}"
    rate_gbps, delay_us, run_ms, settled_ms = 10, 250, 500, 300
    rcp = {"kind": "rcp", "target": target}
    scenario = one_receiver(flows, rate_gbps, delay_us, rcp, "drop-tail", {"seeds": 5, "max_time": f"{run_ms}ms"})
    scenario["measure"] = {"series_interval": "1ms"}

    def rows(results: Mapping[str, Results]) -> list[Row]:
        ports = (
            results[name].to_polars("ports").filter(pl.col("node").str.starts_with("host"), pl.col("node") != "host0")
        )
        series = results[name].to_polars("series").join(ports.select("seed", "port"), on=["seed", "port"])
        series = series.filter(pl.col("time_ns") >= settled_ms * 1e6, pl.col("time_ns") < (run_ms - 1) * 1e6)
        rate = pl.col("tx_bytes").mean() * 8 / 1e6
        rates = series.group_by("seed", "port", maintain_order=True).agg(rate.alias("gbps"))
        per_seed = rates.group_by("seed", maintain_order=True)
        expected = target * rate_gbps / flows
        ends = {"least": pl.col("gbps").min(), "greatest": pl.col("gbps").max()}
        # What waits at the end of a round trip is taken back in the next: y = φC − (β/α) q/d, a packet or two in all.
        waiting = 2 * PACKET_BYTES * 8 / (4 * delay_us * 1e3)
        return [
            predicted(
                f"{name}-{which}",
                f"RCP, {flows} flows for {target:g} of a link: the {which} rate of a flow in Gb/s",
                "fixed point R = (φC − (β/α) q/d) / N with q up to 2 packets; Dukkipati 2008 §2.2",
                (expected - waiting / flows, expected),
                per_seed.agg(end.alias("gbps"))["gbps"].to_list(),
                known_to=0.01,
            )
            for which, end in ends.items()
        ]

    return Check(name, lambda _: {name: scenario}, rows, quick=quick)
