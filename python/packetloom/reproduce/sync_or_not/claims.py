"""Claims SA1 to SA9: what "To sync or not to sync" (2018) says, what we measure of it, and what counts as holding."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.measure import NO_LIMIT, Interval, Runs, below, interval_of, listed, per_case
from packetloom.reproduce.readings import unless_it_hangs
from packetloom.reproduce.sync_or_not import measure

OCF, MMF, SRJF, ASY = "SYN OCF", "SYN MMF", "SYN SRJF", "ASY"
BUSY = 0.8
ABOVE_ONE = (1.0, NO_LIMIT)
PATTERN = {"incast": "incast", "throughput": "uniform", "uniform": "uniform"}

ONE_PACKET = (
    "A slot takes one packet: in §II-A a matched server sends its head-of-line packet, and §III-C gives only the "
    "slot's length. Beside the verdict a slot takes as many packets as fit (`pack = true`)."
)


def fairness(runs: Runs) -> list[Measured]:
    """SA1: the paper does not say of which throughput, over whom and over what time its index is."""
    by_reading = {}
    for name, jain in measure.JAINS.items():
        table = measure.of_flows(runs["uniform"], jain)
        loads = measure.loads_of(table)
        apart = {load: measure.at(table, ASY, load).value - measure.at(table, MMF, load).value for load in loads}
        busiest = max((load for load in loads if load >= 0.4), key=lambda load: abs(apart[load]))
        by_reading[name] = [
            Measured(f"{name}: ASY − SYN at {loads[0]:g}", apart[loads[0]], band=(-1.0, below(0.0)[1])),
            Measured(f"{name}: ASY − SYN at {busiest:g}, the largest from 0.4 on", apart[busiest], band=(-0.02, 0.02)),
        ]
    _, *others = by_reading.values()
    beside = [replace(one, decides=False) for numbers in others for one in numbers]
    return unless_it_hangs("what its index is of", by_reading, beside)


def incast_order(runs: Runs) -> Iterator[Measured]:
    """SA2: the mean and the variance of the FCT."""
    incast = runs["incast"]
    rising, falling = (SRJF, MMF, OCF), (OCF, MMF, SRJF)
    for name, of, order, decides in (
        ("mean", measure.mean_fct, falling, True),
        ("variance", measure.fct_variance, rising, True),
        ("mean of FCT / FCT alone", measure.mean_slowdown, falling, False),
        ("variance of FCT / FCT alone", measure.slowdown_variance, rising, False),
        ("coefficient of variation of the FCT", measure.fct_variation, rising, False),
    ):
        table = measure.of_flows(incast, of)
        for load in measure.loads_of(table):
            for more, less in itertools.pairwise(order) if load >= 0.6 else ():
                what = f"{name} {_short(more)}/{_short(less)} at {load:g}"
                yield verdict_or_beside(measure.ratio_of(table, more, less, load), what, ABOVE_ONE, decides=decides)


def throughput(runs: Runs) -> Iterator[Measured]:
    """SA3: what ends in a time is what started in it, if queues stay as they are; fairness beside."""
    for experiment in ("incast", "throughput"):
        carried = measure.carried_share(runs[experiment])
        for label in (OCF, MMF, SRJF):
            found = measure.at(carried, label, BUSY)
            yield found.measured(f"carried / offered, {PATTERN[experiment]}, {label} at {BUSY:g}", (0.98, 1.02))
    for experiment in ("incast", "uniform"):
        jain = measure.of_flows(runs[experiment], measure.jain)
        for load in measure.loads_of(jain):
            values = [measure.at(jain, label, load).value for label in (OCF, MMF, SRJF)]
            what = f"Jain's index, {PATTERN[experiment]} at {load:g}: largest − smallest"
            yield Measured(what, max(values) - min(values), decides=False)
        got_through = measure.of_flows(runs[experiment], measure.jain_of_throughput)
        values = [measure.at(got_through, label, BUSY).value for label in (OCF, MMF, SRJF)]
        what = f"Jain's index of bytes got through, {PATTERN[experiment]} at {BUSY:g}: largest − smallest"
        yield Measured(what, max(values) - min(values), decides=False)


def full_packets(runs: Runs) -> Iterator[Measured]:
    """SA4."""
    slowdown = measure.of_flows(runs["uniform"], measure.mean_slowdown)
    for load in measure.loads_of(slowdown):
        if 0.6 < load < BUSY:
            continue
        band = (0.75, 1.25) if load <= 0.6 else (0.0, 1.0)
        yield measure.ratio_of(slowdown, ASY, MMF, load).measured(f"ASY/SYN at {load:g}", band)


def bimodal(runs: Runs) -> Iterator[Measured]:
    """SA5, with one packet to a slot; and packed."""
    slowdown = measure.of_flows(runs["lengths"], measure.mean_slowdown)
    for label, rule, decides in (("SYN bimodal", "", True), ("SYN bimodal packed", ", packed", False)):
        ratios = {load: measure.ratio_of(slowdown, label, "ASY bimodal", load) for load in measure.loads_of(slowdown)}
        load = max(ratios, key=lambda load: ratios[load].value)
        yield verdict_or_beside(ratios[load], f"SYN/ASY at {load:g}{rule}", (10.0, NO_LIMIT), decides=decides)


def alternating(runs: Runs) -> Iterator[Measured]:
    """SA6: a flow's rate over its best."""
    cases = per_case(runs["alternating"], ("slowdown",))
    for scheme, decides in (("SYN", True), ("ASY", False)):
        shares = [
            (row.seed, float((1 / flows["slowdown"]).to_numpy().mean())) for row, flows in cases if row.label == scheme
        ]
        what = f"{scheme}'s throughput / what links carry"
        yield verdict_or_beside(interval_of(shares, scheme), what, (0.45, 0.60), decides=decides)


