"""Claims LB1 to LB7: what papers on balancing load say, what we measure of it, and what counts as holding.

They are stated as directions and comparisons; papers/balance/README.md has the settings.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from packetloom.reproduce.balance import measure
from packetloom.reproduce.balance.measure import by_scheme, of_flows, share, total
from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.measure import (
    NO_LIMIT,
    Interval,
    Runs,
    above,
    below,
    between_leaves,
    chosen,
    interval_of,
    listed,
    mean,
    per_case,
    ratio,
    tail,
    within,
)

ECMP, LETFLOW, CONGA = "ECMP", "LetFlow", "CONGA"
CONWEAVE, LATER = "ConWeave", "ConWeave, later flushes"
CONWEAVE_COUNTS = {
    "conweave_reroutes": "reroutes",
    "conweave_held_packets": "packets held",
    "conweave_flushes": "flushes",
    "conweave_forced_flushes": "forced flushes",
}
HEDERA, FIRST_FIT = "Hedera", "Hedera, first fit"
DRILL, RANDOM, ROUND_ROBIN = "DRILL", "random spraying", "round robin"
OBLIVIOUS, REPS, IN_TURN = "oblivious", "REPS", "all paths in turn"
# In failed-link.toml and slow-link.toml, whose second leaf has the link.
HOSTS_PER_LEAF = 64
BETWEEN_LEAVES = between_leaves(HOSTS_PER_LEAF)
TO_SECOND_LEAF = BETWEEN_LEAVES & (pl.col("dst") >= HOSTS_PER_LEAF)
SHORT_BYTES = 100_000
DECIDING_LOAD = 0.8
# In dead-link.toml: a full packet, and when the link dies.
DATA_BYTES = 4160
DIED_NS = 100_000.0
REROUTED_US = 100.0


def flowlets(runs: Runs) -> Iterator[Measured]:
    """LB1: LetFlow against ECMP, over RDMA and over TCP."""
    slowdowns = of_flows(runs["rdma"], ("slowdown",), mean("slowdown"))
    yield ratio(slowdowns[LETFLOW], slowdowns[ECMP], LETFLOW).measured("RDMA: LetFlow / ECMP", within(1.0, 0.1))
    yield _tcp(runs, "slow-link", LETFLOW, BETWEEN_LEAVES).measured("TCP, a slow link: ECMP / LetFlow", (1.2, NO_LIMIT))
    moved = of_flows(runs["rdma"], ("path_changes",), share("path_changes"))
    yield interval_of(moved[LETFLOW], LETFLOW).beside("RDMA: % of flows that LetFlow ever moves")
    facing = _tcp(runs, "slow-link", LETFLOW, TO_SECOND_LEAF)
    yield facing.beside("TCP, flows to the leaf of the slow link: ECMP / LetFlow")


def _tcp(runs: Runs, experiment: str, scheme: str, which: pl.Expr) -> Interval:
    """ECMP's mean completion time over another's, of these flows."""
    found = of_flows(runs[experiment], ("src", "dst", "fct_ns"), chosen(which, mean("fct_ns")))
    return ratio(found[ECMP], found[scheme], scheme)


def failed_link(runs: Runs) -> Iterator[Measured]:
    """LB2."""
    yield _tcp(runs, "failed-link", CONGA, BETWEEN_LEAVES).measured("mean FCT, ECMP / CONGA", (1.5, NO_LIMIT))
    facing = _tcp(runs, "failed-link", CONGA, TO_SECOND_LEAF)
    yield facing.beside("flows to the leaf of the failed link: ECMP / CONGA")


def even_queues(runs: Runs) -> Iterator[Measured]:
    """LB3: how uneven a leaf's uplink queues are, and how many packets DRILL brings out of order."""
    spreads = by_scheme(measure.uneven(runs["drill"], DECIDING_LOAD))
    for other in (RANDOM, ECMP, ROUND_ROBIN):
        evenness = ratio(spreads[DRILL], spreads[other], DRILL)
        name = f"spread at load {DECIDING_LOAD:g}: DRILL / {other}"
        yield evenness.measured(name, below(1.0)) if other == RANDOM else evenness.beside(name)
    late = by_scheme(
        (row, measure.late_percent(flows))
        for row, flows in per_case(runs["drill"], ("reordered", "packets_sent"))
        if measure.load_of(row) == DECIDING_LOAD
    )
    for scheme in (DRILL, RANDOM, ROUND_ROBIN):
        one, name = interval_of(late[scheme], scheme), f"{scheme}: % of packets out of order"
        yield one.measured(name, above(0.0)) if scheme == DRILL else one.beside(name)
    for scheme, found in spreads.items():
        yield interval_of(found, scheme).beside(f"{scheme}: spread, KB")


