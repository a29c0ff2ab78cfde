"""Claims HO1 to HO7: what Homa's authors say, what we measure of it, and what counts as holding."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from packetloom.common.percentiles import p99
from packetloom.reproduce.claims import Claim, Measured
from packetloom.reproduce.homa import measure
from packetloom.reproduce.homa.measure import LARGEST_JUDGED, WORKLOADS, bin_p99, in_class, published
from packetloom.reproduce.measure import (
    NO_LIMIT,
    Interval,
    PerSeed,
    Runs,
    above,
    below,
    interval_of,
    listed,
    per_case,
    ratio,
    within,
)
from packetloom.reproduce.samples import largest_queues
from packetloom.store.case_rows import CaseRow

HOMA, PFABRIC, PHOST, NDP = "Homa", "pFabric", "pHost", "NDP"
SMALL_BYTES = 1_461
# What a blind packet holds.
PACKET_BYTES = 1_442
# Messages that need grants and are short: whom a newcomer's level is for.
NEWCOMERS = (10_001, 100_000)
ByLoad = dict[float, PerSeed]


def slowdowns(runs: Runs) -> Iterator[Measured]:
    """HO1."""
    for experiment in WORKLOADS:
        means: dict[tuple[float, int, int], PerSeed] = defaultdict(list)
        tails: dict[tuple[float, int, int], PerSeed] = defaultdict(list)
        halves: ByLoad = defaultdict(list)
        for load, row, flows in measure.by_real_load(runs[experiment]):
            for of in published(experiment, load, HOMA):
                chosen = in_class(flows, of.low, of.high)
                if len(chosen):
                    mean = chosen.mean()
                    assert isinstance(mean, float)
                    means[load, of.low, of.high].append((row.seed, mean))
                    tails[load, of.low, of.high].append((row.seed, bin_p99(flows, of.low, of.high)))
            halves[load].append((row.seed, p99(measure.smallest_half(flows))))
        for load in halves:
            case = f"{experiment.upper()} at {load}"
            for of in published(experiment, load, HOMA):
                key = (load, of.low, of.high)
                if key in means:
                    name = f"{case}, {of.low} B to {min(of.high - 1, 10**9)} B"
                    decides = of.high <= LARGEST_JUDGED
                    yield _one(means[key], f"{name}: mean", within(of.mean, 0.15), decides)
                    yield _one(tails[key], f"{name}: p99", within(of.p99, 0.25), decides)
            yield _one(halves[load], f"{case}, the smaller half: p99", (0.0, 2.5), decides=True)


def _one(values: PerSeed, what: str, band: tuple[float, float], decides: bool) -> Measured:
    one = interval_of(values, what)
    return one.measured(what, band) if decides else one.beside(what)


def _p99_by_label(runs: Runs, experiment: str, low: int, high: int) -> dict[str, Interval]:
    found = defaultdict(list)
    for row, flows in per_case(runs[experiment], ("size_bytes", "slowdown")):
        found[row.label].append((row.seed, p99(in_class(flows, low, high))))
    return {label: interval_of(values, label) for label, values in found.items()}


def others(runs: Runs) -> Iterator[Measured]:
    """HO2."""
    tails = _p99_by_label(runs, "others", 1, SMALL_BYTES)
    homa = tails[HOMA].value
    yield Measured("p99 of small messages, Homa / pFabric", homa / tails[PFABRIC].value, band=(0.0, 1.3))
    for other in (PHOST, NDP):
        yield Measured(f"p99 of small messages, Homa / {other}", homa / tails[other].value, band=below(1.0))
    for label, tail in tails.items():
        yield tail.beside(f"{label}: p99")
    for transport in (HOMA, PFABRIC, PHOST):
        for of in published("w4", 0.8, transport)[:1]:
            yield Measured(f"{transport}: the authors' p99, {of.low} B to {of.high - 1} B", of.p99, decides=False)


def _carried(runs: Runs) -> tuple[dict[int, Interval], Interval]:
    of_levels: dict[int, PerSeed] = defaultdict(list)
    of_phost = []
    for row, share in measure.carried(runs["carried"]):
        levels = [value for name, value in row.parameters.items() if name.endswith("scheduled_levels")]
        if row.scheme == PHOST:
            of_phost.append((row.seed, share))
        else:
            of_levels[int(str(levels[0]))].append((row.seed, share))
    homa = {levels: interval_of(found, HOMA) for levels, found in sorted(of_levels.items())}
    return homa, interval_of(of_phost, PHOST)


def overcommitment(runs: Runs) -> Iterator[Measured]:
    """HO3."""
    homa, _ = _carried(runs)
    counts = list(homa)
    for fewer, more in pairwise(counts):
        gained = 100 * (homa[more].value - homa[fewer].value)
        yield Measured(f"carried with {more} rather than {fewer}, points", gained, band=above(0.0))
    for count, share in homa.items():
        yield share.beside(f"{count} granted at once: carried")


def _unscheduled_levels(row: CaseRow) -> int:
    return next(int(str(value)) for name, value in row.parameters.items() if name.endswith("unscheduled_levels"))


def levels(runs: Runs) -> Iterator[Measured]:
    """HO4, and the same of the messages that a packet holds, which is nearly all of them."""
    tails = _p99_by_levels(runs, math.inf)
    best = min(tail.value for tail in tails.values())
    yield Measured("p99 with one level / with the best number", tails[1].value / best, band=(2.0, NO_LIMIT))
    yield Measured("p99 with four levels / with the best number", tails[4].value / best, band=(0.0, 1.15))
    of_a_packet = _p99_by_levels(runs, PACKET_BYTES + 1)
    best = min(tail.value for tail in of_a_packet.values())
    for number, name in ((1, "one level"), (4, "four levels")):
        what = f"messages of a packet at most: p99 with {name} / with the best number"
        yield Measured(what, of_a_packet[number].value / best, decides=False)
    for number, tail in tails.items():
        yield tail.beside(f"{number} levels: p99")


def _p99_by_levels(runs: Runs, end_bytes: float) -> dict[int, Interval]:
    """By the number of unscheduled levels, of the messages of fewer than `end_bytes`."""
    found: dict[int, PerSeed] = defaultdict(list)
    for row, flows in per_case(runs["levels"], ("size_bytes", "slowdown")):
        found[_unscheduled_levels(row)].append((row.seed, p99(in_class(flows, 1, end_bytes))))
    return {number: interval_of(values, str(number)) for number, values in sorted(found.items())}


def more_load(runs: Runs) -> Iterator[Measured]:
    """HO5."""
    homa, phost = _carried(runs)
    most = max(share.value for share in homa.values())
    yield Measured("carried, Homa less pHost, points", 100 * (most - phost.value), band=(10.0, NO_LIMIT))
    yield Measured("Homa carried", most, decides=False)
    yield phost.beside("pHost carried")


def queues(runs: Runs) -> Iterator[Measured]:
    """HO6."""
    for experiment in WORKLOADS:
        loads = sorted({row.load for row in runs[experiment].rows() if row.load is not None})
        largest = largest_queues(runs[experiment])
        highest = [(row.seed, most / 1e3) for row, most in largest if row.load == loads[-1]]
        name = f"{experiment.upper()} at 0.8: largest queue before a host, KB"
        yield interval_of(highest, name).measured(name, (0.0, 250.0))


def newcomers(runs: Runs) -> Iterator[Measured]:
    """HO7, and beside it W3, and W4 with other windows, levels and tail boost."""
    for experiment, workload in (("fill", "W4"), ("fill-w3", "W3"), ("fill-why", "W4")):
        for scheme, by_fill in _newcomers_p99(runs, experiment).items():
            name = workload if scheme == HOMA else f"{workload}, {scheme}"
            what = f"{name}, p99 of messages of 10 to 100 KB: levels from the top / from the bottom"
            one = ratio(by_fill["top"], by_fill["bottom"], what)
            yield one.measured(what, (1.1, NO_LIMIT)) if name == "W4" else one.beside(what)
            if scheme == HOMA:
                for fill, values in by_fill.items():
                    yield interval_of(values, fill).beside(f"{name}, from the {fill}: p99")


def _newcomers_p99(runs: Runs, experiment: str) -> dict[str, dict[str, PerSeed]]:
    """By scheme, then by where levels are filled from, a value per seed."""
    found: dict[str, dict[str, PerSeed]] = defaultdict(lambda: defaultdict(list))
    for row, flows in per_case(runs[experiment], ("size_bytes", "slowdown")):
        fill = next(str(value) for name, value in row.parameters.items() if name.endswith("fill"))
        found[row.scheme][fill].append((row.seed, p99(in_class(flows, *NEWCOMERS))))
    return found


CLAIMS = (
    Claim(
        id="HO1",
        claim="Slowdown by size at loads 0.5 and 0.8, five workloads: the authors' own numbers",
        paper="Homa §5.2, figures 12 and 13; the authors' raw data",
        band="mean within 15 %, p99 within 25 % of theirs in classes up to 100 KB; p99 of the smaller half at most 2.5",
        needs=tuple(WORKLOADS),
        measure=listed(slowdowns),
        figures=("HO1",),
        explanation="W1 and W2 have few messages above 10 KB, and a short list has few of them at once.",
    ),
    Claim(
        id="HO2",
        claim="Small messages: about as good as with pFabric, better than with pHost and NDP",
        paper="Homa §5.2",
        band="p99 at most 1.3 times pFabric's; below pHost's and NDP's",
        needs=("others",),
        measure=listed(others),
        figures=("HO2",),
        explanation=(
            "The difference is pHost as YAPS has it: switches serve flows of up to eight packets first. Without "
            "that priority (`short_first = false` in `others.toml`) its p99 is "
            "{pHost, one class: p99|.1f} (authors: 3.9)."
        ),
        choices=(
            "W4 at 0.8, messages up to 1460 B; pFabric is `min-tcp` with 36 KB a port, pHost has 1 MB, NDP 8 packets."
        ),
    ),
    Claim(
        id="HO3",
        claim="Bandwidth lost to senders that do not answer falls with the number granted at once",
        paper="Homa §5.2, figure 16",
        band="the load carried rises at each of 1, 2, 4 and 7 scheduled levels (W4)",
        needs=("carried",),
        measure=listed(overcommitment),
        figures=("HO3",),
        choices=(
            "More is offered than fits. The load carried is that of links to hosts in the second half, without framing."
        ),
    ),
    Claim(
        id="HO4",
        claim="Unscheduled levels: one is not enough for small messages, beyond a few more gain little",
        paper="Homa §5.2, figure 17",
        band="W1: p99 with one level at least twice that of the best number; with four within 15 % of it",
        needs=("levels",),
        measure=listed(levels),
        figures=("HO4",),
        explanation=(
            "The p99 is that of the 1.7 % of messages longer than a packet, which gain nothing from more levels. "
            "For messages of one packet, p99 with one level is "
            "{messages of a packet at most: p99 with one level / with the best number|.2f} times that with the best "
            "number."
        ),
    ),
    Claim(
        id="HO5",
        claim="Homa carries more load than pHost",
        paper="Homa §5.2, figure 15",
        band="by at least 10 points of load",
        needs=("carried",),
        measure=listed(more_load),
        choices=(
            "W4, as in HO3: 1.3 of the links is offered for 24 ms (`--scale full`: 40 ms), both ours, and the "
            "second half counts. What is carried rises with the length. pHost is YAPS's."
        ),
    ),
    Claim(
        id="HO6",
        claim="The largest queue before a host stays far below what switches have",
        paper="Homa §5.2, table 1: 146 KB",
        band="at most 250 KB at 80 % load, W1 to W5",
        needs=tuple(WORKLOADS),
        measure=listed(queues),
    ),
    Claim(
        id="HO7",
        claim="Scheduled levels from the lowest up: a newcomer preempts at once",
        paper="Homa §3.4",
        band="its p99 rises by at least 10 % with levels filled from the top",
        needs=("fill", "fill-w3", "fill-why"),
        measure=listed(newcomers),
        explanation=(
            "A newcomer waits only for what the displaced message has in flight at their common level: a window "
            "of at most 10 KB, or 8 us. With windows of 40 KB the ratio is "
            "{W4, window of 40 KB, p99 of messages of 10 to 100 KB: levels from the top / from the bottom|±.1f}; "
            "without the tail boost it is "
            "{W4, no tail boost, p99 of messages of 10 to 100 KB: levels from the top / from the bottom|.2f}, with 15 "
            "levels {W4, 15 granted levels, p99 of messages of 10 to 100 KB: levels from the top / from the "
            "bottom|.2f} (`fill-why.toml`)."
        ),
        choices="W4 at 0.8, where nearly all bytes are granted; newcomers are messages of 10 to 100 KB.",
    ),
)