def facebook_web(runs: Runs) -> Iterator[Measured]:
    """SA7, with one packet to a slot; and packed."""
    slowdown = measure.of_flows(runs["lengths"], measure.mean_slowdown)
    low, *_, high = measure.loads_of(slowdown)
    for ending, rule, decides in (("", "", True), (" packed", ", packed", False)):
        web, bimodal = f"SYN FBW{ending}", f"SYN bimodal{ending}"
        for what, other, load, band in (
            ("SYN/ASY", "ASY FBW", low, (0.67, 1.5)),
            ("SYN/ASY", "ASY FBW", high, (10.0, NO_LIMIT)),
            ("FBW / bimodal", bimodal, high, (0.0, 1.0)),
        ):
            found = measure.ratio_of(slowdown, web, other, load)
            yield verdict_or_beside(found, f"{what} at {load:g}{rule}", band, decides=decides)


def buffers(runs: Runs) -> Iterator[Measured]:
    """SA8: the paper's change, and twice and half of it."""
    uniform = runs["uniform"]
    changes = {"servers": (-0.40, -0.80, -0.20), "leaves": (0.45, 0.225, 0.90), "spines": (1.00, 0.50, 2.00)}
    for where, (change, low, high) in changes.items():
        found = measure.ratio_of(measure.queue_mean_bytes(uniform, where), ASY, MMF, BUSY)
        yield found.measured(f"{where}: ASY / SYN (paper: {1 + change:g})", (1 + low, 1 + high))
    p99 = measure.at(measure.queue_p99_bytes(uniform, "spines"), ASY, BUSY)
    yield p99.measured("spines: ASY's p99, bytes", (3_750.0, 15_000.0))
    for where in changes:
        held = measure.ratio_of(measure.held_mean_bytes(uniform, where), ASY, MMF, BUSY)
        yield held.beside(f"{where}: ASY / SYN with the frame in service")
    unsettled = measure.at(measure.unsettled_share(uniform), ASY, BUSY)
    yield unsettled.beside("share of ASY's decisions that had not converged")
    rounds = measure.at(measure.rounds_per_decision(uniform), ASY, BUSY)
    yield rounds.beside("rounds per decision")
    yield from _given_out(runs)


def _given_out(runs: Runs) -> Iterator[Measured]:
    """By the share of links that ASY gives out, after as many rounds as it takes."""
    leaves, latency = (measure.given_out(runs["given-out"], of) for of in ("leaves", "network"))
    most = max(rounds for _, rounds in leaves)
    for share in sorted({share for share, _ in leaves}, reverse=True):
        yield leaves[share, most].beside(f"{share:g} given out: leaves, ASY / SYN")
        yield latency[share, most].beside(f"{share:g} given out: network latency p50, ASY / SYN")
    both = sum(1.225 <= leaves[key].value <= 1.9 and 1.3 <= latency[key].value <= 3.0 for key in leaves)
    yield Measured("settings that give SA8's leaves and SA9's latency both", both, decides=False)


