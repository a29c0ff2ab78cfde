"""The command: every comparison of the chosen kinds, its table, and whether all is well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from packetloom.errors import PacketloomError
from packetloom.validate.comparison import Comparison, Row, print_rows, run_comparisons, write_rows
from packetloom.validate.kernel import kernel_comparisons
from packetloom.validate.kernel.network import UnavailableError
from packetloom.validate.peers import peer_comparisons
from packetloom.validate.theory import theory_comparisons

KINDS: dict[str, tuple[str, Callable[[], list[Comparison]]]] = {
    "theory": ("predicted", theory_comparisons),
    "peers": ("theirs", peer_comparisons),
    "kernel": ("kernel", kernel_comparisons),
}


def run_validation(
    against: Sequence[str], json_file: Path | None = None, workers: int | None = None, *, quick: bool = False
) -> bool:
    """Whether every row holds, or it is known why not; theory must hold."""
    rows: list[Row] = []
    agreed = True
    for kind in against:
        theirs, comparisons = KINDS[kind]
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
        print_rows(kind, theirs, found)
        rows += found
        # No explanation helps a prediction.
        agreed &= all(row.verdict == "holds" if kind == "theory" else row.accounted_for for row in found)
    if json_file:
        write_rows(rows, json_file)
    return agreed
