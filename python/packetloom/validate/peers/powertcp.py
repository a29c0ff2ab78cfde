"""PowerTCP, theta-PowerTCP and HPCC on the fork of HPCC's ns-3 by PowerTCP's authors: `validation/powertcp_ns3/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, Deviation, agreement, drawn
from packetloom.validate.peers.flow_lists import P99_NEEDS_FLOWS, SIZE_RANGES
from packetloom.validate.peers.hpcc.scenario import seconds_text, write_flow_file

FOLDER = "powertcp_ns3"
LONE = "lone_rack"
# A flow's first acknowledgement counts from the clock's zero, modulo 2^24 ns.
BEGIN_NS = 100_000_000
SEEDS = 20
RUNS = {
    LONE: "lone flows in a rack",
    "four_in": "four flows of 8 MB to a host, 0.8 ms apart",
    "inc8_x": "incast of 8 flows of 0.5 MB",
    "inc31": "incast of 31 flows of 0.5 MB",
}
LOADS = {"w3_50": "W3 at load 0.5", "w4_70": "W4 at load 0.7"}
ZEROED = "powertcp_zeroed"
# HPCC has no reference on W3.
LOADED = {"w3_50": (ZEROED, "powertcp", "theta"), "w4_70": (ZEROED, "powertcp", "theta", "hpcc")}
INT = {"window": "bdp", "variable_window": True, "header": "90B", "ack": "88B", "ack_duplicates": False}
NS3 = {"variant": "ns3-datacenter", "min_rate": "100Mbps"}
SCHEMES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "powertcp": ("PowerTCP", {"kind": "powertcp", "quantise": True} | NS3),
    # Its packets carry the telemetry, too.
    "theta": ("theta-PowerTCP", {"kind": "theta-powertcp"} | NS3),
    "hpcc": (
        "HPCC",
        {
            "kind": "hpcc",
            "variant": "hpcc-ns3",
            "max_stage": 5,
            "additive_increase": "50Mbps",
            "min_rate": "100Mbps",
            "quantise": True,
            "int_multiple": 1,
        },
    ),
}
# The same scheme of ours beside a reference whose constructor of a queue pair sets hp.hop to zero.
LOADED_SCHEMES: Mapping[str, tuple[str, dict[str, Any]]] = {
    **SCHEMES,
    ZEROED: ("PowerTCP with hp.hop zeroed", SCHEMES["powertcp"][1]),
}
NOT_INITIALISED = (
    "Their constructor of a queue pair does not initialise hp.hop, with which PowerTCP compares a flow's first "
    "acknowledgement: memory of an earlier flow there slows flows down. Set to zero, theirs differ from these as much"
)
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean FCT": fmean,
    "FCT of the first flow to end": min,
    "FCT of the last flow to end": max,
}
LONE_WITHIN, FEW_WITHIN = 0.01, 0.02


def powertcp_comparisons() -> list[Check]:
    """All of them."""
    few = [_check(run, scheme) for run in RUNS for scheme in SCHEMES]
    return [*few, *(_load(run, scheme) for run, schemes in LOADED.items() for scheme in schemes)]


@cache
def read_run(run: str) -> pl.DataFrame:
    """A flow in each row: its ends, size and start, and its time at the sender under each scheme."""
    return pl.read_csv(PEERS_FOLDER / FOLDER / (f"{run}.csv.gz" if run in LOADS else f"{run}.csv"))


def scenario_of(run: str, scheme: str, folder: Path) -> dict[str, Any]:
    """The scenario of a run; its flows are put into `folder`, at the times of the simulator's clock."""
    flows = read_run(run).select("src", "dst", "size_bytes", "start_ns").iter_rows()
    lines = [f"{src} {dst} 3 {size} {seconds_text(BEGIN_NS + start)}\n" for src, dst, size, start in flows]
    path = write_flow_file(folder / "flows" / f"powertcp-{run}.txt", lines)
    transport = INT | LOADED_SCHEMES[scheme][1]
    queue = {"kind": "shared-buffer", "mmu": "hpcc-ns3", "buffer": "4MiB", "pause_frame": "43B", "ties": "ns-3"}
    topology = PEERS_FOLDER / FOLDER / "topology.txt"
    return {
        "topology": {"kind": "hpcc", "file": str(topology.absolute()), "whole_ns": True},
        "workload": [{"arrivals": {"kind": "hpcc", "file": str(path.absolute())}}],
        "scheme": [{"name": scheme, "transport": transport, "queue": queue, "routing": "ecmp"}],
        # Which spine a flow takes is chance: the hash of theirs is not known.
        "run": {"seeds": 1 if run == LONE else SEEDS},
    }