def latencies(runs: Runs) -> Iterator[Measured]:
    """SA9."""
    uniform = runs["uniform"]
    median = measure.latency_ns(uniform, "network", "p50")
    yield measure.ratio_of(median, ASY, MMF, BUSY).measured("network latency p50, ASY/SYN", (1.3, 3.0))
    server, network = (measure.latency_ns(uniform, where, "mean") for where in ("server", "network"))
    for label in (MMF, ASY):
        share = measure.at(server, label, BUSY).value / measure.at(network, label, BUSY).value
        yield Measured(f"{label}: at servers / in the network", share, band=(1.0, NO_LIMIT))


def verdict_or_beside(found: Interval, what: str, band: tuple[float, float], *, decides: bool) -> Measured:
    """A number that decides, or one that stands beside."""
    return found.measured(what, band) if decides else found.beside(what)


def _short(label: str) -> str:
    return label.removeprefix("SYN ")


CLAIMS = (
    Claim(
        "SA1",
        "Jain's index, uniform traffic: ASY below SYN under load 0.2, both near 1 and equal above",
        "as stated",
        "difference of at most 0.02 from load 0.4 on; ASY lower at 0.1",
        ("uniform",),
        fairness,
        figures=("3",),
        explanation=(
            "Cause unknown. The paper does not say of which throughput its index is; with none of six is ASY "
            "below SYN at load 0.1."
        ),
    ),
    Claim(
        "SA2",
        "Incast: OCF has the highest mean FCT and the lowest variance, SRJF the lowest and the highest, MMF is between",
        "order",
        "order from load 0.6 on",
        ("incast",),
        listed(incast_order),
        figures=("4",),
        explanation=(
            "On one link with Poisson arrivals and exponential sizes, first come first served and equal shares "
            "have the same mean (M/M/1). Equal shares have 1.86 to 2.64 times the variance of first come first "
            "served, shortest first 0.63 to 1.02 times that of equal shares (`one-link.toml`). The paper's order "
            "is that of the coefficient of variation, which §III-C names."
        ),
    ),
    Claim(
        "SA3",
        "All orders reach the maximum throughput and the same fairness",
        "as stated",
        "throughput within 2 % of what is offered",
        ("incast", "throughput", "uniform"),
        listed(throughput),
        figures=("4",),
        choices=(
            "Throughput decides, as the paper does not say what its index of fairness is taken of. By shares of "
            "their best, SRJF's index is above the others', as without packets: 0.999 against 0.976 and 0.945 at "
            "loads 0.8 and 0.9 (`orders.toml`). By bytes delivered the orders are within 0.003."
        ),
    ),
    Claim(
        "SA4",
        "Full packets, uniform traffic: no significant difference in FCT; ASY lower at high load",
        "as stated",
        "within 25 % up to load 0.6; ASY lower from 0.8 on",
        ("uniform",),
        listed(full_packets),
        figures=("5",),
    ),
    Claim(
        "SA5",
        "Bimodal lengths: SYN's FCT over ASY's by more than an order of magnitude at high load",
        "> 10x",
        "at least 10x at some load up to 0.9",
        ("lengths",),
        listed(bimodal),
        figures=("6",),
        choices=ONE_PACKET,
    ),
    Claim(
        "SA6",
        "A full packet and a short one in turn cut SYN's throughput to about a half",
        "about 50 %",
        "45-60 %",
        ("alternating",),
        listed(alternating),
    ),
    Claim(
        "SA7",
        "Facebook web lengths: similar FCT at low load, SYN ten times larger at high load, less than bimodal",
        "as stated",
        "order",
        ("lengths",),
        listed(facebook_web),
        figures=("6",),
        choices="The slot is SA5's.",
        explanation=(
            "A packet of Facebook's fills less of a slot than a bimodal one (413 of 1500 B, 916 on average), so "
            "SYN is overloaded sooner. If a slot takes as many packets as fit, the order is the paper's."
        ),
    ),
    Claim(
        "SA8",
        "At load 0.8 with full packets: ASY's server buffers 40 % below SYN's, leaf buffers 45 % and spine buffers "
        "100 % above, with a p99 of 7.5 kB at spines",
        "as stated",
        "sign, and within a factor 2 of the size",
        ("uniform", "given-out"),
        listed(buffers),
        figures=("7-9",),
        explanation=(
            "ASY allocates all of each link, so leaves' queues cannot drain. If it allocates less, they hold "
            "less, but the median latency approaches SYN's, where SA9 has twice that. No share from 0.85 to 1 "
            "gives both (`given-out.toml`)."
        ),
    ),
    Claim(
        "SA9",
        "Network latency: ASY's median about twice SYN's; servers' queues dominate FCT in both",
        "as stated",
        "1.3x-3x",
        ("uniform",),
        listed(latencies),
        figures=("10",),
    ),
)
