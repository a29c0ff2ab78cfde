"""Claims RD1 to RD10: what papers on lossless Ethernet and RDMA say, what we measure of it, and what counts as holding.

They are stated as directions and comparisons; papers/rdma/README.md has the settings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import polars as pl

from packetloom.common.fairness import jain
from packetloom.common.percentiles import p99, quantile
from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.measure import (
    NO_LIMIT,
    PerSeed,
    Runs,
    axis_number,
    below,
    by_label,
    interval_of,
    listed,
    of_flows,
    ratio,
)
from packetloom.reproduce.rdma import measure
from packetloom.reproduce.rdma.measure import FROM_SWITCHES, RECEIVER
from packetloom.reproduce.readings import times_as_many
from packetloom.reproduce.samples import drained_after_ns, port_samples, rates_gbps

PFC, DCQCN, HPCC, TIMELY = "PFC alone", "DCQCN", "HPCC", "TIMELY"
SHARES = "max-min shares"
GO_BACK_N, GO_BACK_N_LOSSY = "go-back-N, PFC", "go-back-N, no PFC"
IRN, IRN_LOSSLESS = "IRN, no PFC", "IRN, PFC"
IRN_UNPAUSED, IRN_PATIENT = "IRN, PFC, ten times the buffer", "IRN, PFC, a longer timeout"
ONE_PACKET_BYTES = 1_000
SWIFT, SWIFT_FLOOR = "Swift", "Swift, one packet at least"
VICTIM = "host1"
TO_RECEIVER = pl.col("peer") == RECEIVER
LINE_GBPS = {"victim": 40.0, "incast": 100.0, "steady": 100.0, "swift": 100.0}
# Rates are those of the second half, when they have settled as far as they will.
SETTLED = 0.5
SHORT_BYTES = 3_000
LARGE_BYTES = 10_000_000
PACKET_BYTES = {HPCC: 1090, DCQCN: 1048, SHARES: 1048}
# Without queues, between two hosts of one switch: 4 x 1 us, and 2 payloads of 1000 B at 100 Gb/s.
ROUND_TRIP_NS = 4_160.0
DRAINED = 0.05
DECIDING_FAN_IN = 16
ETA = 0.95
# ECN or Delay §4: flows start at half the link of 10 Gb/s. TIMELY's and DCQCN's papers: at line rate.
PUBLISHED_FIRST_GBPS = (5.0, 10.0)
# In seven-and-three.toml.
SEVEN_GBPS_NS = {TIMELY: 7_920_000, "TIMELY, once a round trip": 580_000, "TIMELY, a rate for each 16 KB": 11_420_000}


def sharing(runs: Runs) -> Iterator[Measured]:
    """RD1."""
    shares = [(row, rates_gbps(samples, SETTLED)) for row, samples in measure.senders(runs["sharing"])]
    largest = measure.intervals((row, max(rates) / float(np.mean(rates))) for row, rates in shares)
    evenness = measure.intervals((row, jain(np.array(rates))) for row, rates in shares)
    yield largest[PFC].measured("PFC alone: largest / mean share", (1.5, NO_LIMIT))
    yield evenness[DCQCN].measured("DCQCN: Jain's index", (0.95, NO_LIMIT))
    yield evenness[PFC].beside("PFC alone: Jain's index")


def victim(runs: Runs) -> Iterator[Measured]:
    """RD2: the victim's share of its link, which nobody else uses, by the width of the incast beside it."""
    shares: dict[str, dict[float, PerSeed]] = {PFC: {}, DCQCN: {}}
    for row, samples in port_samples(runs["victim"], pl.col("node") == VICTIM):
        (rate,) = rates_gbps(samples, SETTLED)
        of_width = shares[row.scheme].setdefault(axis_number(row, "file"), [])
        of_width.append((row.seed, rate / LINE_GBPS["victim"]))
    means = {width: interval_of(found, PFC).value for width, found in sorted(shares[PFC].items())}
    yield Measured("PFC alone: least share", min(means.values()), band=(0.0, 0.6))
    widest, narrowest = means[max(means)], means[min(means)]
    yield Measured("PFC alone: share beside the widest / the narrowest", widest / narrowest, band=below(1.0))
    for scheme, by_width in shares.items():
        for width, found in sorted(by_width.items()):
            one, name = interval_of(found, scheme), f"{scheme}: share beside {width:g} senders"
            yield one.measured(name, (0.9, NO_LIMIT)) if scheme == DCQCN else one.beside(name)