def _check(run: str, scheme: str) -> Check:
    source = f"{FOLDER}/{run}.csv"
    title = f"PowerTCP's ns-3, {SCHEMES[scheme][0]}, {RUNS[run]}"

    def rows(results: Mapping[str, Results]) -> list[Row]:
        theirs = read_run(run).sort("start_ns", "src", "dst")
        expected = [float(fct) for fct in theirs[f"{scheme}_ns"]]
        flows = results["it"].to_polars("flows").sort("seed", "flow_id")
        draws = [[float(fct) for fct in part["sender_fct_ns"]] for part in flows.partition_by("seed")]
        if run == LONE:
            sized = zip(theirs["size_bytes"], expected, draws[0], strict=True)
            titled = [(f"{title}: FCT in ns of {size} B", one, found) for size, one, found in sized]
            return [agreement(what, what, source, one, found, LONE_WITHIN) for what, one, found in titled]
        made = []
        for name, statistic in STATISTICS.items():
            what = f"{title}: {name} in us"
            both = Draws((statistic(expected) / 1e3,), tuple(statistic(draw) / 1e3 for draw in draws))
            made.append(drawn(what, what, source, both, FEW_WITHIN))
        return made

    return Check(f"powertcp-{run}-{scheme}", lambda folder: {"it": scenario_of(run, scheme, folder)}, rows, quick=True)


def _load(run: str, scheme: str) -> Check:
    """Slowdowns, over their own time of a flow alone, by size."""
    source = f"{FOLDER}/{run}.csv.gz"
    title = f"PowerTCP's ns-3, {LOADED_SCHEMES[scheme][0]}, {LOADS[run]}"

    def rows(results: Mapping[str, Results]) -> list[Row]:
        theirs = read_run(run)
        expected, zeroed = (
            theirs.select("size_bytes", slowdown=pl.col(f"{one}_ns") / pl.col("standalone_ns"))
            for one in (scheme, ZEROED)
        )
        flows = results["it"].to_polars("flows").sort("seed", "flow_id")
        draws = [_slowdowns(part, theirs) for part in flows.partition_by("seed")]
        made = []
        for size in SIZE_RANGES:
            of_size = pl.col("size_bytes").is_between(size.above, size.up_to, closed="right")
            their, ours = expected.filter(of_size)["slowdown"], [one.filter(of_size)["slowdown"] for one in draws]
            statistics = [("mean slowdown", _mean, MEAN_WITHIN)] if len(their) else []
            if len(their) >= P99_NEEDS_FLOWS:
                statistics.append(("p99 of the slowdown", p99, P99_WITHIN))
            for name, statistic, tolerance in statistics:
                what = f"{title}: {name}, {size.name}"
                both = Draws((statistic(their),), tuple(statistic(one) for one in ours))
                known = None
                if scheme == "powertcp":
                    ratio = statistic(zeroed.filter(of_size)["slowdown"]) / statistic(their)
                    known = Deviation(NOT_INITIALISED, (ratio, ratio), always=False)
                made.append(drawn(what, what, source, both, tolerance, known))
        return made

    name, quick = f"powertcp-{run}-{scheme}", run == "w3_50" and scheme != "powertcp"
    return Check(name, lambda folder: {"it": scenario_of(run, scheme, folder)}, rows, quick=quick)


def _slowdowns(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    if ours["size_bytes"].to_list() != theirs["size_bytes"].to_list():
        raise PacketloomError("these flows are not those of the list: delete the results, run again")
    return theirs.select("size_bytes", slowdown=ours["sender_fct_ns"] / pl.col("standalone_ns"))


def _mean(values: pl.Series) -> float:
    return fmean(values)
