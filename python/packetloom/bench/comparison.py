"""Two builds' benchmarks in pairs of runs: the ratios hold where seconds do not."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.bench.circumstances import Circumstances
from packetloom.bench.pairs import Figure, Pair, pair_runner
from packetloom.common.build import build_of
from packetloom.errors import PacketloomError

ENOUGH_FOR_QUARTILES = 4


@dataclass(frozen=True)
class PairedRuns:
    """One benchmark's pairs of runs."""

    name: str
    runs: str
    pairs: list[Pair]

    @property
    def ratios(self) -> list[float]:
        """Of each pair: this build's packet-hops per CPU-second over the other's."""
        return [_rate(ours) / _rate(theirs) for ours, theirs in self.pairs]

    @property
    def median(self) -> float:
        """Of the ratios."""
        return statistics.median(self.ratios)

    @property
    def spread(self) -> tuple[float, float]:
        """The ratios' quartiles; their least and most where there are too few."""
        if len(self.pairs) < ENOUGH_FOR_QUARTILES:
            return min(self.ratios), max(self.ratios)
        lower, _, upper = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return lower, upper

    def as_figure(self) -> Figure:
        """What goes into a file: every run, and what comes of them."""
        lower, upper = self.spread
        spread = "quartiles" if len(self.pairs) >= ENOUGH_FOR_QUARTILES else "least_and_most"
        ratio: dict[str, Any] = {"median": self.median, spread: [lower, upper], "of_pairs": self.ratios}
        pairs = [{"this": ours, "other": theirs} for ours, theirs in self.pairs]
        return {"name": self.name, "runs": self.runs, "ratio": ratio, "pairs": pairs}


def compare_builds(names: Sequence[str], other: Path, pairs: int, json_file: Path | None) -> list[PairedRuns]:
    """Runs the benchmarks that both builds have in `pairs` pairs; `other` is the Python that has the other build."""
    if pairs < 1:
        raise PacketloomError(f"{pairs} pairs of runs are too few; write 1 or more")
    theirs, their_names = build_of(other)
    circumstances = Circumstances(other_build=theirs)
    comparisons = []
    for name in _common(names, their_names):
        runs, run_pair = pair_runner(name, other)
        print(f"running {name}, both builds {runs}", file=sys.stderr, flush=True)
        comparisons.append(PairedRuns(name, runs, [run_pair(number) for number in range(pairs)]))
    _print(comparisons, circumstances)
    if json_file:
        from packetloom.common.files import write_json

        figures = [circumstances.of(comparison.as_figure()) for comparison in comparisons]
        write_json(json_file, figures, "the ratios")
    return comparisons


def _common(names: Sequence[str], theirs: Sequence[str]) -> list[str]:
    common = [name for name in _core.bench_names() if name in theirs]
    missing = [name for name in names if name not in common]
    if missing:
        raise PacketloomError(f"not both builds have {', '.join(missing)}; both have {', '.join(common)}")
    return list(names) or common


def _rate(figure: Figure) -> float:
    return float(figure["packet_hops_per_cpu_s"])


def _print(comparisons: Sequence[PairedRuns], circumstances: Circumstances) -> None:
    from rich.table import Table

    from packetloom.common.terminal import console

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("benchmark", no_wrap=True)
    pairs = max((len(comparison.pairs) for comparison in comparisons), default=0)
    spread = "quartiles" if pairs >= ENOUGH_FOR_QUARTILES else "least, most"
    for heading in ("times as fast", spread, "pairs", "runs"):
        table.add_column(heading, justify="right")
    for comparison in comparisons:
        lower, upper = comparison.spread
        row = (f"{comparison.median:.3f}", f"{lower:.3f}, {upper:.3f}", f"{len(comparison.pairs)}", comparison.runs)
        table.add_row(comparison.name, *row)
    screen = console()
    screen.print(table)
    screen.print(f"\n{circumstances}", soft_wrap=True)
