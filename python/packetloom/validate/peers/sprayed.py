"""Ultra Ethernet and EQDS on htsim, the simulator of their authors: the settings of `validation/htsim/uec.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, Deviation, agreement, drawn
from packetloom.validate.peers.figures import draws_of, per_seed, read_figures

SOURCE = "htsim/uec.toml"
# htsim prints six digits of most times.
SIX_DIGITS = 5.1e-6
COUNTS_WITHIN = 0.10
# What would be within the tolerance of many is within so many of few.
FEW = 60
# Which of a flow's last packets share a path is drawn: a short last one may overtake.
ALONE_SEEDS = 24
LINK = {"rate": "100Gbps", "delay": "1us"}
# Theirs is 14.3603 in 4 of 24 draws, ours 14.3651 in 4 of 24; nothing of the same draws under UEC differs. Captured at
# host15 (`measure.capture`): pulls at 7.996 and 8.329 us, and 4.8 ns after the second the last acknowledgement.
LEAST_OF_EQDS = Deviation(
    "The last acknowledgement waits for a pull that leaves 0.3 ns before it. htsim's pulls begin with the short last "
    "packet, which overtakes: its credit target wraps around. Here it is what is left, nothing in the last packet, so "
    "pulls begin with the next that comes",
    (1.000334,) * 2,
)
# Where windows bound flows, or hosts send and receive several, it matters that htsim's receivers pull from a flow as
# often as it was satisfied, and after its end.
LIKE_HTSIM = {"idle_pulls": "htsim"}
# The other end under the same switch, in the same pod, in another.
ENDS = {1: "under one switch", 2: "in one pod", 15: "between pods"}
EQDS_PATHS = {"kind": "bitmap", "entropies": 64, "penalty_trim": 1, "penalty_max": 1, "skip": "each"}
FCT_US = pl.col("sender_fct_ns") / 1e3


def sprayed_comparisons() -> list[Check]:
    """All of them."""
    figures = read_figures(SOURCE)
    permutations = [_many(theirs, 4, "permutation", "uec/perm_16_2MB.cm") for theirs in figures["permutation"]]
    larger = [_many(theirs, 8, "permutation of 128 hosts", "rdma/perm_128.cm") for theirs in figures["permutation_128"]]
    incasts = [_many(theirs, 8, "incast", "uec/incast_10_450KB.cm") for theirs in figures["incast"]]
    all_to_all = [
        _many(theirs, 4, "all-to-all of 8 hosts", "uec/all_to_all_8_60KB.cm", **LIKE_HTSIM)
        for theirs in figures["all_to_all"]
    ]
    alone = [_alone(figures["alone"]), *(_eqds_alone(theirs) for theirs in figures["eqds_alone"])]
    return [*alone, *permutations, *larger, *incasts, *all_to_all]


def scheme(transport: str, routing: str | Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A transport as htsim has it: the packet in service takes room in the data queue, and headers always go first.

    `more` are parameters of the transport's own.
    """
    queue: dict[str, Any] = {"kind": "ndp", "count_service": True, "service": "strict"}
    if transport == "eqds":
        queue |= {"capacity": "145600B", "header_capacity": "291200B"}
        return {"name": "EQDS", "transport": {"kind": "eqds", **more}, "queue": queue, "routing": EQDS_PATHS}
    queue |= {"capacity": "178880B", "header_capacity": "357760B", "ecn_min": "37440B", "ecn_max": "145600B"}
    if transport != "nscc":
        queue["ecn_last_hop"] = False
    uec = {"kind": "uec", "control": transport, **more}
    return {"name": transport, "transport": uec, "queue": queue, "routing": routing}


def fat_tree(
    k: int, workload: Mapping[str, Any], scheme: Mapping[str, Any], link: Mapping[str, Any] = LINK, **run: Any
) -> dict[str, Any]:
    """The scheme on a fat-tree of htsim's links."""
    topology = {"kind": "fat-tree", "k": k, "link": link}
    return {"topology": topology, "workload": [workload], "scheme": [scheme], "run": run}


def lone(size_bytes: int, dst: int) -> dict[str, Any]:
    """One flow from the first host."""
    return {
        "sizes": {"kind": "constant", "size": f"{size_bytes}B"},
        "arrivals": "at-once",
        "pattern": {"kind": "pair", "src": 0, "dst": dst},
    }


