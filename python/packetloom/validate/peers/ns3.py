"""DCTCP on ns-3: the setting of `validation/ns3/figures.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import GOODPUT_WITHIN_POINTS, Deviation
from packetloom.validate.peers.figures import Statistic, fct_statistics, figure_rows, read_figures

SOURCE = "ns3/figures.toml"
RATE_GBPS = 10
GOODPUT_PERCENT = pl.col("goodput_gbps") * 100 / RATE_GBPS
STATISTICS = fct_statistics(pl.col("fct_ns") / 1e3) | {
    "goodput": Statistic("mean goodput in %", GOODPUT_PERCENT.mean(), GOODPUT_WITHIN_POINTS, points=True)
}
# From 400 seeds with 16 hosts and 60 with 128; without slow start: `initial_ssthresh = 10`.
WHY = (
    "Theirs is one derangement and one hash, whose flows share links more equally than ours do after slow start: of "
    "two flows on one link ours end after 2940 and 3317 us, without slow start after 3306 and 3317. Without it 53 % of "
    "our draws with 128 hosts are slower than theirs (mean 3846 us), with it 7 %; with 16 hosts 4 % and 1 %: there the "
    "draw is unlucky, too"
)
# Ours over theirs: with 16 hosts of 400 seeds, with 128 of the 40 here, whose p99 agrees.
KNOWN = {
    16: {"fct_mean": 0.773, "fct_p50": 0.659, "fct_p99": 0.810, "goodput": 1.277},
    128: {"fct_mean": 0.938, "fct_p50": 0.969, "goodput": 1.069},
}


def ns3_comparisons() -> list[Check]:
    """All of them."""
    return [_permutation(theirs) for theirs in read_figures(SOURCE)["permutation"]]


def _permutation(theirs: Mapping[str, Any]) -> Check:
    k = theirs["k"]
    hosts = k**3 // 4
    deviations = {name: Deviation(WHY, (ratio, ratio)) for name, ratio in KNOWN[hosts].items()}
    dctcp = {
        "kind": "dctcp",
        "mss": "1448B",
        "header": "52B",
        "ack": "52B",
        "initial_window": 10,
        "delayed_ack": True,
        "ack_delay": "500us",
        "min_rto": "5ms",
    }
    queue = {"kind": "ecn", "capacity": "250packets", "mark_above": "65packets"}
    scenario = {
        "topology": {"kind": "fat-tree", "k": k, "link": {"rate": f"{RATE_GBPS}Gbps", "delay": "1us"}},
        "workload": [{"sizes": {"kind": "constant", "size": "2MB"}, "arrivals": "at-once", "pattern": "permutation"}],
        "scheme": [{"name": "DCTCP", "transport": dctcp, "queue": queue, "routing": "ecmp"}],
        "run": {"seeds": 40, "flows": hosts},
    }

    def rows(results: Mapping[str, Results]) -> list[Row]:
        case = f"ns-3, DCTCP, permutation of {hosts} hosts, 2 MB"
        return figure_rows(case, SOURCE, theirs, results["dctcp"].to_polars(), STATISTICS, deviations)

    return Check(f"ns3-{hosts}", lambda _: {"dctcp": scenario}, rows)