def fewer_pauses(runs: Runs) -> Iterator[Measured]:
    """RD3: over all seeds together, as there are seeds without a pause."""
    pauses = measure.pauses(runs["user-traffic"], "pauses")
    totals = {scheme: sum(count for _, count in found) for scheme, found in pauses.items()}
    fewer = times_as_many(totals[PFC], totals[DCQCN], "a pause")
    yield Measured("pauses, PFC alone / DCQCN", fewer, band=(10.0, NO_LIMIT))
    for scheme in (PFC, DCQCN):
        yield interval_of(pauses[scheme], scheme).beside(f"{scheme}: pauses")


def queues(runs: Runs) -> Iterator[Measured]:
    """RD4: an incast's queue after its peak, and the switches' queues under web search."""
    drained: dict[tuple[str, float], PerSeed] = defaultdict(list)
    for row, samples in port_samples(runs["incast"], TO_RECEIVER):
        round_trips = drained_after_ns(samples, DRAINED) / ROUND_TRIP_NS
        drained[row.scheme, axis_number(row, "fan_in")].append((row.seed, round_trips))
    for (scheme, fan_in), found in drained.items():
        one, name = interval_of(found, scheme), f"{scheme}, {fan_in:g} senders: round trips until drained"
        decides = scheme == HPCC and fan_in == DECIDING_FAN_IN
        yield one.measured(name, (0.0, 5.0)) if decides else one.beside(name)
    for row, samples in port_samples(runs["first-windows"], TO_RECEIVER):
        first_windows = DECIDING_FAN_IN * axis_number(row, "initial_rate_gbps") / LINE_GBPS["incast"]
        round_trips = drained_after_ns(samples, DRAINED) / ROUND_TRIP_NS
        name = f"HPCC, first windows of {first_windows:g} BDPs together: round trips until drained"
        yield Measured(name, round_trips, decides=False)
    tail = by_label(
        (row, p99(samples["queue_bytes"].to_numpy()))
        for row, samples in port_samples(runs["web-search"], FROM_SWITCHES)
    )
    yield ratio(tail[HPCC], tail[DCQCN], HPCC).measured("web search: p99 queue, HPCC / DCQCN", (0.0, 0.1))
    for scheme in (HPCC, DCQCN):
        in_kb = [(seed, value / 1e3) for seed, value in tail[scheme]]
        yield interval_of(in_kb, scheme).beside(f"{scheme}: p99 queue, KB")


def headroom(runs: Runs) -> Iterator[Measured]:
    """RD5."""
    for row, samples in port_samples(runs["steady"], TO_RECEIVER):
        senders = f"{axis_number(row, 'fan_in'):g} long flows"
        (rate,) = rates_gbps(samples, SETTLED)
        yield Measured(f"{senders}: of the link", rate / LINE_GBPS["steady"], band=(ETA - 0.01, ETA + 0.01))
        waiting = samples.filter(pl.col("time_ns") >= SETTLED * pl.col("time_ns").max())["queue_bytes"]
        yield Measured(f"{senders}: mean queue, KB", float(waiting.to_numpy().mean()) / 1e3, decides=False)
    for experiment, load in (("low-load", "0.3"), ("alone", "0.02")):
        medians = by_label(of_flows(runs[experiment], ("size_bytes", "slowdown"), _median_of_large))
        # A slowdown is over the flow's own best; DCQCN's packets are shorter.
        over_best = {
            scheme: [(seed, value * PACKET_BYTES[scheme] / PACKET_BYTES[DCQCN]) for seed, value in found]
            for scheme, found in medians.items()
        }
        for scheme, found in over_best.items():
            one = interval_of(found, scheme)
            name = f"flows above 10 MB at load {load}: {scheme} / DCQCN's best case, median"
            decides = scheme == HPCC and experiment == "low-load"
            yield one.measured(name, (1.03, 1.10)) if decides else one.beside(name)
        if SHARES in over_best:
            over = ratio(over_best[HPCC], over_best[SHARES], HPCC)
            yield over.beside(f"flows above 10 MB at load {load}: HPCC / max-min shares, median")


def _median_of_large(flows: pl.DataFrame) -> float:
    return float(np.nanmedian(flows.filter(pl.col("size_bytes") > LARGE_BYTES)["slowdown"].to_numpy()))


