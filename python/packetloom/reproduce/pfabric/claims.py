"""Claims PF1 to PF12: what pFabric's paper (HotNets 2012) says, what we measure of it, and what counts as holding.

Where the paper prints a number for small flows (small_flows.py), we take times as its ns-2 code does, to the last ACK
at the sender; everywhere else slowdown is packetloom's. papers/pfabric/README.md has the runs behind explanations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import polars as pl

from packetloom.reproduce.claims import Claim, Measured, NotComparable
from packetloom.reproduce.measure import (
    NO_LIMIT,
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
from packetloom.reproduce.pfabric import small_flows
from packetloom.reproduce.pfabric.measure import (
    DCTCP,
    IDEAL,
    LARGE,
    LINE_RATE,
    MEDIUM,
    MIN_TCP,
    PFABRIC,
    TCP,
    WORKLOADS,
    Slowdowns,
    short_name,
)
from packetloom.reproduce.pfabric.small_flows import HIGHEST_LOAD
from packetloom.stats.summary import ALL_SIZES
from packetloom.store.results import Results


def factor_better(runs: Runs) -> Iterator[Measured]:
    """PF1."""
    for workload, short in WORKLOADS.items():
        slowdowns = Slowdowns(runs[workload])
        for load in slowdowns.loads:
            for scheme in PFABRIC:
                ratio = slowdowns.ratio(TCP, scheme, load, ALL_SIZES, "mean")
                band = (2.5, NO_LIMIT) if load >= 0.6 else above(1.0)
                yield ratio.measured(f"{short} {load:g} TCP/{short_name(scheme)}", band)
                ratio = slowdowns.ratio(DCTCP, scheme, load, ALL_SIZES, "mean")
                yield ratio.measured(f"{short} {load:g} DCTCP/{short_name(scheme)}", above(1.0))
            ratio = slowdowns.ratio(TCP, DCTCP, load, ALL_SIZES, "mean")
            yield ratio.measured(f"{short} {load:g} TCP/DCTCP", above(1.0))


def close_to_ideal(runs: Runs) -> Iterator[Measured]:
    """PF6."""
    slowdowns = Slowdowns(runs["data-mining"])
    for load in slowdowns.loads:
        for bin in (MEDIUM, LARGE):
            ratio = slowdowns.ratio(LINE_RATE, IDEAL, load, bin, "mean")
            yield ratio.measured(f"{bin} at {load:g}", within(1.0, 0.15))


def web_search_elephants(runs: Runs) -> Iterator[Measured]:
    """PF8."""
    slowdowns = Slowdowns(runs["web-search"])
    load = HIGHEST_LOAD
    for other in (MIN_TCP, DCTCP, TCP):
        ratio = slowdowns.ratio(LINE_RATE, other, load, LARGE, "mean")
        yield ratio.measured(f"LineRate/{short_name(other)}", above(1.0))
    for other in (TCP, DCTCP):
        ratio = slowdowns.ratio(MIN_TCP, other, load, LARGE, "mean")
        yield ratio.measured(f"MinTCP/{short_name(other)}", (1.10, 1.40))


def workload_facts(runs: Runs) -> Iterator[Measured]:
    """PF9."""
    size, total = pl.col("size_bytes"), pl.col("size_bytes").sum()
    facts = {
        "data-mining-sizes": {
            "DM flows < 10 KB": ((size < 10e3).mean(), above(0.80)),
            "DM bytes in flows > 100 MB": (size.filter(size > 100e6).sum() / total, above(0.80)),
            "DM bytes in flows < 10 MB": (size.filter(size < 10e6).sum() / total, below(0.05)),
        },
        "web-search-sizes": {
            "WS flows of 1-20 MB": (size.is_between(1e6, 20e6).mean(), (0.295, 0.305)),
            "WS bytes in flows of 1-20 MB": (size.filter(size.is_between(1e6, 20e6)).sum() / total, above(0.95)),
            "WS bytes in flows < 10 MB": (size.filter(size < 10e6).sum() / total, above(0.65)),
        },
    }
    for run, wanted in facts.items():
        cases = per_case(runs[run], ("size_bytes",))
        for what, (expression, band) in wanted.items():
            values = [(row.seed, float(flows.select(expression).item())) for row, flows in cases]
            yield interval_of(values, what).measured(what, band)


def spraying_against_ecmp(runs: Runs) -> Iterator[Measured]:
    """PF10."""
    slowdowns, hashed = Slowdowns(runs["web-search"]), Slowdowns(runs["ecmp"])
    slowdowns.per_seed = pl.concat([slowdowns.per_seed, hashed.per_seed])
    for load in hashed.loads:
        for scheme in (TCP, DCTCP):
            ratio = slowdowns.ratio(f"{scheme}, ECMP", scheme, load, ALL_SIZES, "mean")
            yield ratio.measured(f"{short_name(scheme)} ECMP/spraying at {load:g}", above(1.0))


def best_timeouts(runs: Runs) -> Iterator[Measured]:
    """PF11: the paper's timeout against the best of the sweep."""
    slowdowns: dict[str, dict[str, dict[int | None, float]]] = defaultdict(dict)
    for row, flows in per_case(runs["timeouts"], ("slowdown",)):
        timeout_ns = next(value for name, value in row.parameters.items() if name.endswith("rto_ns") and value)
        timeout = f"{float(timeout_ns) / 1e3:g}us"
        mean = flows["slowdown"].mean()
        slowdowns[row.scheme].setdefault(timeout, {})[row.seed] = float(mean)  # type: ignore[arg-type]
    for scheme, printed in ((TCP, "200us"), (DCTCP, "200us"), (MIN_TCP, "40us"), (LINE_RATE, "40us")):
        by_timeout = slowdowns[scheme]
        best = min(by_timeout, key=lambda timeout: sum(by_timeout[timeout].values()))
        found = ratio(by_timeout[printed].items(), by_timeout[best].items(), scheme)
        yield found.measured(f"{short_name(scheme)} {printed} / best ({best})", (0.0, 1.05))


