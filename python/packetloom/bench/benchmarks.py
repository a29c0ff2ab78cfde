"""Benchmarks, each in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packetloom import _core
from packetloom.common.suggest import meant
from packetloom.common.system import on_cores, peak_memory_bytes
from packetloom.errors import PacketloomError

if TYPE_CHECKING:
    from packetloom.bench.circumstances import Circumstances

RUN = """\
import json, sys
from packetloom.bench import measure
print(json.dumps([measure(sys.argv[1]) for _ in range(int(sys.argv[2]))]))
"""
"""A process that runs a benchmark some times. Builds without repetition and reference loop have `measure`, too."""

YARDSTICK = """\
import json, sys
from packetloom import _core
print(json.dumps(_core.bench_reference_loop(sys.argv[1], float(sys.argv[2]))))
"""
"""A process of its own, as its memory must not count as the benchmark's."""

YARDSTICK_CPU_S = 0.5
"""How long the reference loop runs, before and after each benchmark."""


def run_benchmarks(names: Sequence[str], json_file: Path | None) -> list[dict[str, Any]]:
    """Runs these benchmarks (all, if none is named), prints a table, and writes the figures as JSON."""
    from packetloom.bench.circumstances import (
        Circumstances,  # here, so that it is not in the memory of what is measured
    )

    check_names(names)
    circumstances = Circumstances()
    figures = []
    for name in names or _core.bench_names():
        print(f"running {name}", file=sys.stderr, flush=True)
        figures.append(beside_reference_loop(name))
    _print(figures, circumstances)
    if json_file:
        from packetloom.common.files import write_json

        write_json(json_file, [circumstances.of(figure) for figure in figures], "the figures")
    return figures


def check_names(names: Sequence[str]) -> None:
    """Refuses what is no benchmark."""
    known = _core.bench_names()
    for name in names:
        if name not in known:
            raise PacketloomError(f"there is no benchmark {name!r}; {meant(name, known)}")


def beside_reference_loop(name: str) -> dict[str, Any]:
    """Runs one benchmark between two runs of the reference loop, a bare loop on a fabric of the same size.

    What slows both down, such as busy neighbours, does not change the benchmark's share of the reference loop.
    """
    before = _reference_loop(name)
    figure = in_process_of(Path(sys.executable), name)
    after = _reference_loop(name)
    reference_loop = (before["packet_hops"] + after["packet_hops"]) / (before["cpu_s"] + after["cpu_s"])
    share = figure["packet_hops_per_cpu_s"] / reference_loop
    return {**figure, "reference_packet_hops_per_cpu_s": reference_loop, "share_of_reference": share}


def _reference_loop(name: str) -> dict[str, float]:
    command = [sys.executable, "-c", YARDSTICK, name, str(YARDSTICK_CPU_S)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figure: dict[str, float] = json.loads(finished.stdout)
    return figure


def measure(name: str) -> dict[str, Any]:
    """Runs one benchmark once in this process."""
    figure = _core.bench(name)
    return {
        **figure,
        "packet_hops_per_cpu_s": float(figure["packet_hops"]) / float(figure["cpu_s"]),
        "peak_memory_bytes": peak_memory_bytes(),
    }


def together(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Runs of one benchmark as one figure: what was done and what it took, summed up."""
    sums = {key: sum(run[key] for run in runs) for key in ("packet_hops", "events", "cpu_s", "wall_s")}
    return {
        **runs[0],
        **sums,
        "runs": len(runs),
        "packet_hops_per_cpu_s": sums["packet_hops"] / sums["cpu_s"],
        "peak_memory_bytes": max(run["peak_memory_bytes"] for run in runs),
    }


def in_process_of(python: Path, name: str, cores: Sequence[int] = ()) -> dict[str, Any]:
    """Runs one benchmark of the build that this Python has, as often as takes a CPU-second or more of this build.

    All runs are in one process of their own; on these cores only, if given.
    """
    command = [str(python), "-c", RUN, name, str(_core.bench_runs(name))]
    if cores:
        command = on_cores(command, cores)
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return together(json.loads(finished.stdout))


def _print(figures: Sequence[dict[str, Any]], circumstances: Circumstances) -> None:
    from rich.table import Table

    from packetloom.common.terminal import console

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("\nbenchmark", overflow="fold")  # names that are cut look all the same
    headings = (
        "million\nhops",
        "million per\nCPU second",
        "share of\nreference",
        "events\nper hop",
        "\nCPU s",
        "\nwall s",
        "peak\nmemory",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for figure in figures:
        table.add_row(
            figure["name"],
            f"{figure['packet_hops'] / 1e6:.2f}",
            f"{figure['packet_hops_per_cpu_s'] / 1e6:.2f}",
            f"{figure['share_of_reference']:.2f}",
            f"{figure['events'] / figure['packet_hops']:.2f}",
            f"{figure['cpu_s']:.2f}",
            f"{figure['wall_s']:.2f}",
            f"{figure['peak_memory_bytes'] / 1e6:,.0f} MB",
        )
    screen = console()
    screen.print(table)
    screen.print(f"\n{circumstances}", soft_wrap=True)
