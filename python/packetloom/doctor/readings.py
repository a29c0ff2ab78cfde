"""Numbers that are read from what came of a situation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packetloom.common import fairness
from packetloom.doctor.situations import (
    DEAD_FLOW_BYTES,
    DEAD_FROM_MS,
    DEAD_UNTIL_MS,
    INCAST_BYTES,
    INCAST_SENDERS,
    LINK_GBPS,
    SAMPLE_US,
    SECOND_STARTS_MS,
)
from packetloom.store.outcome import Outcome

Numbers = NDArray[np.float64]
Outcomes = Mapping[str, Outcome]
"""What came of a situation's settings, by their names."""

PAYLOAD_BYTES, HEADER_BYTES = 1460, 40
"""Of a packet, in all schemes unless `--set` changes it."""
WITHIN, FAIR_FOR_MS = 0.1, 5
"""A flow has its fair share where its rate over so long is that, give or take so much of it."""
BOTTLENECK = ("leaf0", "spine0")


def port_of(outcome: Outcome, node: str, peer: str) -> int:
    """Where a port stands in `ports`."""
    ports = outcome.tables["ports"]
    return next(
        place for place, ends in enumerate(zip(ports["node"], ports["peer"], strict=True)) if ends == (node, peer)
    )


def of_port(outcome: Outcome, column: str, node: str, peer: str) -> float:
    """A column of `ports`."""
    return float(outcome.tables["ports"][column][port_of(outcome, node, peer)])


def samples(outcome: Outcome, column: str, node: str, peer: str) -> tuple[Numbers, Numbers]:
    """A column of `series` for a port, after the times of the samples in ms."""
    series = outcome.tables["series"]
    number = outcome.tables["ports"]["port"][port_of(outcome, node, peer)]
    of_it = np.asarray(series["port"]) == number
    return np.asarray(series["time_ns"])[of_it] / 1e6, np.asarray(series[column])[of_it].astype(float)


def rates(outcome: Outcome, node: str, peer: str) -> tuple[Numbers, Numbers]:
    """What a port sent, in Gb/s, headers included, after the times of the samples in ms.

    The last sample may be cut short, and is left out.
    """
    at, sent = samples(outcome, "tx_bytes", node, peer)
    return at[:-1], sent[:-1] * 8 / (SAMPLE_US * 1e3)


def smoothed(values: Numbers, count: int) -> Numbers:
    """The means of so many values in a row."""
    return np.convolve(values, np.full(count, 1 / count), mode="valid")


def only(outcomes: Outcomes) -> Outcome:
    """What came of the one setting that there is."""
    (outcome,) = outcomes.values()
    return outcome


def utilisation(outcomes: Outcomes) -> float:
    """The share of the time for which the bottleneck sent, the flow's beginning included."""
    return of_port(only(outcomes), "utilisation", *BOTTLENECK)


def mean_queue_bytes(outcomes: Outcomes) -> float:
    """The bottleneck's mean queue."""
    return of_port(only(outcomes), "queue_mean_bytes", *BOTTLENECK)


def p99_queue_bytes(outcomes: Outcomes) -> float:
    """The length that the bottleneck's queue did not exceed for 99 % of the time."""
    return of_port(only(outcomes), "queue_p99_bytes", *BOTTLENECK)


def shares(outcome: Outcome) -> tuple[Numbers, Numbers, Numbers]:
    """What the first and the second of two flows got in Gb/s, after the times in ms."""
    at, first = rates(outcome, "leaf1", "host2")
    return at, first, rates(outcome, "leaf1", "host3")[1]


def jain(outcomes: Outcomes) -> float:
    """Jain's index of what two flows got while both sent: 1 if it was the same, 0.5 if one got nothing."""
    at, *both = shares(only(outcomes))
    got = np.array([flow[at >= SECOND_STARTS_MS].sum() for flow in both])
    return fairness.jain(got) if got.any() else 0.0


def ms_until_fair(outcomes: Outcomes) -> float:
    """How long after its start the second flow's rate is within 10 % of half the link, on a mean over 5 ms; infinite
    if it never is."""
    at, _, second = shares(only(outcomes))
    since = at >= SECOND_STARTS_MS
    fair = LINK_GBPS / 2
    means = smoothed(second[since], FAIR_FOR_MS * 1000 // SAMPLE_US)
    found = np.flatnonzero(np.abs(means - fair) <= WITHIN * fair)
    return float(at[since][found[0]] - SECOND_STARTS_MS) if found.size else float("inf")


def wire_ms(size_bytes: int) -> float:
    """How long the bottleneck takes for the packets of so many bytes."""
    packets = -(-size_bytes // PAYLOAD_BYTES)
    return (size_bytes + packets * HEADER_BYTES) * 8 / LINK_GBPS / 1e6


def incast_over_ideal(outcomes: Outcomes) -> float:
    """How long an incast took from its start to the last byte, over what the receiver's link takes for all of it; the
    mean of all events."""
    flows = only(outcomes).tables["flows"]
    starts, took = np.asarray(flows["start_ns"]), np.asarray(flows["fct_ns"])
    slowest = np.array([took[starts == start].max() for start in np.unique(starts)]) / 1e6
    ideal = flows["best_fct_ns"].min() / 1e6 + (INCAST_SENDERS - 1) * wire_ms(INCAST_BYTES)
    return float(slowest.mean() / ideal)


def counter(name: str, outcomes: Outcomes) -> float:
    """A counter of the one setting that there is."""
    return float(only(outcomes).counters[name])


def goodput_share(outcomes: Outcomes) -> float:
    """A flow's goodput over the link's rate."""
    return mean_goodput_gbps(only(outcomes)) / LINK_GBPS


def mean_goodput_gbps(outcome: Outcome) -> float:
    """The flows' mean goodput in Gb/s."""
    return float(np.mean(outcome.tables["flows"]["goodput_gbps"]))


def sprayed_over_ecmp(outcomes: Outcomes) -> float:
    """The flows' mean goodput where packets are sprayed, over that under ECMP."""
    return mean_goodput_gbps(outcomes["sprayed"]) / mean_goodput_gbps(outcomes["ECMP"])


def ms_lost_beside_outage(outcomes: Outcomes) -> float:
    """How much later the last flow ended than it would have if the link had been busy whenever it was up."""
    flows: Mapping[str, Any] = only(outcomes).tables["flows"]
    ended = (np.asarray(flows["start_ns"]) + np.asarray(flows["fct_ns"])).max() / 1e6
    busy = flows["best_fct_ns"].min() / 1e6 + (len(flows["fct_ns"]) - 1) * wire_ms(DEAD_FLOW_BYTES)
    return float(ended - busy - (DEAD_UNTIL_MS - DEAD_FROM_MS))
