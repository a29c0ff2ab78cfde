"""Benchmarks, each in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.errors import PacketloomError
from packetloom.storage import explain_os_error, write_text


def run_benchmarks(names: Sequence[str], json_file: Path | None) -> None:
    """Runs these benchmarks (all, if none is named), prints a table, and writes the figures as JSON."""
    from rich.console import Console
    from rich.table import Table

    known = _core.bench_names()
    for name in names:
        if name not in known:
            raise PacketloomError(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("benchmark")
    for heading in ("packet-hops", "M packet-hops per CPU second", "events per packet-hop", "CPU s", "peak memory"):
        table.add_column(heading, justify="right")
    figures = []
    for name in names or known:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        figure = _in_own_process(name)
        figures.append(figure)
        table.add_row(
            name,
            f"{figure['packet_hops']:,}",
            f"{figure['packet_hops_per_cpu_s'] / 1e6:.2f}",
            f"{figure['events'] / figure['packet_hops']:.2f}",
            f"{figure['cpu_s']:.2f}",
            f"{figure['peak_memory_bytes'] / 1e6:,.0f} MB",
        )
    Console(highlight=False).print(table)
    if json_file:
        try:
            write_text(json_file, json.dumps(figures, indent=2) + "\n")
        except OSError as error:
            raise explain_os_error(error, f"{json_file}: cannot write the figures") from None


def _in_own_process(name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "packetloom.bench", name]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figure: dict[str, Any] = json.loads(finished.stdout)
    return figure


def measure(name: str) -> dict[str, Any]:
    """Runs one benchmark in this process."""
    figure = _core.bench(name)
    return {
        "name": name,
        "packet_hops": figure["packet_hops"],
        "events": figure["events"],
        "cpu_s": figure["cpu_s"],
        "packet_hops_per_cpu_s": float(figure["packet_hops"]) / float(figure["cpu_s"]),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