def short_tail(runs: Runs) -> Iterator[Measured]:
    """RD6."""
    short = pl.col("size_bytes") <= SHORT_BYTES

    def tail(flows: pl.DataFrame) -> float:
        return quantile(flows.filter(short)["slowdown"].to_numpy(), 0.95)

    tails = by_label(of_flows(runs["web-search"], ("size_bytes", "slowdown"), tail))
    yield ratio(tails[DCQCN], tails[HPCC], DCQCN).measured("p95, DCQCN / HPCC", (3.0, NO_LIMIT))
    yield ratio(tails[TIMELY], tails[HPCC], TIMELY).measured("p95, TIMELY / HPCC", (1.0, NO_LIMIT))
    for scheme in (HPCC, DCQCN, TIMELY):
        yield interval_of(tails[scheme], scheme).beside(f"{scheme}: p95 of the slowdown")


def hardly_a_pause(runs: Runs) -> Iterator[Measured]:
    """RD7: over all seeds together."""
    paused = measure.pauses(runs["web-search-incast"], "paused_ns")
    totals = {scheme: sum(ns for _, ns in found) for scheme, found in paused.items()}
    share = times_as_many(totals[HPCC], totals[DCQCN], "a pause")
    yield Measured("paused time, HPCC / DCQCN", share, band=(0.0, 0.01))
    for scheme in (HPCC, DCQCN):
        yield interval_of([(seed, ns / 1e3) for seed, ns in paused[scheme]], scheme).beside(f"{scheme}: us paused")


def fixed_points(runs: Runs) -> Iterator[Measured]:
    """RD8: where two flows end up, by how much later the second one starts, and from which rate.

    First rates that the sources publish decide, ECN or Delay's own 7 and 3 Gb/s among them; the range over all of them
    stands beside.
    """
    evenness: dict[str, dict[tuple[float, float], float]] = defaultdict(dict)
    for row, samples in measure.senders(runs["starts"]):
        point = (axis_number(row, "start_ns") / 1e6, axis_number(row, "initial_rate_gbps"))
        evenness[row.scheme][point] = jain(np.array(rates_gbps(samples, SETTLED)))
    timely, dcqcn = (
        [value for (_, first_gbps), value in evenness[scheme].items() if first_gbps in PUBLISHED_FIRST_GBPS]
        for scheme in (TIMELY, DCQCN)
    )
    published = dict(_seven_and_three(runs))
    timely.append(published[TIMELY])
    yield Measured("TIMELY: range of Jain's index", max(timely) - min(timely), band=(0.15, NO_LIMIT))
    yield Measured("DCQCN: least Jain's index", min(dcqcn), band=(0.95, NO_LIMIT))
    for scheme, by_point in evenness.items():
        for which, value in (("least", min(by_point.values())), ("largest", max(by_point.values()))):
            yield Measured(f"{scheme}: {which} of Jain's index over starting points", value, decides=False)
    for scheme, value in published.items():
        yield Measured(f"{scheme}, from 7 and 3 Gb/s: Jain's index", value, decides=False)
    by_segment: dict[float, list[float]] = defaultdict(list)
    for row, samples in measure.senders(runs["segments"]):
        index = jain(np.array(rates_gbps(samples, SETTLED)))
        by_segment[axis_number(row, "ack_every")].append(index)
    for packets, found in sorted(by_segment.items()):
        yield Measured(f"TIMELY, a rate for each {packets:g} KB: least of Jain's index", min(found), decides=False)


def _seven_and_three(runs: Runs) -> Iterator[tuple[str, float]]:
    """Each scheme, at the start of the second flow at which the first one has come to 7 Gb/s."""
    for row, samples in measure.senders(runs["seven-and-three"]):
        if axis_number(row, "start_ns") == SEVEN_GBPS_NS[row.scheme]:
            yield row.scheme, jain(np.array(rates_gbps(samples, SETTLED)))


