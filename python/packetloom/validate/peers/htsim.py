"""NDP on htsim, the simulator of NDP's own authors: the settings of `validation/htsim/figures.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import (
    GOODPUT_WITHIN_POINTS,
    MEAN_WITHIN,
    P99_WITHIN,
    PEERS_FOLDER,
    agreement,
)
from packetloom.validate.peers.figures import Statistic, fct_statistics, figure_rows, read_figures

SOURCE = "htsim/figures.toml"
# Half a unit of the last of htsim's six digits is at most this much of a figure.
SIX_DIGITS = 5.1e-6

# htsim's FCT ends with the acknowledgement of the last byte.
FCT_US = pl.col("sender_fct_ns") / 1e3
GOODPUT_PERCENT = pl.col("size_bytes") * 8 / pl.col("sender_fct_ns")
STATISTICS = fct_statistics(FCT_US) | {
    "goodput": Statistic("mean goodput in %", GOODPUT_PERCENT.mean(), GOODPUT_WITHIN_POINTS, points=True),
    "trims": Statistic("packets trimmed", pl.col("trimmed").sum(), MEAN_WITHIN),
}


def htsim_comparisons() -> list[Check]:
    """All of them."""
    figures = read_figures(SOURCE)
    return [
        _alone(figures["alone"]),
        *(_permutation(theirs) for theirs in figures["permutation"]),
        *(_exchange(theirs) for theirs in figures["exchange"]),
        *(_window(theirs) for theirs in figures["window"]),
        *(_incast(theirs) for theirs in figures["incast"]),
        _poisson(figures["poisson"]),
    ]


def ndp_on_fat_tree(k: int, workload: Mapping[str, Any], run: Mapping[str, Any], **transport: Any) -> dict[str, Any]:
    """NDP as htsim has it: the packet in service takes room in the data queue, and headers always go first."""
    queue = {"kind": "ndp", "capacity": "72000B", "count_service": True, "service": "strict"}
    ndp = {"kind": "ndp", "mss": "9000B", **transport}
    return {
        "topology": {"kind": "fat-tree", "k": k, "link": {"rate": "100Gbps", "delay": "1us"}},
        "workload": [workload],
        "scheme": [{"name": "NDP", "transport": ndp, "queue": queue, "routing": "permutation"}],
        "run": run,
    }


def at_once(size_bytes: int, pattern: str | Mapping[str, Any]) -> dict[str, Any]:
    """Flows of one size that start together."""
    return {"sizes": {"kind": "constant", "size": f"{size_bytes}B"}, "arrivals": "at-once", "pattern": pattern}


def _alone(table: list[Mapping[str, Any]]) -> Check:
    # The other end under the same switch, in the same pod, in another.
    ends = {1: "under one switch", 2: "in one pod", 15: "between pods"}

    def name(theirs: Mapping[str, Any], dst: int) -> str:
        return f"{theirs['mss']}-{theirs['size']}-{dst}"

    def scenarios(_: object) -> dict[str, Any]:
        return {
            name(theirs, dst): ndp_on_fat_tree(
                4,
                at_once(theirs["size"], {"kind": "pair", "src": 0, "dst": dst}),
                {"flows": 1},
                mss=f"{theirs['mss']}B",
            )
            for theirs in table
            for dst in ends
        }

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for theirs in table:
            for (dst, where), fct_us in zip(ends.items(), theirs["fct"], strict=True):
                case = f"htsim, NDP alone {where}, {theirs['size']} B in packets of {theirs['mss']} B"
                ours = results[name(theirs, dst)].to_polars().select(FCT_US.alias("fct"))["fct"][0]
                found.append(agreement(case, f"{case}: FCT in us", SOURCE, fct_us, ours, SIX_DIGITS))
        return found

    return Check("htsim-alone", scenarios, rows, quick=True)


def _comparison(
    name: str, case: str, theirs: Mapping[str, Any], scenario: Mapping[str, Any], *, quick: bool = False
) -> Check:
    def rows(results: Mapping[str, Results]) -> list[Row]:
        return figure_rows(f"htsim, NDP, {case}", SOURCE, theirs, results["ndp"].to_polars(), STATISTICS)

    return Check(f"htsim-{name}", lambda _: {"ndp": scenario}, rows, quick=quick)


def _permutation(theirs: Mapping[str, Any]) -> Check:
    k, size = theirs["k"], theirs["size"]
    hosts = k**3 // 4
    scenario = ndp_on_fat_tree(k, at_once(size, "permutation"), {"seeds": 20, "flows": hosts})
    case = f"permutation of {hosts} hosts, {size / 1e6:.0f} MB"
    return _comparison(f"permutation-{hosts}-{size}", case, theirs, scenario, quick=hosts * size < 100e6)


def _exchange(theirs: Mapping[str, Any]) -> Check:
    """Each host of a pair sends to the other: its data and its answers have the same destination."""
    file = PEERS_FOLDER / "htsim" / "ndp" / theirs["flows"]
    workload = {"arrivals": {"kind": "htsim", "start_unit": "ps", "file": str(file.absolute())}}
    scenario = ndp_on_fat_tree(theirs["k"], workload, {"seeds": len(theirs["fct_mean"])})
    return _comparison("exchange", "exchange of 2 MB in pairs", theirs, scenario, quick=True)


def _window(theirs: Mapping[str, Any]) -> Check:
    packets = theirs["packets"]
    scenario = ndp_on_fat_tree(
        8, at_once(20_007_000, "permutation"), {"seeds": 5, "flows": 128}, initial_window=packets
    )
    return _comparison(f"window-{packets}", f"128 hosts, 20 MB, window of {packets}", theirs, scenario)


def _incast(theirs: Mapping[str, Any]) -> Check:
    senders, size = theirs["senders"], theirs["size"]
    pattern = {"kind": "incast", "fan_in": senders, "receiver": 0}
    scenario = ndp_on_fat_tree(12, at_once(size, pattern), {"seeds": 40 if senders == 10 else 10, "flows": senders})
    case = f"incast of {senders} x {size / 1e3:.0f} KB"
    return _comparison(f"incast-{senders}-{size}", case, theirs, scenario, quick=senders * size < 10e6)


def _poisson(theirs: Mapping[str, Any]) -> Check:
    # Load counts headers here, payload there.
    load = theirs["load"] * 9064 / 9000
    workload = {"sizes": {"kind": "constant", "size": "90000B"}, "pattern": "random-pairs"}
    scenario = ndp_on_fat_tree(8, workload, {"loads": [load], "duration": "2ms", "seeds": 5})
    src, dst = pl.col("src"), pl.col("dst")
    links = pl.when(src // 4 == dst // 4).then(2).when(src // 16 == dst // 16).then(4).otherwise(6)
    slowdown = FCT_US / (links * (1.72512 + 1.00512) + 9 * 0.72512)
    statistics = STATISTICS | {
        "slowdown_mean": Statistic("mean slowdown", slowdown.mean(), MEAN_WITHIN),
        "slowdown_p50": Statistic("median slowdown", slowdown.median(), MEAN_WITHIN),
        "slowdown_p99": Statistic("p99 of the slowdown", p99(slowdown), P99_WITHIN),
    }

    def rows(results: Mapping[str, Results]) -> list[Row]:
        case = "htsim, NDP, Poisson, 90 KB, load 0.5"
        return figure_rows(case, SOURCE, theirs, results["ndp"].to_polars(), statistics)

    return Check("htsim-poisson", lambda _: {"ndp": scenario}, rows, quick=True)
