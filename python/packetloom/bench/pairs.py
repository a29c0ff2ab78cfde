"""A pair of runs of one benchmark, one of each build, such that both see the same machine.

At once, each on cores of its own, both have the same neighbours. The cores are exchanged from pair to pair, and the
build that starts first after every second pair: the one that ends last has the machine to itself at its end.
Where there are too few cores, or processes can't be bound to them, one runs after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.bench.benchmarks import in_process_of
from packetloom.common.system import can_choose_cores, usable_cores

Figure = dict[str, Any]
Pair = tuple[Figure, Figure]
"""This build's figure and the other's."""


def pair_runner(name: str, other: Path) -> tuple[str, Callable[[int], Pair]]:
    """How pairs of this benchmark run here ("at once" or "in turn"), and what runs the pair of a number."""
    threads = _core.bench_threads(name)
    cores = usable_cores()
    if can_choose_cores() and len(cores) >= 2 * threads:
        halves = (cores[:threads], cores[threads : 2 * threads])
        return "at once", lambda number: _at_once(
            name, other, halves if number % 2 == 0 else halves[::-1], we_begin=number // 2 % 2 == 0
        )
    return "in turn", lambda number: _in_turn(name, other, we_begin=number % 2 == 0)


def _at_once(name: str, other: Path, cores: tuple[list[int], ...], *, we_begin: bool) -> Pair:
    runs = [(Path(sys.executable), cores[0]), (other, cores[1])]
    with ThreadPoolExecutor(2) as both:
        started = [both.submit(in_process_of, python, name, own) for python, own in (runs if we_begin else runs[::-1])]
        first, second = (run.result() for run in started)
    return (first, second) if we_begin else (second, first)


def _in_turn(name: str, other: Path, *, we_begin: bool) -> Pair:
    """Who goes first changes, so that a machine that gets slower favours neither."""
    if we_begin:
        ours = in_process_of(Path(sys.executable), name)
        return ours, in_process_of(other, name)
    theirs = in_process_of(other, name)
    return in_process_of(Path(sys.executable), name), theirs