def recovery(runs: Runs) -> Iterator[Measured]:
    """RD9."""
    means = by_label(of_flows(runs["irn"], ("slowdown",), lambda flows: measure.mean(flows, "slowdown")))
    yield ratio(means[IRN], means[GO_BACK_N], IRN).measured("IRN / go-back-N with PFC", (0.0, 1.0))
    yield ratio(means[IRN_LOSSLESS], means[IRN], IRN).measured("IRN with PFC / without", (0.9, 1.1))
    for other in (IRN_UNPAUSED, IRN_PATIENT):
        yield ratio(means[other], means[IRN], IRN).beside(f"{other} / without PFC")
    of_one_packet = by_label(
        of_flows(runs["irn"], ("size_bytes", "slowdown"), lambda flows: measure.mean(_one_packet(flows), "slowdown"))
    )
    for scheme in (IRN_LOSSLESS, IRN_UNPAUSED):
        found = ratio(of_one_packet[scheme], of_one_packet[IRN], IRN)
        yield found.beside(f"flows of one packet: {scheme} / without PFC")
    found = ratio(means[GO_BACK_N_LOSSY], means[GO_BACK_N], GO_BACK_N)
    yield found.measured("go-back-N without PFC / with", (1.2, NO_LIMIT))
    for scheme, values in means.items():
        yield interval_of(values, scheme).beside(f"{scheme}: mean slowdown")


def _one_packet(flows: pl.DataFrame) -> pl.DataFrame:
    return flows.filter(pl.col("size_bytes") <= ONE_PACKET_BYTES)


def below_one_packet(runs: Runs) -> Iterator[Measured]:
    """RD10: the receiver's link in the second half, and the share of what came to its port that it dropped."""
    used: dict[float, float] = {}
    for row, samples in port_samples(runs["swift"], TO_RECEIVER):
        if row.scheme == SWIFT:
            (rate,) = rates_gbps(samples, SETTLED)
            used[axis_number(row, "fan_in")] = rate / LINE_GBPS["swift"]
    lost: dict[tuple[str, float], float] = {}
    for row, share in measure.of_ports(runs["swift"], ("peer", "drops", "tx_packets"), _lost_share):
        lost[row.scheme, axis_number(row, "fan_in")] = share
    for fan_in, share in sorted(used.items()):
        width = f"{fan_in:g}:1"
        yield Measured(f"{width}: of the link", share, band=(0.95, NO_LIMIT))
        most = lost[SWIFT_FLOOR, fan_in] / 10
        # Where nothing is lost with the floor either, there is nothing to compare.
        yield Measured(f"{width}: % lost", 100 * lost[SWIFT, fan_in], band=(0.0, 100 * most), decides=most > 0)
        yield Measured(f"{width}: % lost with a floor of one packet", 1_000 * most, decides=False)


def _lost_share(ports: pl.DataFrame) -> float:
    to_receiver = ports.filter(TO_RECEIVER)
    drops, sent = (float(to_receiver[name].to_numpy().sum()) for name in ("drops", "tx_packets"))
    return drops / (drops + sent)


DCQCN_PAPER = "DCQCN (SIGCOMM 2015)"
HPCC_PAPER = "HPCC (SIGCOMM 2019) §5.2"

