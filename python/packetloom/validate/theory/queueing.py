"""Queueing theory: what waits at a port, what a full one turns away, and how long flows take that share a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from packetloom.scenario.plan import Scenario, Scheme
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.theory import formulas
from packetloom.validate.theory.replicates import predicted

LINK_BPS = 10e9
MSS_BYTES, HEADER_BYTES = 1460, 40
PAIR = {"kind": "pair", "src": 0, "dst": 1}


def seconds(wire_bytes: float) -> float:
    """How long the link takes for so many bytes."""
    return wire_bytes * 8 / LINK_BPS


def queueing_comparisons() -> list[Check]:
    """All of them."""
    return [
        _waiting_comparison(0.5, "constant", seeds=20, flows=60_000, quick=True),
        _waiting_comparison(0.8, "constant", seeds=20, flows=250_000),
        _waiting_comparison(0.5, "uniform", seeds=20, flows=100_000),
        _trimming_comparison(0.5, 2, quick=True),
        _trimming_comparison(0.7, 4),
        _trimming_comparison(0.9, 8),
        _sharing_comparison(0.5, quick=True),
        _sharing_comparison(0.8),
        _srpt_comparison(),
    ]


def one_port(sizes: Mapping[str, Any], flows_per_second: float, run: Mapping[str, Any]) -> Scenario:
    """One-packet flows through one 10 Gb/s port; the hosts' links are so fast that nothing waits there."""
    return Scenario(
        topology={
            "kind": "leaf-spine",
            "spines": 1,
            "leaves": 2,
            "hosts_per_leaf": 1,
            "host_link": {"rate": "1000Gbps", "delay": "0us"},
            "link": {"rate": "10Gbps", "delay": "1us"},
        },
        workload=[
            {"sizes": sizes, "arrivals": {"kind": "poisson", "rate_per_second": flows_per_second}, "pattern": PAIR}
        ],
        schemes=[{"name": "FIFO", "transport": "fixed-window", "queue": "drop-tail", "nic": "drop-tail"}],
        run=run,
    )


def _waiting_comparison(load: float, sizes: str, *, seeds: int, flows: int, quick: bool = False) -> Check:
    if sizes == "constant":
        model, described = "M/D/1", {"kind": "constant", "size": f"{MSS_BYTES}B"}
        wire_mean, wire_variance = float(MSS_BYTES + HEADER_BYTES), 0.0
    else:
        model, described = "M/G/1", {"kind": "uniform", "minimum": "100B", "maximum": f"{MSS_BYTES}B"}
        wire_mean, wire_variance = (100 + MSS_BYTES) / 2 + HEADER_BYTES, ((MSS_BYTES - 99) ** 2 - 1) / 12
    mean, second_moment = seconds(wire_mean), seconds(1) ** 2 * (wire_mean**2 + wire_variance)
    name = f"{model.replace('/', '')}-{load:g}".lower()
    scenario = one_port(described, load / mean, {"seeds": seeds, "flows": flows}).to_dict()
    scenario["measure"] = {"queues": True}

    def rows(results: Mapping[str, Results]) -> list[Row]:
        port = results[name].to_polars("ports").filter(node="leaf0", peer="spine0")
        # Little's law: what waits, over the rate at which it comes.
        simulated_us = results[name].to_polars("cases")["simulated_ns"] / 1e3
        waiting = (port["queue_mean_bytes"] * simulated_us / port["tx_bytes"]).to_list()
        expected = formulas.fifo_waiting(load, mean, second_moment) * 1e6
        what = f"{model} at load {load:g}: mean waiting time in us"
        return [predicted(name, what, "λE[S²] / 2(1 − ρ), Pollaczek and Khinchine", expected, waiting, known_to=0.02)]

    return Check(name, lambda _: {name: scenario}, rows, quick=quick)


def _trimming_comparison(load: float, room: int, *, quick: bool = False) -> Check:
    """Packets into NDP's short queue; the run ends before any that was trimmed can come again."""
    name = f"trimming-{load:g}-{room}"
    wire_bytes = 9064
    scenario = one_port({"kind": "constant", "size": "9000B"}, load / seconds(wire_bytes), {}).to_dict()
    scenario["topology"]["link"]["delay"] = "500ms"
    queue = {"kind": "ndp", "capacity": f"{room}packets", "count_service": True, "header_capacity": "1GB"}
    scenario["scheme"] = [
        {"name": "NDP", "transport": {"kind": "ndp", "rto": "10s"}, "queue": queue, "nic": "drop-tail"}
    ]
    scenario["run"] = {"seeds": 20, "duration": "500ms", "max_time": "500ms"}

    def rows(results: Mapping[str, Results]) -> list[Row]:
        port = results[name].to_polars("ports").filter(node="leaf0", peer="spine0")
        trimmed = (port["trims"] / port["tx_packets"]).to_list()
        what = f"trimming: share trimmed at load {load:g}, room for {room} packets"
        expected = formulas.finite_buffer_loss(load, room)
        return [predicted(name, what, "M/D/1/K, Gross and Harris §5.1.8", expected, trimmed, known_to=0.05)]

    return Check(name, lambda _: {name: scenario}, rows, quick=quick)


