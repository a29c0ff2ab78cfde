"""RoCE and Swift on htsim: the settings of `validation/htsim/rdma.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, agreement, drawn
from packetloom.validate.peers.figures import draws_of, per_seed, read_figures
from packetloom.validate.peers.sprayed import ENDS, FCT_US, SIX_DIGITS, fat_tree, lone

SOURCE = "htsim/rdma.toml"
SCHEMES: dict[str, dict[str, Any]] = {
    # Links into switches are paused above 60,000 B, data and acknowledgements alike, and resumed below 48,000. A PAUSE
    # takes a microsecond there and no part of the link.
    "roce": {
        "name": "RoCE",
        "transport": {"kind": "roce", "mss": "4000B", "header": "64B", "ack": "64B"},
        "queue": {
            "kind": "shared-buffer",
            "buffer": "16MB",
            "reserve": "0B",
            "pause_above": "60000B",
            "resume_offset": "12000B",
            "pause_frame": "1B",
        },
        "routing": "ecmp",
    },
    # Sizes are those on the wire; delay at the receiver counts for nothing.
    "swift": {
        "name": "Swift",
        "transport": {
            "kind": "swift",
            "constants": "htsim",
            "mss": "4000B",
            "header": "0B",
            "ack": "40B",
            "initial_window": 10,
            "endpoint_target": "1s",
            "bdp_cap": 1000,
        },
        "queue": {"kind": "drop-tail", "capacity": "400000B"},
        "routing": "ecmp",
    },
}
STATISTICS = {
    "fct_mean": ("mean FCT in us", FCT_US.mean(), MEAN_WITHIN),
    "fct_last": ("FCT of the last flow in us", FCT_US.max(), P99_WITHIN),
}


def htsim_rdma_comparisons() -> list[Check]:
    """All of them."""
    figures = read_figures(SOURCE)
    return [_alone(figures["alone"]), *(_many(theirs) for theirs in figures["many"])]


def _alone(table: list[Mapping[str, Any]]) -> Check:
    def name(theirs: Mapping[str, Any], dst: int) -> str:
        return f"{theirs['transport']}-{theirs['size']}-{dst}"

    def scenario(theirs: Mapping[str, Any], dst: int) -> dict[str, Any]:
        return fat_tree(4, lone(theirs["size"], dst), SCHEMES[theirs["transport"]], flows=1)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for theirs in table:
            for (dst, where), fct_us in zip(ENDS.items(), theirs["fct"], strict=True):
                case = f"htsim, {theirs['transport']} alone {where}, {theirs['size']} B"
                ours = results[name(theirs, dst)].to_polars().select(FCT_US.alias("fct"))["fct"][0]
                found.append(agreement(case, f"{case}: FCT in us", SOURCE, fct_us, ours, SIX_DIGITS))
        return found

    scenarios = {name(theirs, dst): scenario(theirs, dst) for theirs in table for dst in ENDS}
    return Check("htsim-rdma-alone", lambda _: scenarios, rows, quick=True)


def _many(theirs: Mapping[str, Any]) -> Check:
    """Paths are drawn: as many draws of ours as there are seeds."""
    transport, hosts = theirs["transport"], theirs["hosts"]
    case = f"htsim, {transport}, {theirs['what']} of {hosts} hosts"
    file = PEERS_FOLDER / "htsim" / "rdma" / theirs["flows"]
    workload = {"arrivals": {"kind": "htsim", "start_unit": "ps", "file": str(file.absolute())}}
    k = 4 if hosts == 16 else 8
    scenario = fat_tree(k, workload, SCHEMES[transport], seeds=len(theirs["fct_mean"]))

    def rows(results: Mapping[str, Results]) -> list[Row]:
        flows = results["it"].to_polars()
        return [_row(case, key, theirs[key], flows) for key in STATISTICS]

    name = f"htsim-{transport}-{theirs['what']}-{hosts}"
    return Check(name, lambda _: {"it": scenario}, rows, quick=hosts == 16)


def _row(case: str, key: str, theirs: list[float], flows: pl.DataFrame) -> Row:
    title, statistic, within = STATISTICS[key]
    draws = Draws(draws_of(theirs), per_seed(flows, statistic))
    return drawn(f"{case} {key}", f"{case}: {title}", SOURCE, draws, within)
