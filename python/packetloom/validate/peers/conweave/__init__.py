"""ConWeave's ns-3 simulator: its settings replayed under ECMP, LetFlow, CONGA, DRILL and ConWeave.

Its `config.txt` files are those of HPCC's simulator, which it is made of, with keys of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import PEERS_FOLDER
from packetloom.validate.peers.conweave.rows import MANY_FLOWS, rows_of
from packetloom.validate.peers.conweave.scenario import replay_scenario
from packetloom.validate.peers.hpcc.settings import Settings, read_settings

FOLDER = "conweave_ns3"
# Hashes, paths and marks are drawn; ours so many times: of few flows, and of many.
DRAWS, DRAWS_OF_MANY = 20, 10


def conweave_comparisons() -> list[Check]:
    """All that lie in `validation/`; draws of one setting, whose names end with `_s1`, `_s2` .., are one."""
    files = sorted((PEERS_FOLDER / FOLDER / "cfg").glob("*.txt"))
    by_setting = groupby(files, lambda file: re.sub(r"_s\d+$", "", file.stem))
    return [balanced_comparison_of(name, [read_settings(file) for file in draws]) for name, draws in by_setting]


def balanced_comparison_of(name: str, theirs: Sequence[Settings]) -> Check:
    """The comparison of one `config.txt`, or of several that differ in their seed alone."""
    first = theirs[0]
    is_large = len(first.flows) >= MANY_FLOWS

    def scenarios(folder: Path) -> dict[str, Any]:
        return {"replayed": replay_scenario(first, folder, DRAWS_OF_MANY if is_large else DRAWS)}

    def rows(results: Mapping[str, Results]) -> Sequence[Row]:
        return rows_of(name, theirs, results["replayed"])

    return Check(f"conweave-{name}", scenarios, rows, quick=not is_large)
