"""BFC on its authors' simulator: `validation/bfc_ns3/`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from packetloom.common.files import explain_os_error, write_text
from packetloom.common.percentiles import p99
from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, agreement, drawn
from packetloom.validate.peers.figures import read_table
from packetloom.validate.peers.flow_lists import P99_NEEDS_FLOWS, SIZE_RANGES

FOLDER = "bfc_ns3"
RACK, TWO_TIERS = 48, 32
LONE = {"lone_rack": ("lone flows in a rack", RACK), "lone_x": ("lone flows between racks", TWO_TIERS)}
FEW = {
    "two_in": ("flows of 4 and 2 MB to a host, 50 us apart", RACK),
    "two_out": ("flows of 4 and 2 MB from a host, 50 us apart", RACK),
    "inc8": ("incast of 8 flows of 0.5 MB", RACK),
    "inc15": ("incast of 15 flows of 0.2 MB", RACK),
    "inc40": ("incast of 40 flows of 0.1 MB", RACK),
}
LOADS = {"w4_50": ("W4, its list for load 0.5", TWO_TIERS)}
FROM_ONE = "two_out"
DIFFER = ("inc15", "inc40")
RUNS = LONE | FEW | LOADS
# Pauses are by the microsecond: when flows start within one decides how pauses of several fall together. In draw k the
# flow n of a list, from 1 on, starts n k 37 ns, modulo 1000 ns, later, and k is the seed of what chooses queues.
DRAWS, STEP_NS, TICK_NS = 20, 37, 1_000
SEEDS = 20
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean FCT in us": fmean,
    "FCT of the first flow to end in us": min,
    "FCT of the last flow to end in us": max,
}
LONE_WITHIN, FEW_WITHIN = 0.01, 0.02
# Each of their switches sends a PAUSE frame of 156 B by each link each microsecond, whether it says something or not:
# what is left for the rest of a link of 100 Gb/s.
LINK_MBPS = 100_000 - 156 * 8
LOAD_STOPS = "40ms"


def bfc_comparisons() -> list[Check]:
    """One for each run."""
    # What differs without a known cause is told by all of `validate peers`; a test holds that what is quick agrees.
    few = [_check(run, _lone, quick=True) for run in LONE]
    few += [_check(run, _few, quick=run not in DIFFER) for run in FEW]
    return [*few, *(_check(run, _load, quick=False) for run in LOADS)]


@cache
def read_run(run: str) -> pl.DataFrame:
    """A flow in each row, by start, as ours are numbered: its ends, bytes, start, and time at the receiver by draw."""
    file = f"{run}.csv.gz" if run in LOADS else f"{run}.csv"
    return read_table(PEERS_FOLDER / FOLDER / file).sort("start_ns", maintain_order=True)


def draws_of(run: str) -> list[str]:
    """The columns of a run that have their draws."""
    return [name for name in read_run(run).columns if name.startswith("fct_ns")]


def scenario_of(run: str, folder: Path, draw: int = 0) -> dict[str, Any]:
    """The scenario of a run; its flows are put into `folder`."""
    path = folder / "flows" / f"bfc-{run}-{draw}.csv"
    flows = read_run(run).select("src", "dst", pl.col("bytes").alias("size_bytes"), "start_ns")
    later = pl.int_range(1, pl.len() + 1) * draw * STEP_NS % TICK_NS
    flows = flows.with_columns(pl.col("start_ns") + later)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, flows.write_csv())
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    # Of flows from one host its own link is the bottleneck, by which no switch sends.
    link = {"rate": "100Gbps" if run == FROM_ONE else f"{LINK_MBPS}Mbps", "delay": "1us"}
    topology: dict[str, Any] = {"kind": "rack", "hosts": RACK, "link": link, "framing": "0B"}
    if RUNS[run][1] == TWO_TIERS:
        topology |= {"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 8}
        del topology["hosts"]
    transport = {"kind": "bfc", "preset": "bfc-ns3", "mss": "1000B", "header": "20B", "ack": "30B"}
    return {
        "topology": topology,
        "workload": [{"arrivals": {"kind": "list", "file": str(path.absolute())}}],
        "scheme": [
            {
                "name": "BFC",
                "transport": transport,
                "queue": {"kind": "bfc", "variant": "bfc-ns3"},
                "routing": "ecmp",
            }
        ],
        # Which queue a flow gets is chance, and which of four spines.
        "run": {"seeds": SEEDS, "max_time": LOAD_STOPS} if run in LOADS else {"seeds": [max(draw, 1)]},
    }


Rows = Callable[[str, str, list[list[float]]], Iterator[Row]]


def _check(run: str, rows_of: Rows, *, quick: bool) -> Check:
    draws = range(1, DRAWS + 1) if run in FEW else range(1)

    def rows(results: Mapping[str, Results]) -> list[Row]:
        ours = [one for draw in draws for one in _times(run, results[f"draw{draw}"])]
        return list(rows_of(run, f"BFC's ns-3, BFC, {RUNS[run][0]}", ours))

    def scenarios(folder: Path) -> dict[str, dict[str, Any]]:
        return {f"draw{draw}": scenario_of(run, folder, draw) for draw in draws}

    return Check(f"bfc-{run}", scenarios, rows, quick=quick)


def _times(run: str, results: Results) -> list[list[float]]:
    """The times of all flows at the receiver, by seed."""
    # Flows that start within a microsecond are numbered in another order than the list has them.
    flows = results.to_polars("flows").sort("seed", "src", "dst", "start_ns")
    listed = read_run(run).with_row_index("place").sort("src", "dst", "start_ns")
    found = []
    for part in flows.partition_by("seed"):
        if part["size_bytes"].to_list() != listed["bytes"].to_list():
            raise PacketloomError("these flows are not those of the list: delete the results, run again")
        placed = listed.select("place").with_columns(fct_ns=part["fct_ns"]).sort("place")
        found.append([float(fct) for fct in placed["fct_ns"]])
    return found


def _lone(run: str, title: str, ours: list[list[float]]) -> Iterator[Row]:
    """Each flow's time. Nothing of a lone flow is chance, but for microseconds' turns."""
    theirs = read_run(run)
    for place, size in enumerate(theirs["bytes"]):
        what = f"{title}: FCT in ns of {size} B"
        expected = fmean(theirs[name][place] for name in draws_of(run))
        yield agreement(what, what, _source(run), expected, ours[0][place], LONE_WITHIN)


def _few(run: str, title: str, ours: list[list[float]]) -> Iterator[Row]:
    theirs = [[float(fct) for fct in read_run(run)[name]] for name in draws_of(run)]
    for name, statistic in STATISTICS.items():
        what = f"{title}: {name}"
        both = Draws(tuple(statistic(draw) / 1e3 for draw in theirs), tuple(statistic(draw) / 1e3 for draw in ours))
        yield drawn(what, what, _source(run), both, FEW_WITHIN)


def _load(run: str, title: str, ours: list[list[float]]) -> Iterator[Row]:
    """FCTs by size: means, and p99 of those that are many."""
    flows = read_run(run)
    for size in SIZE_RANGES:
        places = [place for place, bytes in enumerate(flows["bytes"]) if size.above < bytes <= size.up_to]
        statistics: list[tuple[str, Callable[[Sequence[float]], float], float]] = []
        if places:
            statistics.append(("mean FCT in us", fmean, MEAN_WITHIN))
        if len(places) >= P99_NEEDS_FLOWS:
            statistics.append(("p99 of the FCT in us", _p99, P99_WITHIN))
        theirs = [flows[name].to_list() for name in draws_of(run)]
        for name, statistic, tolerance in statistics:
            what = f"{title}: {name}, {size.name}"
            both = Draws(*(tuple(statistic([one[at] for at in places]) / 1e3 for one in of) for of in (theirs, ours)))
            yield drawn(what, what, _source(run), both, tolerance)


def _p99(values: Sequence[float]) -> float:
    return float(p99(pl.Series(values)))


def _source(run: str) -> str:
    return f"{FOLDER}/{run}.csv.gz" if run in LOADS else f"{FOLDER}/{run}.csv"