def deadlines_and_classes(runs: Runs) -> Iterator[Measured]:
    """PF12."""
    yield from _missed_deadlines(runs["deadlines"])
    yield from _class_shares(runs["classes"])


def _missed_deadlines(results: Results) -> Iterator[Measured]:
    missed: dict[tuple[float, str], dict[int | None, float]] = defaultdict(dict)
    for row, flows in per_case(results, ("met_deadline",)):
        met = flows["met_deadline"].cast(pl.Float64).mean()
        missed[row.load or 0.0, row.scheme][row.seed] = 1 - float(met)  # type: ignore[arg-type]
    for load in sorted({load for load, _ in missed}):
        edf = missed[load, "EDF"]
        for other in ("SRPT", TCP):
            theirs = missed[load, other]
            if not all(theirs.values()):
                raise NotComparable(f"{other} misses no deadline at load {load:g}: none can be fewer")
            found = ratio(edf.items(), theirs.items(), f"missed deadlines under {other} at load {load:g}")
            yield found.measured(f"missed, EDF/{short_name(other)} at {load:g}", below(1.0))


def _class_shares(results: Results) -> Iterator[Measured]:
    """Each class's part of the bytes that were complete when new flows stopped, over its weight's part."""
    shares: dict[tuple[str, int], PerSeed] = defaultdict(list)
    for row, flows in per_case(results, ("class", "size_bytes", "start_ns", "fct_ns")):
        complete = flows.filter(pl.col("start_ns") + pl.col("fct_ns") <= pl.col("start_ns").max())
        weights = [int(text) for text in row.scheme.removeprefix("weights ").split(":")]
        for number, weight in enumerate(weights):
            mine = int(complete.filter(pl.col("class") == number)["size_bytes"].sum())
            share = mine / int(complete["size_bytes"].sum())
            shares[row.scheme, number].append((row.seed, share / (weight / sum(weights))))
    for (scheme, number), values in shares.items():
        found = interval_of(values, scheme)
        yield found.measured(f"{scheme}, class {number}: share/weight", within(1.0, 0.05))


ENDS = (
    "The paper does not say which loads and workloads its range spans; every ratio at 10 % and at 80 % is compared "
    "with all of it."
)

