"""What a number of threads would gain, on a machine that need not have so many processors.

One thread takes all shards through each window, one after the other, and times each. So many threads would take as
long as the slowest shard of each window, and what it takes them to meet after it. One thread does what lies outside
windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packetloom import _core
from packetloom.bench.benchmarks import check_names

THREADS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A benchmark on a number of threads: seconds in all, in windows and in meetings, and the gain over one. Of the
    windows' seconds, `busiest_s` would be left if every window cost the busiest shard its mean."""

    name: str
    threads: int
    windows: int
    wall_s: float
    in_windows_s: float
    busiest_s: float
    meetings_s: float
    gain: float


def meetings_s(windows: int, threads: int, meeting: tuple[float, float]) -> float:
    """What so many threads take to meet after so many windows."""
    with_one, for_each_more = meeting
    return windows * (with_one + for_each_more * (threads - 2)) if threads > 1 else 0.0


def foresee(name: str, threads: Sequence[int] = THREADS) -> list[Foreseen]:
    """What a benchmark takes on these numbers of threads, of which the first is what the others are compared with."""
    meeting = _core.bench_meeting()
    found: list[Foreseen] = []
    for count in threads:
        figure = _core.bench_in_turn(name, count)
        windows, longest_s, busiest_s = int(figure["windows"]), float(figure["longest_s"]), float(figure["busiest_s"])
        met_s = meetings_s(windows, count, meeting)
        wall_s = float(figure["cpu_s"]) - float(figure["all_s"]) + longest_s + met_s
        first = found[0].wall_s if found else wall_s
        found.append(Foreseen(name, count, windows, wall_s, longest_s, busiest_s, met_s, first / wall_s))
    return found


def print_model(names: Sequence[str], json_file: Path | None) -> None:
    """Prints what threads would gain in these benchmarks, and what two do gain."""
    from dataclasses import asdict

    from rich.table import Table

    from packetloom.common.terminal import console

    check_names(names)
    figures = []
    for name in names or ["fifo-permutation-k16", "fifo-permutation-k32", "all-reduce-1024"]:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", title=name, title_justify="left")
        for heading in (
            "threads",
            "windows",
            "seconds",
            "in windows",
            "busiest shard",
            "in meetings",
            "gain",
            "measured",
        ):
            table.add_column(heading, justify="right")
        foreseen = foresee(name)
        walls = [float(_core.bench(name, count)["wall_s"]) for count in (1, 2)]
        for one in foreseen:
            measured = f"{walls[0] / walls[1]:.2f}" if one.threads == 2 else ""
            values = (one.wall_s, one.in_windows_s, one.busiest_s, one.meetings_s, one.gain)
            seconds = (f"{value:.2f}" for value in values)
            table.add_row(str(one.threads), f"{one.windows:,}", *seconds, measured)
            figures.append(asdict(one) | ({"measured_gain": walls[0] / walls[1]} if one.threads == 2 else {}))
        console().print(table)
    if json_file:
        from packetloom.common.files import write_json

        write_json(json_file, figures, "the figures")
