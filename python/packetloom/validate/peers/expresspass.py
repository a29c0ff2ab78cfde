"""ExpressPass on the ns-2 of SIRD's authors, which has a port of its authors' code: `validation/expresspass_ns2/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from packetloom.validate.peers.flow_lists import P99_NEEDS_FLOWS, SizeRange

FOLDER = "expresspass_ns2"
# How sizes and gaps of credits are drawn: there by libc's `rand`, which each packet between switches seeds, or, with a
# line of theirs changed, by a generator that nothing else seeds. The first is repeated here where all flows go to one
# host (`draws = "libc"`); libc's `rand` begins with K there and by seed K here.
LIBC, OWN = "fct_ns", "own_ns"
HOW = {LIBC: "", OWN: ", each credit drawn"}
LOAD_SEEDS, SEEDS = 20, 4
LONE_WITHIN, FEW_WITHIN = 0.01, 0.02
STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean FCT": fmean,
    "FCT of the first flow to end": min,
    "FCT of the last flow to end": max,
}
SIZES = (
    SizeRange("all", 0, float("inf")),
    SizeRange("a packet", 0, 1_458),
    SizeRange("up to 100 KB", 1_458, 100_000),
    SizeRange("100 to 800 KB", 100_000, 800_000),
    SizeRange("above 800 KB", 800_000, float("inf")),
)
"""Those by which the runs were summed up."""


@dataclass(frozen=True, slots=True)
class Network:
    """The network of some runs, and what their transport was set to."""

    title: str
    gbps: int
    leaves: int
    hosts_per_leaf: int
    spines: int
    host_delay_ns: int
    delay_ns: int
    transport: Mapping[str, Any]
    capacity: str
    framing: str = "38B"

    def scenario(self, *, repeats: bool) -> dict[str, Any]:
        """What does not depend on the flows."""
        drawn = {"draws": "libc"} if repeats else {}
        host_link = {"rate": f"{self.gbps}Gbps", "delay": f"{self.host_delay_ns}ns"}
        return {
            "topology": {
                "kind": "leaf-spine",
                "leaves": self.leaves,
                "hosts_per_leaf": self.hosts_per_leaf,
                "spines": self.spines,
                "host_link": host_link,
                "link": {"rate": f"{4 * self.gbps}Gbps", "delay": f"{self.delay_ns}ns"},
                "framing": self.framing,
            },
            "scheme": [
                {
                    "name": "ExpressPass",
                    "transport": {"kind": "expresspass"} | dict(self.transport) | drawn,
                    "queue": {"kind": "credit-limiter", "capacity": self.capacity},
                    "routing": {"kind": "ecmp", "symmetric": True},
                }
            ],
        }


NWSIM = {"variant": "nwsim"}
AT_100 = Network("100 Gb/s", 100, 4, 8, 2, 1_250, 500, NWSIM, "1000000 packets")
LARGE = Network("100 Gb/s, 144 hosts", 100, 9, 16, 4, 1_250, 500, NWSIM, "1000000 packets")
# Of a host's link, one way takes 5 us and the other 4; no path has more or less than one of each.
AT_10 = Network("10 Gb/s", 10, 4, 8, 2, 4_500, 4_000, {"variant": "fat-tree"}, "250 packets")
SLOW_START = Network("10 Gb/s, alpha 1/16", 10, 4, 8, 2, 4_500, 4_000, NWSIM, "250 packets")


@dataclass(frozen=True, slots=True)
class Run:
    """Some flows on a network, which were run again and again."""

    name: str
    title: str
    network: Network
    # How many flows there are each time; none of a load, whose draws are columns of the file.
    flows: int = 0
    quick: bool = True
    draws: tuple[str, ...] = (OWN,)

    @property
    def is_lone(self) -> bool:
        """Whether each flow is alone."""
        return "lone" in self.name

    @property
    def file(self) -> str:
        """What their simulator measured."""
        return f"{self.name}.csv"

    def seeds(self) -> int:
        """How many runs of ours there are. Of lone flows nothing is left to chance."""
        return 1 if self.is_lone else SEEDS if self.flows else LOAD_SEEDS


BOTH = (LIBC, OWN)
RUNS = (
    Run("100g_lone_rack", "lone flows in a rack", AT_100, 16, draws=(LIBC,)),
    Run("100g_lone_x", "lone flows between racks", AT_100, 16, draws=(LIBC,)),
    Run("100g_four_in", "four flows of 8 MB to a host, 0.2 ms apart", AT_100, 4, draws=BOTH),
    Run("100g_in_small", "two smaller flows beside one of 5 MB to a host", AT_100, 3, draws=BOTH),
    Run("100g_two_out", "two flows of 10 MB from a host", AT_100, 2),
    Run("100g_four_out", "four flows of 1 MB from a host", AT_100, 4),
    Run("100g_three_three", "nine flows of 0.4 MB from three hosts to three", AT_100, 9),
    Run("100g_inc8_x", "incast of 8 flows of 0.5 MB", AT_100, 8, draws=BOTH),
    Run("100g_inc50", "incast of 50 flows of 0.1 MB", AT_100, 50, draws=BOTH),
    Run("100g_perm32", "each of 32 hosts sends 2 MB to another", AT_100, 32),
    Run("10g_lone_rack", "lone flows in a rack", AT_10, 16, draws=(LIBC,)),
    Run("10g_lone_x", "lone flows between racks", AT_10, 16, draws=(LIBC,)),
    Run("10g_two_in", "two flows of 10 MB to a host, 2 ms apart", AT_10, 2, draws=BOTH),
    Run("10g_inc8_x", "incast of 8 flows of 0.5 MB", AT_10, 8, draws=BOTH),
    Run("10g_perm32", "each of 32 hosts sends 2 MB to another", AT_10, 32),
    Run("10g_alpha16_two_in", "two flows of 10 MB to a host, 2 ms apart", SLOW_START, 2, draws=BOTH),
)
LOADS = (
    Run("100g_w4_50", "W4 at load 0.5", AT_100, quick=False),
    Run("100g_w4_85", "W4 at load 0.85", AT_100, quick=False),
    Run("100g_w4_80T144", "W4 at load 0.8", LARGE, quick=False),
    Run("100g_ws_50", "web search at load 0.5", AT_100, quick=False),
    Run("100g_ws_70", "web search at load 0.7", AT_100, quick=False),
)


def expresspass_comparisons() -> list[Check]:
    """All of them."""
    return [*(_check(run, _few) for run in RUNS), *(_check(run, _load) for run in LOADS)]


def read_run(run: Run) -> pl.DataFrame:
    """A flow in each row, by start: its ends, size and start, and the time that it took by each way of drawing."""
    plain = PEERS_FOLDER / FOLDER / run.file
    path = plain if plain.exists() else plain.with_suffix(".csv.gz")
    return read_table(path)


def scenario_of(run: Run, folder: Path, draws: str) -> dict[str, Any]:
    """The scenario of a run; its flows are put into `folder`."""
    path = folder / "flows" / run.file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, read_run(run).select("src", "dst", "size_bytes", "start_ns").write_csv())
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    workload = [{"arrivals": {"kind": "list", "file": str(path.absolute())}}]
    return run.network.scenario(repeats=draws == LIBC) | {"workload": workload, "run": {"seeds": run.seeds()}}


def _check(run: Run, rows: Callable[[Run, str, list[pl.DataFrame]], list[Row]]) -> Check:
    return Check(
        f"expresspass-{run.name}",
        lambda folder: {draws: scenario_of(run, folder, draws) for draws in run.draws},
        lambda results: [row for draws in run.draws for row in rows(run, draws, _of_seeds(run, results[draws]))],
        quick=run.quick,
    )


def _of_seeds(run: Run, results: Results) -> list[pl.DataFrame]:
    """Their flows with `ours`, once for each seed."""
    theirs = read_run(run)
    parts = results.to_polars("flows").sort("seed", "flow_id").partition_by("seed")
    same = [theirs["size_bytes"].to_list() == part["size_bytes"].to_list() for part in parts]
    if not all(same):
        raise PacketloomError("these flows are not those of the list: delete the results, run again")
    return [theirs.with_columns(ours=part["fct_ns"].cast(pl.Float64)) for part in parts]


def _title(run: Run) -> str:
    return f"ExpressPass's ns-2, {run.network.title}, {run.title}"


def _row(run: Run, draws: str, what: str, sides: tuple[Sequence[float], Sequence[float]], within: float) -> Row:
    text, id = f"{_title(run)}{HOW[draws]}: {what}", f"expresspass {run.name}{HOW[draws]} {what}"
    source = f"{FOLDER}/{run.file}"
    theirs, ours = sides
    if run.is_lone:
        return agreement(id, text, source, theirs[0], ours[0], within)
    return drawn(id, text, source, Draws(tuple(theirs), tuple(ours)), within)


def _few(run: Run, draws: str, of_seeds: list[pl.DataFrame]) -> list[Row]:
    """Of lone flows each one's time, of others' the mean, the first and the last."""
    theirs, ours = of_seeds[0][draws].to_list(), [part["ours"].to_list() for part in of_seeds]
    if run.is_lone:
        return [
            _row(run, draws, f"FCT in ns of {size} B", ([float(theirs[nth])], [ours[0][nth]]), LONE_WITHIN)
            for nth, size in enumerate(of_seeds[0]["size_bytes"])
        ]
    times = _each_time(run, [theirs]), _each_time(run, ours)
    made = []
    for name, statistic in STATISTICS.items():
        us = [[statistic(once) / 1e3 for once in side] for side in times]
        made.append(_row(run, draws, f"{name} in us", (us[0], us[1]), FEW_WITHIN))
    return made


def _each_time(run: Run, columns: list[list[float]]) -> list[list[float]]:
    """The flows of each time that they were run."""
    return [column[at : at + run.flows] for column in columns for at in range(0, len(column), run.flows)]


def _load(run: Run, draws: str, of_seeds: list[pl.DataFrame]) -> list[Row]:
    """Slowdowns by size."""
    names = [name for name in of_seeds[0].columns if name.startswith(draws)]
    made = []
    for size in SIZES:
        of_size = pl.col("size_bytes").is_between(size.above, size.up_to, closed="right")
        parts = [part.filter(of_size) for part in of_seeds]
        statistics = [("mean slowdown", _mean, MEAN_WITHIN)]
        if parts[0].height >= P99_NEEDS_FLOWS:
            statistics.append(("p99 of the slowdown", p99, P99_WITHIN))
        for name, statistic, within in statistics:
            theirs = [statistic(_slowdowns(run, parts[0], column)) for column in names]
            ours = [statistic(_slowdowns(run, part, "ours")) for part in parts]
            made.append(_row(run, draws, f"{name}, {size.name}", (theirs, ours), within))
    return made


def _slowdowns(run: Run, flows: pl.DataFrame, column: str) -> pl.Series:
    """Over payload at the rate of a host's link and the delay of the path, as SIRD's authors have it."""
    network = run.network
    is_near = pl.col("src") // network.hosts_per_leaf == pl.col("dst") // network.hosts_per_leaf
    delay = 2 * network.host_delay_ns + pl.when(is_near).then(0).otherwise(2 * network.delay_ns)
    return flows.select(slowdown=pl.col(column) / (pl.col("size_bytes") * 8 / network.gbps + delay))["slowdown"]


def _mean(values: pl.Series) -> float:
    return fmean(values)