CLAIMS = (
    Claim(
        "PF1",
        "overall mean slowdown: pFabric, both variants, below DCTCP, and DCTCP below TCP",
        "2.5 to 11 times lower, most at high load",
        "TCP at least 2.5 times pFabric at load ≥ 0.6; the order at every load",
        tuple(WORKLOADS),
        listed(factor_better),
        ("2",),
    ),
    Claim(
        "PF2",
        "(0, 100KB] mean slowdown: TCP and DCTCP against pFabric",
        "TCP 7-11 times, DCTCP 2.5-4 times",
        "within a factor 1.5 of the range",
        tuple(WORKLOADS),
        listed(small_flows.against_pfabric("sender's mean", {TCP: (7, 11), DCTCP: (2.5, 4)})),
        ("3", "4"),
        explanation=(
            "At low load the range contradicts the paper's own numbers: with PF4's mean of 1.04 and p99 of 1.68 "
            "at 10 %, TCP would need 7.3 and 55, DCTCP 2.6 and 12. The authors' published code has 4.9 and 32, "
            "1.6 and 5.3 at twice that load (`validation/ns2-data-mining.toml`)."
        ),
        choices=ENDS,
    ),
    Claim(
        "PF3",
        "(0, 100KB] p99 slowdown: TCP and DCTCP against pFabric",
        "TCP 33-69 times, DCTCP 7-17 times",
        "within a factor 1.5 of the range",
        tuple(WORKLOADS),
        listed(small_flows.against_pfabric("sender's p99", {TCP: (33, 69), DCTCP: (7, 17)})),
        ("3", "4"),
        explanation="As PF2.",
    ),
    Claim(
        "PF4",
        "data mining, (0, 100KB], LineRate, loads 0.1 and 0.8",
        "mean 1.04-1.25; p99 1.68-2.18",
        "±15 % at both ends",
        ("data-mining",),
        listed(small_flows.data_mining(LINE_RATE, (1.04, 1.25), (1.68, 2.18))),
        ("3",),
        explanation="As PF5. A flow that paces its packets at line rate loses none at its host's port.",
    ),
    Claim(
        "PF5",
        "data mining, (0, 100KB], MinTCP, loads 0.1 and 0.8",
        "mean 1.04-1.21; p99 1.90-2.12",
        "±15 % at both ends",
        ("data-mining",),
        listed(small_flows.data_mining(MIN_TCP, (1.04, 1.21), (1.90, 2.12))),
        ("3",),
        explanation=(
            "The paper's tail is of flows that lose packets at their own host's port. If small flows are handed "
            "over at once, every number is in its band (`windows-data-mining.toml`). The authors' published code "
            "has a largest window of 14 packets and no such tail: 1.42 at load 0.2, as here "
            "(`validation/ns2-data-mining.toml`)."
        ),
    ),
    Claim(
        "PF6",
        "data mining, medium and large flows: mean slowdown of LineRate against Ideal",
        "within about 10 % at every load",
        "within 15 %",
        ("data-mining",),
        listed(close_to_ideal),
        ("3",),
    ),
    Claim(
        "PF7",
        "web search at load 0.8, (0, 100KB] p99 slowdown",
        "LineRate 1.75; DCTCP 16.97; TCP 66.03",
        "±15 %; ±30 %; ±40 %",
        ("web-search",),
        listed(small_flows.web_search_tail),
        ("4",),
        explanation=(
            "DCTCP's queues still grow: its p99 is 11.6 from 30 to 100 ms, and 14.6 at `full`, after "
            "100 ms (`web-search.toml`)."
        ),
    ),
    Claim(
        "PF8",
        "web search at load 0.8, (10MB, ∞) mean slowdown",
        "LineRate worst; MinTCP 20-28 % slower than TCP and DCTCP",
        "the order; MinTCP 10-40 % slower",
        ("web-search",),
        listed(web_search_elephants),
        ("4",),
        explanation=(
            "Over the time of `full` (`large-flows.toml`) MinTCP is as much slower than DCTCP as the paper says. "
            "TCP waits for timeouts and takes 1.36 ± 0.05 times as long as equal shares without packets, MinTCP "
            "1.25 ± 0.10. In the authors' published code TCP's large flows are also slower than MinTCP's: 2.97 "
            "and 2.65 at load 0.5 (`validation/ns2-web-search.toml`)."
        ),
    ),
    Claim(
        "PF9",
        "what the workloads are made of",
        "DM: > 80 % of flows < 10 KB, > 80 % of bytes in flows > 100 MB, < 5 % in flows < 10 MB; "
        "WS: > 95 % of bytes in the 30 % of flows of 1-20 MB, > 65 % in flows < 10 MB",
        "as stated; 30 % to its last digit",
        ("data-mining-sizes", "web-search-sizes"),
        listed(workload_facts),
        explanation=(
            "The tables in the authors' code differ from the text (`workloads/README.md`). Web search's bytes in "
            "flows < 10 MB are 65.2 % in the table, within the error of a million drawn flows."
        ),
    ),
    Claim(
        "PF10",
        "TCP and DCTCP do better sprayed, without fast retransmit, than on per-flow ECMP with it",
        "significantly better",
        "the order (overall mean slowdown, web search at load 0.8)",
        ("web-search", "ecmp"),
        listed(spraying_against_ecmp),
    ),
    Claim(
        "PF11",
        "the best retransmission timeout (overall mean slowdown, web search)",
        "200 us for TCP and DCTCP, 40 us for pFabric",
        "best of a sweep, or within 5 % of the best",
        ("timeouts",),
        listed(best_timeouts),
        explanation=(
            "By the mean of all flows 400 us is better for TCP: with 200 us it is 1.01, 1.07 and 1.15 times as "
            "high at loads 0.4, 0.6 and 0.8 (± 0.01). The p99 of flows up to 100 KB is lower with 200 us: 0.80, "
            "0.71 and 0.65 times (`timeouts-tcp.toml`). The paper names neither load nor measure."
        ),
    ),
    Claim(
        "PF12",
        "EDF misses fewer deadlines than SRPT and TCP; classes share by weight",
        "described, not measured",
        "missed: less than SRPT's and TCP's; shares: within 5 % of the weights'",
        ("deadlines", "classes"),
        listed(deadlines_and_classes),
    ),
)
