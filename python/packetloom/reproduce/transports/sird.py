"""Claims SI1 to SI8: SIRD in incasts, with a sender that two receivers share, and under W4 beside others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.measure import (
    NO_LIMIT,
    Interval,
    PerSeed,
    Runs,
    Statistic,
    above,
    below,
    by_label,
    chosen,
    interval_of,
    listed,
    mean,
    of_flows,
    ratio,
    tail,
    within,
)
from packetloom.reproduce.readings import Numbers, unless_it_hangs
from packetloom.reproduce.samples import largest_queues, port_samples
from packetloom.reproduce.transports.measure import largest, outstanding_credit
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

SIRD, SIMULATOR = "SIRD", "SIRD, its simulator's"
UNMARKED, NO_PRIORITIES = "SIRD, senders do not mark", "SIRD, no priorities"
LESS_BUDGET, MORE_BUDGET = "SIRD, budget 1.0 BDP", "SIRD, budget 2.5 BDP"
HOMA, DCPIM, EXPRESSPASS = "Homa", "dcPIM", "ExpressPass"
VARIANTS = (SIRD, SIMULATOR)
PACKET_BYTES, BDP_BYTES = 1_500, 100_000
# In sird-incast.toml: when the last byte came in the authors' simulator, all messages beginning at once.
LAST_NS = 431_918.0
# In sird-shared-sender.toml: the receivers, and since when windows have settled, as in the authors' simulator.
RECEIVERS = ("host8", "host16")
OF_RECEIVERS = pl.col("node").is_in(RECEIVERS) | pl.col("peer").is_in(RECEIVERS)
SETTLED_NS = 800_000.0
# Of sird-w4.toml: those of the lists which the authors' simulator ran, with 1.5 BDP, and beside others.
BUDGETS_AT, OTHERS_AT = 0.7, 0.85
SMALLEST = pl.col("size_bytes") <= 1_458
LARGE = pl.col("size_bytes") > 100_000
ByLoad = dict[float, dict[str, PerSeed]]


def asked(runs: Runs) -> Iterator[Measured]:
    """SI1."""
    results = runs["sird-incast"]
    queues = by_label(largest_queues(results))
    took = by_label(of_flows(results, ("fct_ns",), lambda flows: largest(flows["fct_ns"])))
    for scheme in VARIANTS:
        packets = [(seed, most / PACKET_BYTES) for seed, most in queues[scheme]]
        of_theirs = [(seed, ns / LAST_NS) for seed, ns in took[scheme]]
        yield _one(packets, f"{scheme}: largest queue, packets", (0.0, 30.0), decides=scheme == SIRD)
        what = f"{scheme}: last byte, over that of its authors' simulator"
        yield _one(of_theirs, what, within(1.0, 0.02), decides=scheme == SIRD)


def unasked(runs: Runs) -> Iterator[Measured]:
    """SI2."""
    queues = by_label(largest_queues(runs["sird-unasked"]))
    for scheme in VARIANTS:
        what = f"{scheme}: largest queue, KB"
        yield _one(_kilobytes(queues[scheme]), what, (120.0, 160.0), decides=scheme == SIRD)


def shared_sender(runs: Runs) -> Iterator[Measured]:
    """SI3: what both receivers have outstanding to it."""
    found: list[tuple[CaseRow, float]] = [
        (row, sum(_settled(ports, host) for host in RECEIVERS) / BDP_BYTES)
        for row, ports in port_samples(runs["sird-shared-sender"], OF_RECEIVERS)
    ]
    bands = {SIRD: (0.0, 1.6), UNMARKED: (1.9, NO_LIMIT)}
    for scheme, values in by_label(found).items():
        band = bands.get(scheme, (0.0, 1.6))
        yield _one(values, f"{scheme}: credit of both, BDPs", band, decides=scheme in bands)


def beside_homa(runs: Runs) -> Iterator[Measured]:
    """SI4."""
    for load, queues in _by_load(largest_queues(runs["sird-w4"])).items():
        for scheme in VARIANTS:
            times = ratio(queues[HOMA], queues[scheme], scheme)
            what = f"W4 at {load}: largest queue, {HOMA} / {scheme}"
            yield times.measured(what, (2.0, NO_LIMIT)) if scheme == SIRD else times.beside(what)
        for scheme in (SIRD, HOMA):
            yield interval_of(_kilobytes(queues[scheme]), scheme).beside(f"W4 at {load}, {scheme}: largest queue, KB")


def beside_dcpim(runs: Runs) -> Iterator[Measured]:
    """SI5: tails, and beside them queues, of which the claim is not judged here."""
    queues = _by_load(largest_queues(runs["sird-w4"]))
    for load, tails in _slowdowns(runs["sird-w4"], pl.lit(value=True), tail("slowdown")).items():
        times = _times(tails, SIRD, DCPIM)
        what = f"W4 at {load}: p99 slowdown, {SIRD} / {DCPIM}"
        yield times.measured(what, below(1.0)) if load == OTHERS_AT else times.beside(what)
        yield _times(queues[load], SIRD, DCPIM).beside(f"W4 at {load}: largest queue, {SIRD} / {DCPIM}")


def without_priorities(runs: Runs) -> Sequence[Measured]:
    """SI7."""
    large = _slowdowns(runs["sird-w4"], LARGE, mean("slowdown"))
    smallest = _slowdowns(runs["sird-w4"], SMALLEST, tail("slowdown"))
    by_reading: Mapping[str, Numbers] = {
        f"W4 at {load}": [
            ratio(large[load][NO_PRIORITIES], large[load][SIRD], SIRD).measured(
                f"W4 at {load}, above 100 KB: mean slowdown, without / with priorities", within(1.0, 0.1)
            ),
            ratio(smallest[load][NO_PRIORITIES], smallest[load][SIRD], SIRD).measured(
                f"W4 at {load}, one packet: p99 slowdown, without / with priorities", (2.0, NO_LIMIT)
            ),
        ]
        for load in large
    }
    _, *others = by_reading.values()
    return unless_it_hangs("the load", by_reading, [replace(one, decides=False) for two in others for one in two])


def budgets(runs: Runs) -> Iterator[Measured]:
    """SI8."""
    queues = _by_load(largest_queues(runs["sird-w4"]))
    last_end = of_flows(runs["sird-w4"], ("start_ns", "fct_ns"), lambda all: largest(all["start_ns"] + all["fct_ns"]))
    ends = _by_load(last_end)
    for load in queues:
        decides = load == BUDGETS_AT
        numbers: tuple[tuple[str, Interval, tuple[float, float]], ...] = (
            ("largest queue, 1.5 / 1.0 BDP", _times(queues[load], SIRD, LESS_BUDGET), above(1.0)),
            ("largest queue, 2.5 / 1.5 BDP", _times(queues[load], MORE_BUDGET, SIRD), (1.3, NO_LIMIT)),
            ("last end, 1.5 / 1.0 BDP", _times(ends[load], SIRD, LESS_BUDGET), below(1.0)),
            ("last end, 2.5 / 1.5 BDP", _times(ends[load], MORE_BUDGET, SIRD), below(1.0)),
        )
        for name, times, band in numbers:
            what = f"W4 at {load}: {name}"
            yield times.measured(what, band) if decides else times.beside(what)


def beside_expresspass(runs: Runs) -> Iterator[Measured]:
    """SI6: tails of all messages, and of the smallest beside them."""
    everything, smallest = (
        _slowdowns(runs["sird-w4"], which, tail("slowdown")) for which in (pl.lit(value=True), SMALLEST)
    )
    for load, tails in everything.items():
        times = _times(tails, EXPRESSPASS, SIRD)
        what = f"W4 at {load}: p99 slowdown, {EXPRESSPASS} / {SIRD}"
        yield times.measured(what, (5.0, NO_LIMIT)) if load == OTHERS_AT else times.beside(what)
        of_one = _times(smallest[load], EXPRESSPASS, SIRD)
        yield of_one.beside(f"W4 at {load}, one packet: p99 slowdown, {EXPRESSPASS} / {SIRD}")


def _settled(ports: pl.DataFrame, receiver: str) -> float:
    """What a receiver has outstanding, from when windows have settled until one of the messages has come."""
    came = ports.filter(pl.col("peer").is_in(RECEIVERS), pl.col("tx_bytes") > 0)
    ends = came.group_by("peer").agg(pl.col("time_ns").max())["time_ns"].min()
    during = outstanding_credit(ports, receiver).filter(pl.col("time_ns").is_between(SETTLED_NS, ends))
    return float(during["credit_bytes"].to_numpy().mean())


def _one(values: PerSeed, what: str, band: tuple[float, float], *, decides: bool) -> Measured:
    found = interval_of(values, what)
    return found.measured(what, band) if decides else found.beside(what)


def _times(values: dict[str, PerSeed], over: str, under: str) -> Interval:
    return ratio(values[over], values[under], over)


def _kilobytes(values: PerSeed) -> PerSeed:
    return [(seed, bytes_ / 1e3) for seed, bytes_ in values]


def _by_load(values: Iterable[tuple[CaseRow, float]]) -> ByLoad:
    found: ByLoad = defaultdict(lambda: defaultdict(list))
    for row, value in values:
        assert row.load is not None
        found[row.load][row.scheme].append((row.seed, value))
    return found


def _slowdowns(results: Results, which: pl.Expr, statistic: Statistic) -> ByLoad:
    return _by_load(of_flows(results, ("size_bytes", "slowdown"), chosen(which, statistic)))


PAPER = "SIRD"
ABSTRACT, MEASURED = f"{PAPER}, abstract", "their simulator"

CLAIMS = (
    Claim(
        "SI1",
        "an incast of scheduled or asked-for messages holds the receiver's ToR port short and the link full",
        f"{PAPER}, {MEASURED}: 50 of 100 KB, 18 packets, last byte after 431.9 us",
        "peak ≤ 30 packets; last finish within 2 %",
        ("sird-incast",),
        listed(asked),
        choices=(
            "Their 18 packets are due to their sort, which gives messages of one size another order with each credit; "
            "here the oldest goes first."
        ),
    ),
    Claim(
        "SI2",
        "an incast of unscheduled messages, each up to one BDP, queues their sum less what drains: 8 of 20 KB",
        f"{PAPER}, their code",
        "peak 120 to 160 KB",
        ("sird-unasked",),
        listed(unasked),
    ),
    Claim(
        "SI3",
        "informed overcommitment: a sender that two receivers share holds BDP + SThr of credit in all, so that a "
        "third sender can use the rest of either downlink",
        f"{ABSTRACT}; {MEASURED}: 137 KB",
        "sum ≤ 1.6 BDP with the mark, ≥ 1.9 BDP without",
        ("sird-shared-sender",),
        listed(shared_sender),
        ("SI3",),
        choices="Credit sent less what came for it: the mean from 0.8 ms until the first of the two messages has come.",
    ),
    Claim(
        "SI4",
        "balanced traffic at equal load: SIRD's peak ToR queue is far below Homa's",
        f"{ABSTRACT}: 12 times; {MEASURED}: 174 against 641 KB",
        "≥ 2 times lower on every W4 list",
        ("sird-w4",),
        listed(beside_homa),
        choices=(
            "Lists are drawn anew, 5000 messages at 0.5, 0.7 and 0.85 of the links, with headers. The abstract's 12 "
            "times are at the highest load that each carries, which is not run."
        ),
    ),
    Claim(
        "SI5",
        "against dcPIM: utilisation 9 % higher, buffering 43 % lower, tail latency 46 % lower",
        f"{ABSTRACT}; {MEASURED}: p99 of all flows 3.91 against 5.35",
        "tail: SIRD lower; not the buffering",
        ("sird-w4",),
        listed(beside_dcpim),
        choices=(
            "W4 at 0.85, of which their list is, but with SIRD's delays for both: dcPIM's list has 0.2 us a link. The "
            "paper's numbers are means over its own sets, and utilisation is not measured."
        ),
    ),
    Claim(
        "SI6",
        "against ExpressPass: tail latency about 10 times lower, utilisation up to 26 % higher",
        f"{ABSTRACT}; {MEASURED}: p99 of one packet 1.18 against 49.2",
        "p99 ≥ 5 times lower",
        ("sird-w4",),
        listed(beside_expresspass),
        choices=(
            "All messages of W4 at 0.85, of which their list is, with the constants that SIRD's authors gave "
            "ExpressPass. Utilisation is not measured."
        ),
    ),
    Claim(
        "SI7",
        "works without priorities: removing them costs little above one BDP, much in the tail of the smallest",
        ABSTRACT,
        "mean slowdown above 100 KB within 10 %; p99 of the smallest ≥ 2 times higher",
        ("sird-w4",),
        without_priorities,
        choices="The smallest are messages of one packet.",
    ),
    Claim(
        "SI8",
        "B trades queue for throughput: 1.0, 1.5, 2.5 BDP",
        f"{PAPER}, from memory; {MEASURED}: 198 KB at 1.5",
        "order of both; peak at 2.5 ≥ 1.3 times that at 1.5",
        ("sird-w4",),
        listed(budgets),
        choices="Throughput is when the last message of the list ends, at 0.7, of which their list is.",
    ),
)
