"""The command: every comparison of the chosen kinds, its table, and whether all is well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError
from packetloom.validate.comparison import Check, Row, print_rows, run_comparisons, write_rows
from packetloom.validate.hardware import hardware_comparisons, set_names
from packetloom.validate.hardware.tables import print_figures
from packetloom.validate.kernel.comparisons import kernel_comparisons
from packetloom.validate.kernel.network import UnavailableError
from packetloom.validate.kernel.virtual_machine import VirtualMachine, kernel_version
from packetloom.validate.peers import config_comparison, peer_comparisons
from packetloom.validate.theory import theory_comparisons

# What the others' figures are called, and the comparisons.
Kind = tuple[str, Callable[[], list[Check]]]

KINDS: dict[str, Kind] = {
    "theory": ("predicted", theory_comparisons),
    "peers": ("theirs", peer_comparisons),
    "kernel": ("kernel", kernel_comparisons),
    "hardware": ("asked", hardware_comparisons),
}


def named(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What to compare with, and which sets of machines' measurements, of what a user names."""
    kinds = [word for word in words if word in KINDS]
    sets = [word for word in words if word not in KINDS]
    if sets and "hardware" not in kinds:
        known = [*KINDS, *(f"hardware {name}" for name in set_names())]
        raise PacketloomError(f"there is nothing called {sets[0]!r} to compare with: {meant(sets[0], known)}")
    return kinds, sets


def run_validation(
    against: Sequence[str],
    json_file: Path | None = None,
    workers: int | None = None,
    *,
    quick: bool = False,
    virtual_kernel: Path | None = None,
    configs: Sequence[Path] = (),
    measurements: Path | None = None,
) -> bool:
    """Whether every row holds, or differs as is known of it.

    The kernel is that of a virtual machine, if one is given. With `configs` of HPCC's or ConWeave's simulator, these
    alone are the peers. Machines' `measurements` are those that are shipped, or a folder's.
    """
    against, sets = named(against)
    kinds = dict(KINDS)
    if measurements and "hardware" not in against:
        raise PacketloomError("--measurements goes with `packetloom validate hardware`: nothing else reads them")
    if sets or measurements:
        kinds["hardware"] = ("asked", lambda: hardware_comparisons(sets, measurements))
    if configs:
        if [*against] != ["peers"]:
            raise PacketloomError("--config goes with `packetloom validate peers`: theory and kernel have none")
        kinds["peers"] = ("theirs", lambda: [config_comparison(file) for file in configs])
    if virtual_kernel is None:
        return _run(kinds, against, json_file, workers, quick)
    if "kernel" not in against:
        raise PacketloomError("--vm goes with `packetloom validate kernel`: nothing else needs a kernel")
    with VirtualMachine(virtual_kernel) as machine:
        kinds |= {"kernel": ("kernel", lambda: kernel_comparisons(machine.trials_of, kernel_version(virtual_kernel)))}
        return _run(kinds, against, json_file, workers, quick)


def _run(
    kinds: Mapping[str, Kind], against: Sequence[str], json_file: Path | None, workers: int | None, quick: bool
) -> bool:
    rows: list[Row] = []
    agreed = True
    for kind in against:
        theirs, comparisons = kinds[kind]
        chosen = [one for one in comparisons() if one.quick or not quick]
        if not chosen:
            raise PacketloomError(f"nothing of {kind} is quick: leave out --quick")
        found: list[Row] = []
        skipped: dict[str, list[str]] = {}
        for one in chosen:
            try:
                found += run_comparisons([one], workers)
            except UnavailableError as error:
                skipped.setdefault(str(error), []).append(one.name)
        for reason, names in skipped.items():
            print(f"{kind if len(names) == len(chosen) else '; '.join(names)}: skipped: {reason}")
        if not found:
            continue
        if kind == "hardware":
            print_figures(found)
        print_rows(kind, theirs, found)
        rows += found
        agreed &= all(row.verdict != "differs" for row in found)
    if json_file:
        write_rows(rows, json_file)
    return agreed
