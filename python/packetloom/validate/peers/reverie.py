"""Reverie's admission in its authors' simulator: the settings of `validation/reverie_ns3/figures.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, agreement, drawn
from packetloom.validate.peers.figures import read_figures

SOURCE = "reverie_ns3/figures.toml"
POOL_BYTES, HEADROOM_BYTES = 1_000_000, 20_000
HOSTS_OF_A_QUEUE, HOSTS_OF_THE_BURST = 2, 10
BURST_BYTES = 83 * 1_500
BURST_FROM, BURST_UNTIL = "5ms", "5.5ms"
LOADED_UNTIL = "30ms"
LOADED_FROM_NS = 10_000_000
LOADED_PORTS = 4
LOSSLESS_CLASS = 3
# Sources start at multiples of a step, modulo a packet's time: figures.toml.
DRAWS, STEP_NS, PACKET_NS = 20, 60, 1_200


def reverie_comparisons() -> list[Check]:
    """All of them."""
    figures = read_figures(SOURCE)
    loaded = (_loaded(number, theirs) for number, theirs in enumerate(figures["loaded"]))
    return [*loaded, *(_burst(theirs) for theirs in figures["burst"])]


def scenario_of(
    gamma: float, queues: Sequence[Sequence[int]], bursts_to: int | None, until: str, draw: int = 0
) -> dict[str, Any]:
    """Hosts with a link of 10 Gb/s at one switch. The first are the ports' receivers; the others send all the time."""
    ports = len(queues) + (bursts_to is not None)
    of_queues = [one for one in queues for _ in range(HOSTS_OF_A_QUEUE)]
    flows = [
        (port, klass, "40MB", f"{number * draw * STEP_NS % PACKET_NS}ns")
        for number, (port, klass) in enumerate(of_queues)
    ]
    if bursts_to is not None:
        flows += [(bursts_to, 1, f"{BURST_BYTES}B", BURST_FROM)] * HOSTS_OF_THE_BURST
    workload = [
        {
            "sizes": {"kind": "constant", "size": size},
            "arrivals": "at-once",
            "pattern": {"kind": "pair", "src": ports + number, "dst": port},
            "class": klass,
            "start": start,
        }
        for number, (port, klass, size, start) in enumerate(flows)
    ]
    hosts = ports + len(flows)
    size = POOL_BYTES + hosts * HEADROOM_BYTES
    buffer = {"kind": "reverie", "size": f"{size}B", "gamma": gamma, "headroom": f"{HEADROOM_BYTES}B"}
    queue = {
        "kind": "egress",
        "scheduler": {"kind": "strict", "classes": LOSSLESS_CLASS + 1},
        "buffer": buffer,
        "flow_control": {"kind": "pfc", "lossless": [LOSSLESS_CLASS]},
    }
    # What is lost is not sent again before the run is over.
    transport = {"kind": "line-rate", "mss": "1500B", "header": "0B", "rto": "60ms"}
    return {
        "topology": {
            "kind": "rack",
            "hosts": hosts,
            "link": {"rate": "10Gbps", "delay": "1us"},
            "framing": "0B",
        },
        "workload": workload,
        "scheme": [{"name": "Reverie", "transport": transport, "queue": queue}],
        "run": {"seeds": 1, "max_time": until},
        "measure": {"series_interval": "2us", "by_class": True},
    }


def _loaded(number: int, theirs: Mapping[str, Any]) -> Check:
    gamma, queues = theirs["gamma"], theirs["queues"]
    loaded = " and ".join("lossless" if klass == LOSSLESS_CLASS else "lossy" for _, klass in queues)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = [_means(results[f"draw{draw}"]) for draw in range(DRAWS)]
        made = []
        for (port, klass), expected in zip(queues, theirs["mean_bytes"], strict=True):
            what = f"Reverie's authors, Reverie, gamma {gamma:g}, ports {loaded}: mean queue in bytes, port {port}"
            both = Draws(tuple(map(float, expected)), tuple(one[f"host{port}", klass] for one in found))
            made.append(drawn(what, what, SOURCE, both, MEAN_WITHIN))
        return made

    scenarios = {f"draw{draw}": scenario_of(gamma, queues, None, LOADED_UNTIL, draw) for draw in range(DRAWS)}
    return Check(f"reverie-{number}", lambda _: scenarios, rows, quick=number == 0)


def _means(results: Results) -> dict[tuple[str, int], float]:
    """The mean queue of each of the switch's ports by whom it leads to and class, once the queues are loaded."""
    samples = results.to_polars("classes").filter(pl.col("time_ns") >= LOADED_FROM_NS)
    ports = results.to_polars("ports").select("port", "node", "peer")
    means = samples.join(ports, on="port").group_by("node", "peer", "class").agg(pl.col("queue_bytes").mean())
    return {(peer, klass): mean for node, peer, klass, mean in means.iter_rows() if node.startswith("switch")}


def _burst(theirs: Mapping[str, Any]) -> Check:
    gamma = theirs["gamma"]
    scenario = scenario_of(gamma, [[port, 1] for port in range(LOADED_PORTS)], LOADED_PORTS, BURST_UNTIL)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        ports = results["reverie"].to_polars("ports").filter(pl.col("peer") == f"host{LOADED_PORTS}")
        what = f"Reverie's authors, Reverie, gamma {gamma:g}: packets dropped of a burst of 830 to an idle port"
        return [agreement(what, what, SOURCE, theirs["dropped_packets"], float(ports["drops"].sum()), MEAN_WITHIN)]

    return Check(f"reverie-burst-{gamma:g}", lambda _: {"reverie": scenario}, rows, quick=gamma > 0.9)
