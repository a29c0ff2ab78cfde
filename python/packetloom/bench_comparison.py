"""Two builds' benchmarks in turn, so that both see the same machine: the ratios hold where seconds do not."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from packetloom import _core
from packetloom.bench import in_process_of
from packetloom.build import build_of
from packetloom.circumstances import Circumstances
from packetloom.errors import PacketloomError


@dataclass(frozen=True)
class Ratio:
    """This build's packet-hops per CPU-second over the other's: the median of pairs of runs, and their spread."""

    name: str
    median: float
    least: float
    most: float
    pairs: int


def compare_builds(names: Sequence[str], other: Path, pairs: int, json_file: Path | None) -> list[Ratio]:
    """Runs the benchmarks that both builds have in `pairs` pairs; `other` is the Python that has the other build."""
    if pairs < 1:
        raise PacketloomError(f"{pairs} pairs of runs show nothing; write 1 or more")
    theirs, their_names = build_of(other)
    circumstances = Circumstances(other_build=theirs)
    ratios = []
    for name in _common(names, their_names):
        print(f"running {name}", file=sys.stderr, flush=True)
        ratios.append(_compare(name, other, pairs))
    _print(ratios, circumstances)
    if json_file:
        from packetloom.storage import write_json

        write_json(json_file, [circumstances.of(asdict(ratio)) for ratio in ratios], "the ratios")
    return ratios


def _common(names: Sequence[str], theirs: Sequence[str]) -> list[str]:
    common = [name for name in _core.bench_names() if name in theirs]
    missing = [name for name in names if name not in common]
    if missing:
        raise PacketloomError(f"not both builds have {', '.join(missing)}; both have {', '.join(common)}")
    return list(names) or common


def _compare(name: str, other: Path, pairs: int) -> Ratio:
    ratios = []
    for pair in range(pairs):
        # Who goes first changes, so that a machine that gets slower favours neither.
        if pair % 2 == 0:
            ours, theirs = _rate(Path(sys.executable), name), _rate(other, name)
        else:
            theirs, ours = _rate(other, name), _rate(Path(sys.executable), name)
        ratios.append(ours / theirs)
    return Ratio(name, statistics.median(ratios), min(ratios), max(ratios), pairs)


def _rate(python: Path, name: str) -> float:
    return float(in_process_of(python, name)["packet_hops_per_cpu_s"])


def _print(ratios: Sequence[Ratio], circumstances: Circumstances) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("benchmark")
    for heading in ("times as fast", "least", "most", "pairs"):
        table.add_column(heading, justify="right")
    for ratio in ratios:
        table.add_row(ratio.name, f"{ratio.median:.3f}", f"{ratio.least:.3f}", f"{ratio.most:.3f}", f"{ratio.pairs}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"\n{circumstances}", markup=False, soft_wrap=True)
