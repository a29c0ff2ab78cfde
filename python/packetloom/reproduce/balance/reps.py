"""Claims LB5 and LB6: REPS on a fabric that is whole, on one with a slow link, and as a link dies.

Scenarios, and what is measured of their results. REPS (arXiv 2407.21625) runs under NSCC, with an acknowledgement for
each packet, as in the paper; so do those it is compared with.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl

from packetloom.reproduce.measure import Interval, interval_of
from packetloom.results import Results

REPS, UNFROZEN, OBLIVIOUS, ALL_PATHS = "REPS", "REPS without freezing", "oblivious", "all paths in turn"
ROUTINGS: dict[str, dict[str, Any]] = {
    REPS: {"kind": "reps", "entropies": 65536},
    UNFROZEN: {"kind": "reps", "entropies": 65536, "freeze": "0s"},
    OBLIVIOUS: {"kind": "oblivious", "entropies": 65536},
    ALL_PATHS: {"kind": "permutation"},
}
LINK = {"rate": "100Gbps", "delay": "1us"}
SLOW_LINK = ["edge0", "aggregation0"]
DIES_AT_US = 50
SAMPLED_US = 5
FULL_BYTES = 4160
# A timeout is what tells of a dead link: REPS §4.4 has one of about five base round trips.
RTO = "70us"

PerSeed = list[tuple[int | None, float]]


def whole_fabric(seeds: int = 5) -> dict[str, Any]:
    """LB5: a permutation of 128 hosts on a fabric that is whole."""
    return _scenario(8, _permutation("8MB"), (REPS, OBLIVIOUS, ALL_PATHS), {"seeds": seeds, "flows": 128})


def slow_link(seeds: int = 5) -> dict[str, Any]:
    """LB5: a permutation of 16 hosts, one of whose uplinks has half its rate from the start; nobody is told."""
    fault = {"kind": "link-degraded", "between": SLOW_LINK, "rate": "50Gbps", "at": "0us"}
    run = {"seeds": seeds, "flows": 16}
    return _scenario(4, _permutation("8MB"), (REPS, OBLIVIOUS), run) | {"fault": [fault]}


def dead_link(seeds: int = 5) -> dict[str, Any]:
    """LB6: a long flow between pods, one of whose two first links dies; no switch learns of it."""
    fault = {"kind": "link-down", "between": SLOW_LINK, "at": f"{DIES_AT_US}us", "learn_after": "1s"}
    workload = {
        "sizes": {"kind": "constant", "size": "50MB"},
        "arrivals": "at-once",
        "pattern": {"kind": "pair", "src": 0, "dst": 15},
    }
    run = {"seeds": seeds, "flows": 1, "max_time": "2ms"}
    measure = {"series_interval": f"{SAMPLED_US}us"}
    return _scenario(4, workload, (REPS, UNFROZEN, OBLIVIOUS), run) | {"fault": [fault], "measure": measure}


def mean_fct_ratio(results: Results, spraying: str = OBLIVIOUS) -> Interval:
    """The mean FCT under REPS over that under spraying, seed by seed."""
    return _ratio(results, pl.col("fct_ns").mean(), REPS, spraying)


def completion_speedup(results: Results) -> Interval:
    """How many times sooner the last flow is done under REPS than under oblivious spraying, seed by seed."""
    return _ratio(results, pl.col("fct_ns").max(), OBLIVIOUS, REPS)


def turned_away_us(results: Results) -> dict[str, PerSeed]:
    """By scheme and seed: how long after the link's death the last packet was sent into it, to a sample."""
    ports = results.to_polars("ports").filter(pl.col("node") == SLOW_LINK[0], pl.col("peer") == SLOW_LINK[1])
    series = results.to_polars("series").join(ports.select("case_id", "port"), ("case_id", "port"))
    # Requests to be pulled from, of 64 B, are not told of their path.
    sent = series.filter(pl.col("tx_bytes") >= FULL_BYTES).group_by("scheme", "seed").agg(last=pl.col("time_ns").max())
    found: dict[str, PerSeed] = defaultdict(list)
    for scheme, seed, last_ns in sent.sort("scheme", "seed").iter_rows():
        found[scheme].append((seed, last_ns / 1e3 - DIES_AT_US))
    return found


def _permutation(size: str) -> dict[str, Any]:
    return {"sizes": {"kind": "constant", "size": size}, "arrivals": "at-once", "pattern": "permutation"}


def _scenario(k: int, workload: dict[str, Any], names: tuple[str, ...], run: dict[str, Any]) -> dict[str, Any]:
    queue = {"kind": "ndp", "count_service": True, "service": "strict"}
    queue |= {"capacity": "178880B", "header_capacity": "357760B", "ecn_min": "37440B", "ecn_max": "145600B"}
    transport = {"kind": "uec", "ack_every": "1B", "rto": RTO}
    schemes = [
        {"name": name, "transport": transport, "queue": queue, "nic": "drop-tail", "routing": ROUTINGS[name]}
        for name in names
    ]
    topology = {"kind": "fat-tree", "k": k, "link": LINK}
    return {"topology": topology, "workload": [workload], "scheme": schemes, "run": run}


def _ratio(results: Results, statistic: pl.Expr, over: str, under: str) -> Interval:
    per_seed = results.to_polars().group_by("scheme", "seed").agg(value=statistic)
    values = {(scheme, seed): value for scheme, seed, value in per_seed.iter_rows()}
    seeds = sorted({seed for _, seed in values})
    ratios: PerSeed = [(seed, values[over, seed] / values[under, seed]) for seed in seeds]
    return interval_of(ratios, f"{over} over {under}")
