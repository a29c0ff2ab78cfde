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
# Theirs are one draw of gaps, sizes of credits and paths, or several. Where ours draws as theirs does, flows of draw K
# are numbered from 1,000,003 (K - 1) on, and libc's `rand` begins with K, both there and by seed K here.
SEEDS, REPEATED = 20, 40
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
    """Some flows on a network."""

    name: str
    title: str
    network: Network
    quick: bool = True
    # Its flows go to one host, as lone flows do: what theirs draws follows from the flows.
    repeats: bool = False

    @property
    def is_lone(self) -> bool:
        """Whether each flow is alone."""
        return "lone" in self.name

    @property
    def seeds(self) -> int:
        """How many runs of ours there are. Of lone flows nothing is left to chance."""
        return 1 if self.is_lone else REPEATED if self.repeats else SEEDS

    @property
    def file(self) -> str:
        """What their simulator measured."""
        return f"{self.name}.csv"


RUNS = (
    Run("100g_lone_rack", "lone flows in a rack", AT_100, repeats=True),
    Run("100g_lone_x", "lone flows between racks", AT_100, repeats=True),
    Run("100g_four_in", "four flows of 8 MB to a host, 0.2 ms apart", AT_100, repeats=True),
    Run("100g_in_small", "two smaller flows beside one of 5 MB to a host", AT_100, repeats=True),
    Run("100g_two_out", "two flows of 10 MB from a host", AT_100),
    Run("100g_inc8_x", "incast of 8 flows of 0.5 MB", AT_100, repeats=True),
    Run("100g_inc50", "incast of 50 flows of 0.1 MB", AT_100, repeats=True),
    Run("100g_perm32", "each of 32 hosts sends 2 MB to another", AT_100),
    Run("10g_lone_rack", "lone flows in a rack", AT_10, repeats=True),
    Run("10g_lone_x", "lone flows between racks", AT_10, repeats=True),
    Run("10g_two_in", "two flows of 10 MB to a host, 2 ms apart", AT_10, repeats=True),
    Run("10g_inc8_x", "incast of 8 flows of 0.5 MB", AT_10, repeats=True),
    Run("10g_perm32", "each of 32 hosts sends 2 MB to another", AT_10),
    Run("10g_alpha16_two_in", "two flows of 10 MB to a host, 2 ms apart", SLOW_START, repeats=True),
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
    """A flow in each row, by start: its ends, size and start, the time that it took, and its credits."""
    plain = PEERS_FOLDER / FOLDER / run.file
    path = plain if plain.exists() else plain.with_suffix(".csv.gz")
    return read_table(path)


def scenario_of(run: Run, folder: Path) -> dict[str, Any]:
    """The scenario of a run; its flows are put into `folder`."""
    path = folder / "flows" / run.file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, read_run(run).select("src", "dst", "size_bytes", "start_ns").write_csv())
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    workload = [{"arrivals": {"kind": "list", "file": str(path.absolute())}}]
    return run.network.scenario(repeats=run.repeats) | {"workload": workload, "run": {"seeds": run.seeds}}


def _check(run: Run, rows: Callable[[Run, list[pl.DataFrame]], list[Row]]) -> Check:
    return Check(
        f"expresspass-{run.name}",
        lambda folder: {"it": scenario_of(run, folder)},
        lambda results: rows(run, _draws(run, results["it"])),
        quick=run.quick,
    )


def _draws(run: Run, results: Results) -> list[pl.DataFrame]:
    """Their flows with `ours`, once for each seed."""
    theirs = read_run(run)
    parts = results.to_polars("flows").sort("seed", "flow_id").partition_by("seed")
    same = [theirs["size_bytes"].to_list() == part["size_bytes"].to_list() for part in parts]
    if not all(same):
        raise PacketloomError("these flows are not those of the list: delete the results, run again")
    return [theirs.with_columns(ours=part["fct_ns"].cast(pl.Float64)) for part in parts]


def _title(run: Run) -> str:
    return f"ExpressPass's ns-2, {run.network.title}, {run.title}"


def _row(run: Run, what: str, theirs: Sequence[float], ours: Sequence[float], within: float) -> Row:
    text, id = f"{_title(run)}: {what}", f"expresspass {run.name} {what}"
    source = f"{FOLDER}/{run.file}"
    if run.is_lone:
        return agreement(id, text, source, theirs[0], ours[0], within)
    return drawn(id, text, source, Draws(tuple(theirs), tuple(ours)), within)


def _few(run: Run, draws: list[pl.DataFrame]) -> list[Row]:
    """Of lone flows each one's time, of others' the mean, the first and the last."""
    theirs = [[float(one) for one in draws[0][name]] for name in draws[0].columns if name.startswith("fct_ns")]
    ours = [[float(one) for one in draw["ours"]] for draw in draws]
    if run.is_lone:
        return [
            _row(run, f"FCT in ns of {size} B", [theirs[0][nth]], [ours[0][nth]], LONE_WITHIN)
            for nth, size in enumerate(draws[0]["size_bytes"])
        ]
    return [_few_row(run, name, theirs, ours) for name in STATISTICS]


def _few_row(run: Run, name: str, theirs: list[list[float]], ours: list[list[float]]) -> Row:
    us = [[STATISTICS[name](draw) / 1e3 for draw in side] for side in (theirs, ours)]
    return _row(run, f"{name} in us", us[0], us[1], FEW_WITHIN)


def _load(run: Run, draws: list[pl.DataFrame]) -> list[Row]:
    """Slowdowns by size."""
    made = []
    for size in SIZES:
        of_size = pl.col("size_bytes").is_between(size.above, size.up_to, closed="right")
        parts = [draw.filter(of_size) for draw in draws]
        statistics = [("mean slowdown", _mean, MEAN_WITHIN)]
        if parts[0].height >= P99_NEEDS_FLOWS:
            statistics.append(("p99 of the slowdown", p99, P99_WITHIN))
        for name, statistic, within in statistics:
            theirs = [statistic(_slowdowns(run, parts[0], "fct_ns"))]
            ours = [statistic(_slowdowns(run, part, "ours")) for part in parts]
            made.append(_row(run, f"{name}, {size.name}", theirs, ours, within))
    return made


def _slowdowns(run: Run, flows: pl.DataFrame, column: str) -> pl.Series:
    """Over payload at the rate of a host's link and the delay of the path, as SIRD's authors have it."""
    network = run.network
    is_near = pl.col("src") // network.hosts_per_leaf == pl.col("dst") // network.hosts_per_leaf
    delay = 2 * network.host_delay_ns + pl.when(is_near).then(0).otherwise(2 * network.delay_ns)
    return flows.select(slowdown=pl.col(column) / (pl.col("size_bytes") * 8 / network.gbps + delay))["slowdown"]


def _mean(values: pl.Series) -> float:
    return fmean(values)