def rack_of_two(mean_bytes: int, load: float, schemes: Sequence[Scheme], run: Mapping[str, Any]) -> Scenario:
    """Flows of exponential sizes from one host to another."""
    mean_s = seconds(mean_bytes + HEADER_BYTES * (mean_bytes / MSS_BYTES + 0.5))
    return Scenario(
        topology={"kind": "rack", "hosts": 2, "link": {"rate": "10Gbps", "delay": "0.1us"}},
        workload=[
            {
                "sizes": {"kind": "exponential", "mean": f"{mean_bytes}B"},
                "arrivals": {"kind": "poisson", "rate_per_second": load / mean_s},
                "pattern": PAIR,
            }
        ],
        schemes=schemes,
        run=run,
    )


# A flow's bytes with headers over the rate; and its FCT without what crossing the switch takes, which no model has.
WORK_NS = (pl.col("size_bytes") + HEADER_BYTES * ((pl.col("size_bytes") + MSS_BYTES - 1) // MSS_BYTES)) * 8e9 / LINK_BPS
RESPONSE_NS = pl.col("fct_ns") - pl.col("best_fct_ns") + WORK_NS


def _sharing_comparison(load: float, *, quick: bool = False) -> Check:
    name = f"processor-sharing-{load:g}"
    mean_bytes = 876_000
    scenario = rack_of_two(
        mean_bytes,
        load,
        [Scheme(name="max-min", transport="max-min")],
        {"seeds": 30, "flows": 40_000, "warm_up": "20ms"},
    )

    def rows(results: Mapping[str, Results]) -> list[Row]:
        flows = results[name].to_polars().filter("measured").with_columns((RESPONSE_NS / WORK_NS).alias("slowdown"))
        expected = formulas.processor_sharing_slowdown(load)
        size = pl.col("size_bytes")
        parts = {"all flows": size > 0, "smaller than a fourth of the mean": size < mean_bytes / 4}
        parts["larger than twice the mean"] = size > 2 * mean_bytes
        return [
            predicted(
                f"{name}-{number}",
                f"M/M/1-PS under max-min at load {load:g}: mean slowdown, {which}",
                "1 / (1 − ρ), Kleinrock II §4.4",
                expected,
                _by_seed(flows.filter(part), pl.col("slowdown").mean()),
                known_to=0.05,
            )
            for number, (which, part) in enumerate(parts.items())
        ]

    return Check(name, lambda _: {name: scenario}, rows, quick=quick)


def _srpt_comparison() -> Check:
    load, packets = 0.7, 60
    schemes = [
        Scheme(name="Ideal", transport="ideal"),
        Scheme(name="pFabric", transport="line-rate", queue={"kind": "pfabric", "capacity": "22.5KB"}),
    ]
    scenario = rack_of_two(packets * MSS_BYTES, load, schemes, {"seeds": 20, "flows": 30_000})

    def rows(results: Mapping[str, Results]) -> list[Row]:
        flows = results["srpt"].to_polars().with_columns(RESPONSE_NS.alias("response"), WORK_NS.alias("work"))
        mean_response = pl.col("response").mean() / pl.col("work").mean()
        ideal = _by_seed(flows.filter(scheme="Ideal"), mean_response)
        pfabric = _by_seed(flows.filter(scheme="pFabric"), mean_response)
        packet = _by_seed(flows.filter(scheme="Ideal"), pl.col("work").mean() / seconds(MSS_BYTES + HEADER_BYTES) / 1e9)
        # The same flows under both: what they have in common goes out.
        excess = [(one - other) * size for one, other, size in zip(pfabric, ideal, packet, strict=True)]
        return [
            predicted(
                "srpt-ideal",
                f"M/M/1-SRPT, Ideal on one link at load {load:g}: mean response in mean service times",
                "Schrage and Miller 1966",
                formulas.srpt_response(load),
                ideal,
                known_to=0.02,
            ),
            predicted(
                "srpt-pfabric",
                f"LineRate+pFabric on one link at load {load:g}: mean response beyond Ideal's, in packet times",
                "a packet in service is not interrupted: who overtakes waits half a packet in the mean, so ρ/2 at most",
                (0.0, load / 2),
                excess,
                known_to=0.25,
            ),
        ]

    return Check("srpt", lambda _: {"srpt": scenario}, rows)


def _by_seed(flows: pl.DataFrame, statistic: pl.Expr) -> list[float]:
    values: list[float] = flows.group_by("seed", maintain_order=True).agg(statistic.alias("value"))["value"].to_list()
    return values