CLAIMS = (
    Claim(
        "RD1",
        "PFC alone is unfair: of four senders to one receiver, the one with a switch port of its own gets more than "
        "those that share one; DCQCN gives equal shares",
        f"{DCQCN_PAPER} §2.2",
        "PFC: largest / mean share ≥ 1.5; DCQCN: Jain ≥ 0.95",
        ("sharing",),
        listed(sharing),
        ("RD1",),
        choices=(
            "Three senders share one uplink; the paper's testbed has two, between which ECMP draws. PFC shares a "
            "buffer by links: half of the receiver's for the one sender, a sixth for each of the three."
        ),
    ),
    Claim(
        "RD2",
        "a flow that does not cross the congested port loses throughput to PFC's pauses, more with a wider incast; "
        "not under DCQCN",
        f"{DCQCN_PAPER} §2.2",
        "victim ≤ 0.6 of its fair share at some width under PFC alone, and less beside more; ≥ 0.9 under DCQCN",
        ("victim",),
        listed(victim),
        ("RD2",),
        choices=(
            "Uplinks have room for all, so the victim's fair share is its whole link. Under PFC alone it gets "
            "what each sender of the incast gets."
        ),
    ),
    Claim(
        "RD3",
        "DCQCN removes most pauses of an incast beside user traffic",
        f"{DCQCN_PAPER} §6",
        "≥ 10 times fewer",
        ("user-traffic",),
        listed(fewer_pauses),
        choices=(
            "The paper's user traffic was not published: here it is web search, one flow at a time from each host."
        ),
    ),
    Claim(
        "RD4",
        "HPCC drains an incast's queue within a few round trips, DCQCN keeps it for long; over web search at 50 % its "
        "p99 queue is far smaller",
        HPCC_PAPER,
        "drained below 5 % of its peak in ≤ 5 RTTs; p99 queue ≤ 1/10 of DCQCN's",
        ("incast", "first-windows", "web-search"),
        listed(queues),
        ("RD4",),
        explanation=(
            "Sixteen first windows at line rate are what the link carries in sixteen round trips, so no sender "
            "can drain them sooner; DCQCN takes {DCQCN, 16 senders: round trips until drained|.1f}. With 1 to 8 "
            "windows in all HPCC's queue is gone after "
            "{HPCC, first windows of 1 BDPs together: round trips until drained|.1f} to "
            "{HPCC, first windows of 8 BDPs together: round trips until drained|.1f} round trips, with four senders "
            "after {HPCC, 4 senders: round trips until drained|.1f} (`first-windows.toml`)."
        ),
    ),
    Claim(
        "RD5",
        "HPCC holds links at eta with a queue near zero; long flows pay for that headroom",
        HPCC_PAPER,
        "0.95 ± 0.01 of the link; slowdown of the largest flows at low load 1.03 to 1.10 times DCQCN's best case",
        ("steady", "low-load", "alone"),
        listed(headroom),
        choices=(
            "Low load is 0.3, the lower of the two that HPCC's authors show. DCQCN's best case is the flow alone "
            "at line rate."
        ),
        explanation=(
            "At load 0.3 the largest flows share links under any scheme: max-min shares without queues take "
            "{flows above 10 MB at load 0.3: max-min shares / DCQCN's best case, median|.1f} times their best case, "
            "HPCC {flows above 10 MB at load 0.3: HPCC / max-min shares, median|.2f} times that. Alone, at load 0.02 "
            "(`alone.toml`), HPCC's headroom and headers cost "
            "{flows above 10 MB at load 0.02: HPCC / DCQCN's best case, median|.3f} times."
        ),
    ),
    Claim(
        "RD6",
        "short flows' tail at 50 % web search: HPCC far below DCQCN and TIMELY",
        f"{HPCC_PAPER}: up to 95 % lower",
        "p95 of flows up to 3 KB ≥ 3 times lower than DCQCN's, and below TIMELY's",
        ("web-search",),
        listed(short_tail),
        ("RD6",),
    ),
    Claim(
        "RD7",
        "HPCC hardly ever causes a pause",
        HPCC_PAPER,
        "≤ 1 % of DCQCN's paused time without a window, web search 50 % with incast",
        ("web-search-incast",),
        listed(hardly_a_pause),
    ),
    Claim(
        "RD8",
        "TIMELY has no unique fixed point: flows started apart keep unequal shares; DCQCN's converge",
        "ECN or Delay (CoNEXT 2016)",
        "over starting points Jain's range ≥ 0.15 for TIMELY, all ≥ 0.95 for DCQCN",
        ("starts", "segments", "seven-and-three"),
        listed(fixed_points),
        ("RD8",),
        choices=(
            "Flows start at 5 Gb/s, at 7 and 3 Gb/s as in ECN or Delay (`seven-and-three.toml`), or at line rate. "
            "TIMELY sets its rate at each acknowledgement, as its authors' code does. A flow that began at 3 has "
            "come to 7 when the other begins at 3, which DCQCN's never do."
        ),
    ),
    Claim(
        "RD9",
        "IRN without PFC beats go-back-N with PFC, and gains nothing from PFC; go-back-N without PFC is worst",
        "IRN (SIGCOMM 2018)",
        "mean slowdown: IRN ≤ go-back-N with PFC; IRN with PFC within 10 % of without; go-back-N without PFC ≥ 1.2 "
        "times with",
        ("irn",),
        listed(recovery),
        choices="Sizes between one packet and 200 KB are ours.",
        explanation=(
            "Where IRN is slower with PFC, pauses are the cause. With ten times the buffer PFC never pauses, and "
            "the slowdown is near that without PFC; a longer timeout changes nothing (`irn.toml`)."
        ),
    ),
    Claim(
        "RD10",
        "Swift keeps large incasts near its target by windows below one packet",
        "Swift (SIGCOMM 2020) §3",
        "100:1 and 1000:1: link ≥ 0.95 used, loss ≥ 10 times below that with a floor of one packet",
        ("swift",),
        listed(below_one_packet),
        choices=(
            "500 KB may wait, half of what 1000 packets need; senders start a microsecond apart, with one packet. "
            "At 100:1 nothing is lost with the floor either, so losses are compared at 1000:1."
        ),
    ),
)
