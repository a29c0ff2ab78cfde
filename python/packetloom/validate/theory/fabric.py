"""What chance and greed do to a fabric: flows that hash to one path, matchings that are not the largest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from packetloom.control import greedy_matching, maximum_matching
from packetloom.scenario.plan import Scenario
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.theory import formulas
from packetloom.validate.theory.replicates import bounded, predicted

# Every other leaf sends to the next.
LEAVES = 24


def fabric_comparisons() -> list[Check]:
    """All of them."""
    return [
        _collision_comparison(paths=8, flows=4, quick=True),
        _collision_comparison(paths=16, flows=16),
        Check("greedy-matching", lambda _: {}, _greedy_rows, quick=True),
    ]


def _collision_comparison(*, paths: int, flows: int, quick: bool = False) -> Check:
    """As many flows from a leaf to the next as a leaf has hosts, one each, and as many paths as spines."""
    name = f"ecmp-{paths}-{flows}"
    senders = [leaf * flows + host for leaf in range(0, LEAVES, 2) for host in range(flows)]
    one_packet = {"sizes": {"kind": "constant", "size": "1000B"}, "arrivals": "at-once"}
    pairs = [{"kind": "pair", "src": host, "dst": host + flows} for host in senders]
    scenario = Scenario(
        topology={"kind": "leaf-spine", "spines": paths, "leaves": LEAVES, "hosts_per_leaf": flows},
        workload=[one_packet | {"pattern": pair} for pair in pairs],
        schemes=[{"name": "ECMP", "transport": "fixed-window", "queue": "drop-tail", "routing": "ecmp"}],
        run={"seeds": 120},
    )

    def rows(results: Mapping[str, Results]) -> list[Row]:
        sending = [f"leaf{leaf}" for leaf in range(0, LEAVES, 2)]
        ports = results[name].to_polars("ports")
        ports = ports.filter(pl.col("node").is_in(sending), pl.col("peer").str.starts_with("spine"))
        of_leaf = ports.group_by("seed", "node", maintain_order=True).agg(
            (pl.col("tx_packets") > 0).sum().alias("used")
        )
        per_seed = of_leaf.group_by("seed", maintain_order=True)
        used = per_seed.agg(pl.col("used").mean())["used"].to_list()
        case = f"ECMP, {flows} flows on {paths} paths"
        source = "the birthday problem; RFC 2992"
        expected = formulas.distinct_paths(paths, flows)
        found = [predicted(f"{name}-used", f"{case}: how many are used", source, expected, used, known_to=0.02)]
        if flows < paths:
            apart = per_seed.agg((pl.col("used") == flows).mean())["used"].to_list()
            expected = formulas.without_collision(paths, flows)
            what = f"{case}: how often none shares a path"
            found.append(predicted(f"{name}-apart", what, source, expected, apart, known_to=0.15))
        return found

    return Check(name, lambda _: {name: scenario}, rows, quick=quick)


def _greedy_rows(_: Mapping[str, Results]) -> list[Row]:
    servers, draws = 1000, 30
    random = np.random.default_rng(1)
    rows = []
    for degree in (1.0, 4.0):
        served, ratios = [], []
        for _draw in range(draws):
            requests = random.poisson(degree * servers)
            src, dst = (random.integers(0, servers, requests, dtype=np.uint32) for _end in range(2))
            # Keys in random order: requests as they happen to come.
            greedy = len(greedy_matching(src, dst, random.permutation(requests).astype(np.uint64), servers=servers))
            served.append(greedy / servers)
            ratios.append(greedy / len(maximum_matching(src, dst, servers=servers)))
        rows.append(
            predicted(
                f"greedy-served-{degree:g}",
                f"greedy matching, {degree:g} random requests per server: share of servers served",
                "c / (1 + c): du/dt = −u² for the share u still free",
                formulas.greedy_share(degree),
                served,
                known_to=0.02,
            )
        )
        rows.append(
            bounded(
                f"greedy-bound-{degree:g}",
                f"the same over the largest matching: the least of {draws} draws",
                "a maximal matching has at least half of the pairs: Korte and Hausmann 1978",
                (0.5, 1.0),
                ratios,
            )
        )
    return [*rows, _tight_row()]


def _tight_row() -> Row:
    """The bound is reached: of three requests in a row the middle one first."""
    paths = 100
    # Path i: servers 2i and 2i + 1 on either side; requests (2i, 2i), (2i, 2i + 1), (2i + 1, 2i + 1).
    first = np.arange(0, 2 * paths, 2, dtype=np.uint32)
    src = np.concatenate([first, first, first + 1])
    dst = np.concatenate([first, first + 1, first + 1])
    key = np.repeat(np.array([1, 0, 1], dtype=np.uint64), paths)
    greedy = len(greedy_matching(src, dst, key, servers=2 * paths))
    largest = len(maximum_matching(src, dst, servers=2 * paths))
    what = "greedy matching where of three requests in a row the middle one is first: over the largest"
    return bounded("greedy-tight", what, "the bound of a half is tight", (0.5, 0.5), [greedy / largest])