def rerouting(runs: Runs) -> Iterator[Measured]:
    """LB4."""
    columns = ("slowdown", "size_bytes")
    tails = of_flows(runs["rdma"], columns, tail("slowdown"))
    for other in (ECMP, LETFLOW, CONGA):
        found = ratio(tails[other], tails[CONWEAVE], other)
        yield found.measured(f"p99 slowdown, {other} / ConWeave", (1.2, NO_LIMIT))
    late = of_flows(runs["rdma"], ("reordered",), total("reordered"))
    # Where packets are kept for so long that no flush is forced, none may be out of order.
    yield interval_of(late[LATER], LATER).measured(f"{LATER}: packets out of order", (0.0, 0.0))
    yield interval_of(late[CONWEAVE], CONWEAVE).beside(f"{CONWEAVE}: packets out of order")
    data = of_flows(runs["rdma"], ("packets_sent",), total("packets_sent"))
    yield interval_of(data[CONWEAVE], CONWEAVE).beside(f"{CONWEAVE}: packets")
    for name, what in CONWEAVE_COUNTS.items():
        for scheme, counts in measure.counted(runs["rdma"], name).items():
            yield interval_of(counts, scheme).beside(f"{scheme}: {what}")
    simulators = next(name for name in tails if name.startswith("CONGA,"))
    yield ratio(tails[simulators], tails[CONWEAVE], simulators).beside(f"p99 slowdown, {simulators} / ConWeave")
    short = pl.col("size_bytes") <= SHORT_BYTES
    for which, flows in (("up to 100 KB", short), ("above", short.not_())):
        of_size = of_flows(runs["rdma"], columns, chosen(flows, tail("slowdown")))
        yield ratio(of_size[CONGA], of_size[CONWEAVE], CONGA).beside(f"flows {which}: CONGA / ConWeave")
    yield from _web_search(runs)


def _web_search(runs: Runs) -> Iterator[Measured]:
    results = runs["rdma-web-search"]
    tails = of_flows(results, ("slowdown",), tail("slowdown"))
    for other in (ECMP, CONGA):
        yield ratio(tails[other], tails[CONWEAVE], other).beside(f"web search: {other} / ConWeave")
    for scheme, found in of_flows(results, ("reordered",), total("reordered")).items():
        if scheme.startswith(CONWEAVE):
            yield interval_of(found, scheme).beside(f"web search, {scheme}: packets out of order")


def spraying(runs: Runs) -> Iterator[Measured]:
    """LB5: until the last flow of a permutation has finished."""
    whole = of_flows(runs["permutation"], ("fct_ns",), measure.last)
    slow = of_flows(runs["slow-uplink"], ("fct_ns",), measure.last)
    for scheme in (one for one in whole if one.startswith(OBLIVIOUS)):
        variant = scheme.removeprefix(OBLIVIOUS)
        equal = ratio(whole[REPS + variant], whole[scheme], REPS)
        sooner = ratio(slow[scheme], slow[REPS + variant], REPS)
        names = f"whole fabric{variant}: REPS / oblivious", f"a slow uplink{variant}: oblivious / REPS"
        if variant:
            yield equal.beside(names[0])
            yield sooner.beside(names[1])
        else:
            yield equal.measured(names[0], within(1.0, 0.03))
            yield sooner.measured(names[1], (1.2, NO_LIMIT))
    if IN_TURN in whole:
        even = ratio(whole[REPS], whole[IN_TURN], REPS)
        yield even.beside(f"whole fabric: REPS / {IN_TURN}")
    for experiment, name in (("permutation", "whole fabric"), ("slow-uplink", "a slow uplink")):
        trims = of_flows(runs[experiment], ("trimmed",), total("trimmed"))
        for scheme in (OBLIVIOUS, REPS):
            yield interval_of(trims[scheme], scheme).beside(f"{name}, {scheme}: packets trimmed")


def dead_link(runs: Runs) -> Iterator[Measured]:
    """LB6: how long data goes into a link after it died."""
    of_links = measure.into_dead_link(runs["dead-link"])
    until = by_scheme((row, measure.last_data_us(of_link, DATA_BYTES, DIED_NS)) for row, of_link in of_links)
    bands = {REPS: (0.0, REROUTED_US), OBLIVIOUS: above(REROUTED_US)}
    for scheme, found in until.items():
        one, name = interval_of(found, scheme), f"{scheme}: us until the last data packet"
        yield one.measured(name, bands[scheme]) if scheme in bands else one.beside(name)


def hedera(runs: Runs) -> Iterator[Measured]:
    """LB7: what flows get, in the mean."""
    rates = of_flows(runs["hedera"], ("size_bytes", "fct_ns"), measure.mean_rate)
    yield ratio(rates[HEDERA], rates[ECMP], HEDERA).measured("mean rate of flows, Hedera / ECMP", (1.15, NO_LIMIT))
    yield ratio(rates[FIRST_FIT], rates[ECMP], FIRST_FIT).beside("Global First Fit / ECMP")
    for scheme, found in rates.items():
        yield interval_of(found, scheme).beside(f"{scheme}: mean rate of flows, Gb/s")


