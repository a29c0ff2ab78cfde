"""How fast the control algorithms are on one core, and how that grows with the number of servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.bench.circumstances import Circumstances

SERVERS = (120, 256, 1024, 4096)
SLOT_BITS = 1500 * 8

Figure = dict[str, Any]


def run_control_benchmarks(json_file: Path | None, servers: Sequence[int] = SERVERS) -> list[Figure]:
    """Measures every algorithm for these numbers of servers, prints a table, and writes the figures as JSON."""
    circumstances = Circumstances()
    figures = [with_rates(figure) for count in servers for figure in _core.control_bench(count)]
    growth = growth_exponents(figures)
    for figure in figures:
        figure["growth_exponent"] = growth[figure["algorithm"]]
    _print(figures, circumstances)
    if json_file:
        from packetloom.common.files import write_json

        write_json(json_file, [circumstances.of(figure) for figure in figures], "the figures")
    return figures


def with_rates(figure: Figure) -> Figure:
    """The figure with its time per item and, for slots, what one core could arbitrate in Tbit/s."""
    ns_per_item = figure["cpu_s"] / figure["items"] * 1e9
    is_slots = figure["item"] in ("matched packet", "edge")
    return {**figure, "ns_per_item": ns_per_item, "tbps_per_core": SLOT_BITS / ns_per_item / 1e3 if is_slots else None}


def growth_exponents(figures: Sequence[Figure]) -> dict[str, float | None]:
    """For each algorithm the b of time = a × servers^b, for a whole slot or matrix, by least squares on logarithms.

    A slot has load × servers packets, so 1 means that a packet costs the same on any network.
    """
    import numpy as np

    exponents: dict[str, float | None] = {}
    for algorithm in dict.fromkeys(figure["algorithm"] for figure in figures):
        rows = [figure for figure in figures if figure["algorithm"] == algorithm]
        counts = np.log([row["servers"] for row in rows])
        per_server = np.log([row["ns_per_item"] * items_per_server(row) for row in rows])
        exponents[algorithm] = float(1 + np.polyfit(counts, per_server, 1)[0]) if len(rows) > 1 else None
    return exponents


def items_per_server(figure: Figure) -> float:
    """How many items a slot or a matrix has for each server, but for a constant: only matrices get denser."""
    return float(figure["waiting_pairs"] / figure["servers"]) if figure["item"] == "entry" else 1.0


def _print(figures: Sequence[Figure], circumstances: Circumstances) -> None:
    from rich.table import Table

    from packetloom.common.terminal import console

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for heading in ("\nalgorithm", "\nns per"):
        table.add_column(heading, no_wrap=True)
    servers = list(dict.fromkeys(figure["servers"] for figure in figures))
    for count in servers:
        table.add_column(f"{count}\nservers", justify="right", no_wrap=True)
    for heading in ("Tbit/s\nper core", "growth\nexponent"):
        table.add_column(heading, justify="right", no_wrap=True)
    for algorithm in dict.fromkeys(figure["algorithm"] for figure in figures):
        rows = [figure for figure in figures if figure["algorithm"] == algorithm]
        slowest = [row["tbps_per_core"] for row in rows if row["tbps_per_core"] is not None]
        growth = rows[0]["growth_exponent"]
        table.add_row(
            algorithm,
            rows[0]["item"],
            *(f"{row['ns_per_item']:.1f}" for row in rows),
            f"{min(slowest):.2f}" if slowest else "",
            "" if growth is None else f"{growth:.2f}",
        )
    screen = console()
    screen.print(table)
    screen.print(
        "Load 0.9, slots of 1500 B, one core; Tbit/s at the slowest of the sizes (Fastpass: 0.28).\n"
        "Growth: the time of a whole slot or matrix goes with servers to this power."
    )
    screen.print(f"\n{circumstances}", soft_wrap=True)