def _alone(table: list[Mapping[str, Any]]) -> Check:
    def name(theirs: Mapping[str, Any], dst: int) -> str:
        return f"{theirs['transport']}-{theirs['size']}-{dst}"

    def scenario(theirs: Mapping[str, Any], dst: int) -> dict[str, Any]:
        seeds = ALONE_SEEDS if theirs["size"] == 10_000 else 1
        return fat_tree(4, lone(theirs["size"], dst), scheme(theirs["transport"], "mixed"), flows=1, seeds=seeds)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        return [
            row
            for theirs in table
            for (dst, where), fct_us in zip(ENDS.items(), theirs["fct"], strict=True)
            for row in _alone_rows(
                f"htsim, {theirs['transport']} alone {where}, {theirs['size']} B",
                draws_of(fct_us),
                per_seed(results[name(theirs, dst)].to_polars(), FCT_US.max()),
            )
        ]

    scenarios = {name(theirs, dst): scenario(theirs, dst) for theirs in table for dst in ENDS}
    return Check("htsim-sprayed-alone", lambda _: scenarios, rows, quick=True)


def _eqds_alone(theirs: Mapping[str, Any]) -> Check:
    what, own = theirs["what"], {key: value for key, value in theirs.items() if key == "window"}
    mss = theirs.get("mss", 4096)
    eqds = scheme("eqds", EQDS_PATHS, mss=f"{mss}B", **own, **LIKE_HTSIM)
    # Queues have 35 packets.
    eqds["queue"] |= {"capacity": f"{35 * (mss + 64)}B", "header_capacity": f"{70 * (mss + 64)}B"}
    link = LINK | {"rate": f"{theirs.get('rate', 100)}Gbps"}
    scenarios = {f"{dst}": fat_tree(4, lone(theirs["size"], dst), eqds, link, flows=1) for dst in ENDS}

    def rows(results: Mapping[str, Results]) -> list[Row]:
        cases = [f"htsim, eqds alone {where}, {theirs['size']} B, {what}" for where in ENDS.values()]
        ours = [per_seed(results[f"{dst}"].to_polars(), FCT_US.max()) for dst in ENDS]
        pairs = zip(cases, theirs["fct"], ours, strict=True)
        return [row for case, fct_us, our in pairs for row in _alone_rows(case, draws_of(fct_us), our)]

    return Check(f"htsim-eqds-alone-{what.replace(' ', '-')}", lambda _: scenarios, rows, quick=True)


def _many(theirs: Mapping[str, Any], k: int, what: str, file: str, **more: Any) -> Check:
    transport, routing = theirs["transport"], theirs.get("routing", "mixed")
    case = f"htsim, {transport}, {what}" + (f", {routing}" if "routing" in theirs else "")
    workload = {
        "arrivals": {"kind": "htsim", "start_unit": "ps", "file": str((PEERS_FOLDER / "htsim" / file).absolute())}
    }
    scenario = fat_tree(k, workload, scheme(transport, routing, **more), seeds=len(theirs["fct_mean"]))

    def rows(results: Mapping[str, Results]) -> list[Row]:
        flows, ports = results["it"].to_polars(), results["it"].to_polars("ports")
        found = []
        for key, title, table, statistic in (
            ("fct_mean", "mean FCT in us", flows, FCT_US.mean()),
            ("fct_last", "FCT of the last flow in us", flows, FCT_US.max()),
            ("trims", "packets trimmed", ports, pl.col("trims").sum()),
            ("marks", "packets marked", ports, pl.col("marks").sum()),
        ):
            if key not in theirs:
                continue
            texts = (f"{case} {title}", f"{case}: {title}", SOURCE)
            draws = Draws(draws_of(theirs[key]), per_seed(table, statistic))
            within, few = WITHIN[key]
            found.append(drawn(*texts, draws, within, few=few))
        return found

    name = f"htsim-{transport}-{what.replace(' ', '-')}-{routing}"
    return Check(name, lambda _: {"it": scenario}, rows, quick=k == 4)


# How near means must come, and of how many at least.
WITHIN = {
    "fct_mean": (MEAN_WITHIN, 0.0),
    "fct_last": (P99_WITHIN, 0.0),
    "trims": (COUNTS_WITHIN, FEW),
    "marks": (COUNTS_WITHIN, FEW),
}


def _alone_rows(case: str, theirs: tuple[float, ...], ours: tuple[float, ...]) -> list[Row]:
    """To six digits; where a draw decides which of two times it is, the less and the greater of as many draws."""
    if len(theirs) == 1:
        return [agreement(case, f"{case}: FCT in us", SOURCE, theirs[0], ours[0], SIX_DIGITS)]
    return [
        agreement(
            f"{case} {which}",
            f"{case}: {which} FCT in us",
            SOURCE,
            one(theirs),
            one(ours),
            SIX_DIGITS,
            LEAST_OF_EQDS if case.startswith("htsim, eqds") and which == "least" else None,
        )
        for which, one in (("least", min), ("greatest", max))
    ]