CONWEAVE_PAPER = "ConWeave (SIGCOMM 2023)"

CLAIMS = (
    Claim(
        "LB1",
        "paced RDMA has no flowlets: LetFlow then is ECMP; TCP gains from it where links differ",
        f"{CONWEAVE_PAPER} §2; LetFlow (NSDI 2017)",
        "RDMA: mean slowdown within 10 %; TCP, asymmetric, load 0.7: mean FCT ≥ 1.2 times lower",
        ("rdma", "slow-link"),
        listed(flowlets),
        ("LB1",),
        choices="One of eight links has half of its rate; flows between leaves count.",
        explanation=(
            "ECMP offers the slow link 28 Gb/s of its 20. Its queue grows as long as the run lasts, 100 ms at "
            "`quick` and 400 ms at `full`, and so does the ratio."
        ),
    ),
    Claim(
        "LB2",
        "CONGA against ECMP with a failed uplink",
        "CONGA (SIGCOMM 2014)",
        "mean FCT ≥ 1.5 times lower at load 0.7",
        ("failed-link",),
        listed(failed_link),
        ("LB1",),
        choices=(
            "Web search stands for the paper's enterprise sizes, which were not published; flows between leaves count."
        ),
        explanation=(
            "Under ECMP spine1 receives 56 Gb/s for the second leaf and can send 40. Its queue grows as long as "
            "the run lasts, 100 ms at `quick` and 400 ms at `full`."
        ),
    ),
    Claim(
        "LB3",
        "DRILL's queues are the most even; packets come out of order",
        "DRILL (SIGCOMM 2017)",
        "spread of uplink queues below random spraying's; reordering measured",
        ("drill",),
        listed(even_queues),
        ("LB3",),
        choices=(
            "The spread is the standard deviation of a leaf's uplink queues, averaged over time. Random spraying "
            'decides; the queues of round robin are more even than DRILL\'s, so "the most even" is false here.'
        ),
    ),
    Claim(
        "LB4",
        "ConWeave reroutes without reordering at hosts, and beats ECMP, LetFlow and CONGA under RDMA",
        CONWEAVE_PAPER,
        "no packet out of order but at a forced flush; p99 slowdown at 80 % load ≥ 1.2 times lower than each",
        ("rdma", "rdma-web-search"),
        listed(rerouting),
        ("LB4",),
        choices=(
            "Load 0.8 is ConWeave's authors': at the core, if no flow stayed in its leaf. Out of order counts "
            "where packets are kept for 1 ms more, so that no flush is forced."
        ),
        explanation=(
            "CONGA's tail is as low up to 100 KB, and higher above. The main cause: CONGA balances ACKs, which "
            "ConWeave's simulator leaves to ECMP. With `balances = \"data\"` CONGA's p99 is 1.07 times ConWeave's "
            "instead of 0.96, with all of that simulator's constants "
            "{p99 slowdown, CONGA, ConWeave's simulator's / ConWeave|±.2f} times (`rdma.toml`)."
        ),
    ),
    Claim(
        "LB5",
        "REPS equals spraying on a fabric that is whole and beats it where a link is slow",
        "REPS (2024)",
        "within 3 %; permutation with one uplink at half rate ≥ 1.2 times sooner than oblivious",
        ("permutation", "slow-uplink"),
        listed(spraying),
        ("LB5",),
        choices="Under Ultra Ethernet's NSCC with an acknowledgement for each packet, as in the paper.",
        explanation=(
            "A permutation fills the fabric, where random entropies collide more often than REPS's. With 16 "
            "spines instead of 8, REPS takes 0.9995 times as long as oblivious spraying (`permutation.toml`). "
            "Trimming is not the cause: with queues of 1 MB nothing is trimmed, and REPS is still 4.1 % faster."
        ),
    ),
    Claim(
        "LB6",
        "REPS's freezing turns away from a dead link in about a round trip",
        "REPS (2024): below 100 us",
        "time until the last packet is sent into it ≤ 100 us; oblivious spraying goes on",
        ("dead-link",),
        listed(dead_link),
        ("LB6",),
        choices=(
            "Data packets count, as acknowledgements do not choose their path. The run ends 900 us after the link died."
        ),
    ),
    Claim(
        "LB7",
        "Hedera against ECMP for long flows between random pairs",
        "Hedera (NSDI 2010)",
        "throughput ≥ 1.15 times",
        ("hedera",),
        listed(hedera),
        choices=(
            "By Simulated Annealing on 16 hosts; 25 MB a flow and a poll each 10 ms stand for the paper's endless "
            "flows and 5 s."
        ),
    ),
)
