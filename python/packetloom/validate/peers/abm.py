"""Dynamic thresholds and ABM in their authors' queue disc: the settings of `validation/abm_ns3/figures.toml`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import MEAN_WITHIN, Deviation, agreement
from packetloom.validate.peers.figures import read_figures

SOURCE = "abm_ns3/figures.toml"
# Of 10 Gb/s each: so many hosts are a source of theirs.
HOSTS_OF_A_SOURCE, HOSTS_OF_THE_BURST = 2, 10
BURST_BYTES = 125_000
BURST_FROM, BURST_UNTIL = "5ms", "5.5ms"
LOADED_UNTIL = "10ms"
LOADED_FROM_NS = 8_000_000
# Ours over theirs of class 1 where a port's two classes are loaded with alphas 1 and 0.5, and nothing else is.
JUMPS = Deviation(
    "A queue that sends just half of its port's packets in an interval has half the threshold, with a packet less the "
    "whole one, so the mean depends on when sources start: where those of class 1 start 0, 0.3, 0.6, 1, 7, 20, 37 and "
    "61 us after the others, it is 188.8 to 198.8 kB",
    (1.0, 1.053),
    measured=True,
    always=False,
)


def abm_comparisons() -> list[Check]:
    """All of them."""
    figures = read_figures(SOURCE)
    loaded = (_loaded(number, theirs) for number, theirs in enumerate(figures["loaded"]))
    return [*loaded, *(_burst(theirs) for theirs in figures["burst"])]


def scenario_of(
    rule: str, alphas: Sequence[float], queues: Sequence[Sequence[int]], bursts_to: int | None, until: str
) -> dict[str, Any]:
    """Hosts with a link of 10 Gb/s at one switch. The first are the ports' receivers; the others send all the time."""
    ports = max(port for port, _ in [*queues, *([] if bursts_to is None else [(bursts_to, 0)])]) + 1
    flows = [(port, klass, "20MB", "0s") for port, klass in queues for _ in range(HOSTS_OF_A_SOURCE)]
    if bursts_to is not None:
        flows += [(bursts_to, 0, f"{BURST_BYTES}B", BURST_FROM)] * HOSTS_OF_THE_BURST
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
    # What is lost is not sent again before the run is over.
    transport = {"kind": "line-rate", "mss": "1500B", "header": "0B", "rto": "20ms"}
    abm = {"kind": "abm", "size": "1MB", "alphas": list(alphas), "rule": rule}
    if rule == "abm":
        abm["interval"] = "80us"
    queue = {"kind": "egress", "scheduler": {"kind": "dwrr", "weights": [1, 1]}, "buffer": abm}
    return {
        "topology": {
            "kind": "rack",
            "hosts": ports + len(flows),
            "link": {"rate": "10Gbps", "delay": "1us"},
            "framing": "0B",
        },
        "workload": workload,
        "scheme": [{"name": rule, "transport": transport, "queue": queue, "nic": "drop-tail"}],
        "run": {"seeds": 1, "max_time": until},
        "measure": {"series_interval": "500ns", "by_class": True},
    }


def _title(rule: str, queues: Sequence[Sequence[int]]) -> str:
    """Such as `2 ports of class 0, 6 of class 1`."""
    both = [port for port, count in Counter(port for port, _ in queues).items() if count > 1]
    of_class = Counter(klass for port, klass in queues if port not in both)
    counted = [(len(both), "both classes"), (of_class[0], "class 0"), (of_class[1], "class 1")]
    parts = [f"{count} of {what}" for count, what in counted if count]
    name = "ABM" if rule == "abm" else "dynamic thresholds"
    return f"ABM's authors, {name}, ports: {', '.join(parts)}"


def _loaded(number: int, theirs: Mapping[str, Any]) -> Check:
    rule, queues = theirs["rule"], theirs["queues"]
    scenario = scenario_of(rule, theirs["alphas"], queues, None, LOADED_UNTIL)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        samples = results["abm"].to_polars("classes").filter(pl.col("time_ns") >= LOADED_FROM_NS)
        ports = results["abm"].to_polars("ports").select("port", "node", "peer")
        means = samples.join(ports, on="port").group_by("node", "peer", "class").agg(pl.col("queue_bytes").mean())
        found = {(peer, klass): mean for node, peer, klass, mean in means.iter_rows() if node.startswith("switch")}
        made = []
        for (port, klass), expected in zip(queues, theirs["mean_bytes"], strict=True):
            what = f"{_title(rule, queues)}: mean queue in bytes, port {port}, class {klass}"
            known = JUMPS if rule == "abm" and queues == [[0, 0], [0, 1]] and klass == 1 else None
            made.append(agreement(what, what, SOURCE, expected, found[f"host{port}", klass], MEAN_WITHIN, known))
        return made

    return Check(f"abm-{rule}-{number}", lambda _: {"abm": scenario}, rows, quick=rule == "abm")


def _burst(theirs: Mapping[str, Any]) -> Check:
    rule = theirs["rule"]
    loaded = [(port, 0) for port in range(4)]
    scenario = scenario_of(rule, [1, 0.5], loaded, len(loaded), BURST_UNTIL)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        ports = results["abm"].to_polars("ports").filter(pl.col("peer") == f"host{len(loaded)}")
        what = f"{_title(rule, loaded)}: packets dropped of a burst of 833 to an idle port"
        return [agreement(what, what, SOURCE, theirs["dropped_packets"], float(ports["drops"].sum()), MEAN_WITHIN)]

    return Check(f"abm-burst-{rule}", lambda _: {"abm": scenario}, rows)
