"""Claims XP1 to XP7: ExpressPass in an incast, one and two long flows, a packet and a byte, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from packetloom.common.fairness import jain
from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.measure import (
    NO_LIMIT,
    PerSeed,
    Runs,
    below,
    by_label,
    interval_of,
    listed,
    of_flows,
    ratio,
    within,
)
from packetloom.reproduce.samples import largest_queues, port_samples
from packetloom.reproduce.transports.measure import (
    largest_of_switches,
    link_share,
    share_of_newcomer,
    since_when,
    to_receiver,
)
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

EXPRESSPASS = "ExpressPass"
SIRD_AUTHORS, FAT_TREE = "ExpressPass, SIRD's authors'", "ExpressPass, its fat tree's"
OTHER_WAYS, NO_EARLY_STOP = "ExpressPass, other ways back", "ExpressPass, no early stop"
NO_JITTER, ONE_SIZE = "ExpressPass, no jitter", "ExpressPass, no jitter, one size of credits"
DCTCP = "DCTCP"
PACKET_BYTES, WIRE_BYTES, CREDIT_WIRE_BYTES, PAYLOAD_BYTES = 1_500, 1_538, 84, 1_460
# Of expresspass-two.toml: since when there are two flows, from whom, and the round trip of the claim's source.
NEWCOMER_NS, FIRST, NEWCOMER = 4e6, "host8", "host16"
SLOW_RTT_NS, SLOW_GBPS = 35_000.0, 10.0
AVERAGED_RTTS = 5
FAIR = 0.8
# A lone flow has settled by then.
LONE_NS = (2e6, 2e6)
# Of expresspass-waste.toml: a round trip of a packet and its credit, and the packets that credits call for meanwhile.
FAST_RTT_NS, FAST_GBPS = 7_324.4, 100.0
BDP_PACKETS = FAST_RTT_NS * FAST_GBPS / 8 / (WIRE_BYTES + CREDIT_WIRE_BYTES)
LONE_BYTES, LONE_FLOWS = 10_000_000, 10
# Of expresspass-jitter.toml: since when shares are counted.
SHARED_SINCE_NS = 1e6


def incast(runs: Runs) -> Iterator[Measured]:
    """XP1: data that is lost is sent again."""
    results = runs["expresspass-incast"]
    lost = by_label(of_flows(results, ("retransmissions",), lambda flows: float(flows["retransmissions"].sum())))
    queues = by_label(largest_queues(results))
    for scheme in (EXPRESSPASS, SIRD_AUTHORS):
        packets = [(seed, bytes_ / PACKET_BYTES) for seed, bytes_ in queues[scheme]]
        numbers = (("data lost, packets", lost[scheme], (0.0, 0.0)), ("largest queue, packets", packets, (0.0, 100.0)))
        for name, values, band in numbers:
            found, what = interval_of(values, scheme), f"{scheme}: {name}"
            yield found.measured(what, band) if scheme == EXPRESSPASS else found.beside(what)


def convergence(runs: Runs) -> Iterator[Measured]:
    """XP2: how long the newcomer needs for its share, for good; and until it has it for the first time."""
    shares = [(row, _shares(ports)) for row, ports in port_samples(runs["expresspass-two"], _sends())]
    for_good = by_label((row, since_when(found, FAIR, NEWCOMER_NS)) for row, found in shares)
    at_first = by_label((row, since_when(found, FAIR, NEWCOMER_NS, for_good=False)) for row, found in shares)
    yield interval_of(_round_trips(for_good[FAT_TREE]), FAT_TREE).measured(f"{FAT_TREE}: RTTs", (0.0, 35.0))
    yield ratio(for_good[DCTCP], for_good[FAT_TREE], DCTCP).measured(f"{DCTCP} / {FAT_TREE}", (10.0, NO_LIMIT))
    for scheme in (EXPRESSPASS, DCTCP):
        yield interval_of(_round_trips(for_good[scheme]), scheme).beside(f"{scheme}: RTTs")
    for scheme in (FAT_TREE, EXPRESSPASS, DCTCP):
        yield interval_of(_round_trips(at_first[scheme]), scheme).beside(f"{scheme}: RTTs, for the first time")


def _sends() -> pl.Expr:
    return pl.col("node").is_in([FIRST, NEWCOMER])


def _shares(ports: pl.DataFrame) -> pl.DataFrame:
    return share_of_newcomer(ports, (FIRST, NEWCOMER), NEWCOMER_NS, AVERAGED_RTTS * SLOW_RTT_NS)


def _round_trips(values: PerSeed) -> PerSeed:
    return [(seed, took_ns / SLOW_RTT_NS) for seed, took_ns in values]


def lone(runs: Runs) -> Iterator[Measured]:
    """XP3."""
    on_wire = WIRE_BYTES / PACKET_BYTES
    found = by_label(
        (row, on_wire * link_share(port, *LONE_NS, SLOW_GBPS)) for row, port in to_receiver(runs["expresspass-two"])
    )
    yield interval_of(found[EXPRESSPASS], EXPRESSPASS).measured(f"{EXPRESSPASS}: of the link", within(0.948, 0.015))
    yield interval_of(found[FAT_TREE], FAT_TREE).beside(f"{FAT_TREE}: of the link")


def two_packets(runs: Runs) -> Iterator[Measured]:
    """XP4."""
    results = runs["expresspass-two-packets"]
    one, two = (_mean_times(results, size) for size in (PAYLOAD_BYTES, PAYLOAD_BYTES + 1))
    yield ratio(two, one, EXPRESSPASS).measured("FCT of 1461 B / of 1460 B", (5.0, NO_LIMIT))
    for size, times in ((PAYLOAD_BYTES, one), (PAYLOAD_BYTES + 1, two)):
        microseconds = [(seed, ns / 1e3) for seed, ns in times]
        yield interval_of(microseconds, EXPRESSPASS).beside(f"FCT of {size} B, us")


def _mean_times(results: Results, size_bytes: int) -> PerSeed:
    is_size = pl.col("size_bytes") == size_bytes

    def mean_ns(flows: pl.DataFrame) -> float:
        return float(flows.filter(is_size)["fct_ns"].to_numpy().mean())

    return by_label(of_flows(results, ("size_bytes", "fct_ns"), mean_ns))[EXPRESSPASS]


def paths(runs: Runs) -> Iterator[Measured]:
    """XP5: the largest queue of a switch."""
    found = by_label(largest_of_switches(runs["expresspass-paths"]))
    times = ratio(found[OTHER_WAYS], found[EXPRESSPASS], EXPRESSPASS)
    yield times.measured("largest queue, other ways back / the same", (5.0, NO_LIMIT))
    for scheme in (EXPRESSPASS, OTHER_WAYS):
        kilobytes = [(seed, bytes_ / 1e3) for seed, bytes_ in found[scheme]]
        yield interval_of(kilobytes, scheme).beside(f"{scheme}: largest queue, KB")


def waste(runs: Runs) -> Iterator[Measured]:
    """XP6."""
    found = by_label(_wasted(runs["expresspass-waste"]))
    bdps = [(seed, wasted / BDP_PACKETS) for seed, wasted in found[EXPRESSPASS]]
    yield interval_of(bdps, EXPRESSPASS).measured("wasted a flow, BDPs", (0.0, 1.5))
    stops = ratio(found[EXPRESSPASS], found[NO_EARLY_STOP], EXPRESSPASS)
    yield stops.measured("wasted, with early stop / without", below(1.0))
    for scheme in (EXPRESSPASS, NO_EARLY_STOP):
        yield interval_of(found[scheme], scheme).beside(f"{scheme}: wasted credits a flow")


def _wasted(results: Results) -> Iterator[tuple[CaseRow, float]]:
    """Credits a flow that came to the sender, for which it had no packet left; another packet answers its stop."""
    for row, table in results.partitions("ports", ("peer", "tx_packets")):
        to_sender = polars_frame(table).filter(pl.col("peer") == "host0")["tx_packets"].sum()
        yield row, float(to_sender) / LONE_FLOWS - 1 - -(-LONE_BYTES // PAYLOAD_BYTES)


def jitter(runs: Runs) -> Iterator[Measured]:
    """XP7: Jain's index of what each sent in the last 3 ms."""
    senders = port_samples(runs["expresspass-jitter"], pl.col("node").str.starts_with("host"))
    found = by_label((row, _evenness(ports)) for row, ports in senders)
    without = dict(found[NO_JITTER])
    less = [(seed, even - without[seed]) for seed, even in found[EXPRESSPASS]]
    yield interval_of(less, NO_JITTER).measured("Jain's index, with jitter less without", (0.05, NO_LIMIT))
    for scheme in (EXPRESSPASS, NO_JITTER, ONE_SIZE):
        yield interval_of(found[scheme], scheme).beside(f"{scheme}: Jain's index")


