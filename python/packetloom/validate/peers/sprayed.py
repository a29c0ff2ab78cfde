"""Ultra Ethernet and EQDS on htsim, the simulator of their authors: the settings of `validation/htsim/uec.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.confidence import half_interval
from packetloom.results import Results
from packetloom.validate.comparison import Comparison, Row
from packetloom.validate.peers.agreement import MEAN_WITHIN, PEERS_FOLDER, agreement
from packetloom.validate.peers.figures import read_figures

SOURCE = "htsim/uec.toml"
# htsim prints six digits of most times.
SIX_DIGITS = 5.1e-6
COUNTS_WITHIN = 0.10
# A count of a few is one draw's: what would be within the tolerance of many is within so many of few.
FEW = 60
SEEDS = 20
LINK = {"rate": "100Gbps", "delay": "1us"}
EQDS_PATHS = {"kind": "bitmap", "entropies": 64, "penalty_trim": 1, "penalty_max": 1, "skip": "each"}
FCT_US = pl.col("sender_fct_ns") / 1e3


def sprayed_comparisons() -> list[Comparison]:
    """All of them."""
    figures = read_figures(SOURCE)
    permutations = [_many(theirs, 4, "permutation", "perm_16_2MB.cm") for theirs in figures["permutation"]]
    incasts = [_many(theirs, 8, "incast", "incast_10_450KB.cm") for theirs in figures["incast"]]
    return [_alone(figures["alone"]), *permutations, *incasts]


def scheme(transport: str, routing: str | Mapping[str, Any]) -> dict[str, Any]:
    """A transport as htsim has it: the packet in service takes room in the data queue, and headers always go first."""
    queue: dict[str, Any] = {"kind": "ndp", "count_service": True, "service": "strict"}
    if transport == "eqds":
        queue |= {"capacity": "145600B", "header_capacity": "291200B"}
        return {"name": "EQDS", "transport": "eqds", "queue": queue, "routing": EQDS_PATHS}
    queue |= {"capacity": "178880B", "header_capacity": "357760B", "ecn_min": "37440B", "ecn_max": "145600B"}
    if transport != "nscc":
        queue["ecn_last_hop"] = False
    return {"name": transport, "transport": {"kind": "uec", "control": transport}, "queue": queue, "routing": routing}


def fat_tree(k: int, workload: Mapping[str, Any], scheme: Mapping[str, Any], **run: Any) -> dict[str, Any]:
    """The scheme on a fat-tree of htsim's links."""
    topology = {"kind": "fat-tree", "k": k, "link": LINK}
    return {"topology": topology, "workload": [workload], "scheme": [scheme], "run": run}


def _alone(table: list[Mapping[str, Any]]) -> Comparison:
    # The other end under the same switch, in the same pod, in another.
    ends = {1: "under one switch", 2: "in one pod", 15: "between pods"}

    def name(theirs: Mapping[str, Any], dst: int) -> str:
        return f"{theirs['transport']}-{theirs['size']}-{dst}"

    def scenario(theirs: Mapping[str, Any], dst: int) -> dict[str, Any]:
        workload = {
            "sizes": {"kind": "constant", "size": f"{theirs['size']}B"},
            "arrivals": "at-once",
            "pattern": {"kind": "pair", "src": 0, "dst": dst},
        }
        # Which of a flow's last packets share a path is drawn: a short last one may overtake.
        seeds = 24 if theirs["size"] == 10_000 else 1
        return fat_tree(4, workload, scheme(theirs["transport"], "mixed"), flows=1, seeds=seeds)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for theirs in table:
            for (dst, where), fct_us in zip(ends.items(), theirs["fct"], strict=True):
                case = f"htsim, {theirs['transport']} alone {where}, {theirs['size']} B"
                draws = results[name(theirs, dst)].to_polars().select(fct=FCT_US)["fct"].unique().to_list()
                nearest = min(draws, key=lambda ours: abs(ours - fct_us))
                found.append(agreement(case, f"{case}: FCT in us", SOURCE, fct_us, nearest, SIX_DIGITS))
        return found

    scenarios = {name(theirs, dst): scenario(theirs, dst) for theirs in table for dst in ends}
    return Comparison("htsim-sprayed-alone", lambda _: scenarios, rows, quick=True)


def _many(theirs: Mapping[str, Any], k: int, what: str, file: str) -> Comparison:
    transport, routing = theirs["transport"], theirs.get("routing", "mixed")
    case = f"htsim, {transport}, {what}" + (f", {routing}" if "routing" in theirs else "")
    workload = {"arrivals": {"kind": "htsim", "file": str((PEERS_FOLDER / "htsim" / "uec" / file).absolute())}}
    scenario = fat_tree(k, workload, scheme(transport, routing), seeds=SEEDS)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        flows, ports = results["it"].to_polars(), results["it"].to_polars("ports")
        found = []
        for key, title, statistic in (
            ("fct_mean", "mean FCT in us", FCT_US.mean()),
            ("fct_last", "FCT of the last flow in us", FCT_US.max()),
        ):
            found.append(_of_times(case, title, theirs[key], _per_seed(flows, statistic)))
        for key, title in (("trims", "packets trimmed"), ("marks", "packets marked")):
            found.append(_of_counts(case, title, theirs[key], _per_seed(ports, pl.col(key).sum())))
        return found

    return Comparison(f"htsim-{transport}-{what}-{routing}", lambda _: {"it": scenario}, rows, quick=k == 4)


def _per_seed(table: pl.DataFrame, statistic: pl.Expr) -> list[float]:
    return [float(value) for value in table.group_by("seed").agg(value=statistic)["value"].to_list()]


def _of_times(case: str, title: str, theirs: float, ours: list[float]) -> Row:
    mean, half = sum(ours) / len(ours), half_interval(ours) or 0.0
    interval = (mean - half, mean + half)
    return agreement(f"{case} {title}", f"{case}: {title}", SOURCE, theirs, mean, MEAN_WITHIN, interval=interval)


def _of_counts(case: str, title: str, theirs: float, ours: list[float]) -> Row:
    """Holds if the mean of our draws is near theirs, or if theirs, a single draw, is like one of ours.

    How 64 entropies fall onto a few paths is drawn once for each flow: over 16 of its own seeds htsim's EQDS trims 4 to
    177 packets of the permutation.
    """
    mean, half = sum(ours) / len(ours), half_interval(ours) or 0.0
    slack = COUNTS_WITHIN * max(theirs, FEW)
    low, high = theirs - slack, theirs + slack
    if min(ours) <= theirs <= max(ours):
        low, high = min(low, mean), max(high, mean)
    return Row(
        id=f"{case} {title}".lower().replace(" ", "-").replace(",", ""),
        what=f"{case}: {title}",
        source=SOURCE,
        expected=(theirs, theirs),
        measured=mean,
        interval=(mean - half, mean + half),
        band=(low, high),
        rule=f"within {COUNTS_WITHIN * 100:g} % (of {FEW} at least), or theirs among our draws",
    )