def _evenness(ports: pl.DataFrame) -> float:
    """Of the hosts that send data, not those that send credits or nothing."""
    late = ports.filter(pl.col("time_ns") >= SHARED_SINCE_NS, pl.col("node") != "host0")
    sums = late.group_by("node").agg(pl.col("tx_bytes").sum()).filter(pl.col("tx_bytes") > 0)
    return jain(sums["tx_bytes"].to_numpy().astype(np.float64))


PAPER = "ExpressPass"
ABSTRACT, MEASURED = f"{PAPER}, abstract", "their simulator"
NETWORK = "Constants are the paper's, links those of SIRD's authors, who ran it at 100 Gb/s."

CLAIMS = (
    Claim(
        "XP1",
        "no data loss, and a bounded, small data queue under incast",
        f"{ABSTRACT}; {MEASURED}: 8 of 500 KB, 9.2 KB",
        "zero drops; peak ≤ 100 packets for 31 of 500 KB",
        ("expresspass-incast",),
        listed(incast),
        choices=f"{NETWORK} Ports hold 250 packets, so that data could be lost.",
    ),
    Claim(
        "XP2",
        "two flows converge within a few RTTs; up to 80 times faster than DCTCP at 10 Gb/s, more at faster links",
        f"{ABSTRACT}; {MEASURED}: 24 RTTs",
        "0.8 of the fair share in ≤ 35 RTTs; DCTCP ≥ 10 times longer",
        ("expresspass-two",),
        listed(convergence),
        explanation=(
            "The newcomer first reaches 0.8 after {ExpressPass, its fat tree's: RTTs, for the first time|.0f} RTTs. "
            "Later its share varies by a tenth and falls below 0.8 again. Their simulator does both: 16 to 43 RTTs, "
            "626 or more for good (`validation/expresspass_ns2/convergence.csv`). DCTCP reaches 0.8 after "
            "{DCTCP: RTTs, for the first time|.0f} RTTs, then falls to 0.4 for long."
        ),
        choices=(
            "Constants are those of its authors' fat tree, of which the measured number and so the band is: a newcomer "
            "begins at half of the link. By the paper's it begins at a sixteenth: beside the verdict. The fair share "
            "is half of what both send, over five RTTs of 35 us, until it stays so or the run ends, 40 ms later. "
            "DCTCP's ports mark above 65 packets."
        ),
    ),
    Claim(
        "XP3",
        "a lone long flow gets 1538/1622 of the link, as credits cost 5 %",
        f"{PAPER}, their code",
        "94.8 % ± 1.5 % of line rate on the wire",
        ("expresspass-two",),
        listed(lone),
        choices="Constants are the paper's, at 10 Gb/s as its authors run it: from 2 to 4 ms of a flow's life.",
    ),
    Claim(
        "XP4",
        "small flows pay one and a half RTTs at least, and by the ramp min(1, n/40) much more: two packets wait for "
        "their second credit",
        f"{PAPER}, {MEASURED}: 1460 B 7.8 us, 1461 B 50.1 us",
        "ratio ≥ 5",
        ("expresspass-two-packets",),
        listed(two_packets),
        choices=f"{NETWORK} Means of 40 lone flows each in a rack.",
    ),
    Claim(
        "XP5",
        "without symmetric paths credits do not protect the data path",
        f"{PAPER}, their code",
        "with asymmetric ECMP the data queue ≥ 5 times larger",
        ("expresspass-paths",),
        listed(paths),
        choices=(
            f"{NETWORK} Each of 32 hosts sends 2 MB to another rack; the largest queue of any switch, whose ports hold "
            "all that comes, as theirs do."
        ),
    ),
    Claim(
        "XP6",
        "credit waste: about one RTT of credits a flow; early stop lowers it",
        f"{PAPER}, {MEASURED}",
        "wasted credits a flow ≤ 1.5 BDP in packets × rate share",
        ("expresspass-waste",),
        listed(waste),
        choices=f"{NETWORK} Lone flows of 10 MB, which have all of the link: their BDP is 56 packets.",
    ),
    Claim(
        "XP7",
        "jitter of credits is needed for fairness of drops",
        f"{PAPER}, from memory",
        "jitter 0: Jain's index of 8 equal flows lower than with 10 % by ≥ 0.05",
        ("expresspass-jitter",),
        listed(jitter),
        explanation=(
            "Feedback keeps flows even without jitter: the index is "
            "{ExpressPass, no jitter, one size of credits: Jain's index|.3f} with credits of one size, 0.974 in their "
            "simulator. With rates held there it is 1.00 with jitter, 0.5 without "
            "(`validation/expresspass_ns2/jitter.csv`)."
        ),
        choices=(
            f"{NETWORK} Eight endless flows that begin at once, by what each sent from 1 to 4 ms. Jitter is that of "
            "gaps between credits; sizes of credits are drawn all the same, but for one variant beside the verdict."
        ),
    ),
)
