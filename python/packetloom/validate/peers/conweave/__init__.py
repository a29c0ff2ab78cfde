"""ConWeave's ns-3 simulator: its settings replayed under ECMP, LetFlow, CONGA, DRILL and ConWeave.

Its `config.txt` files are those of HPCC's simulator, which it is made of, with keys of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packetloom.results import Results
from packetloom.validate.comparison import Comparison, Row
from packetloom.validate.peers.agreement import PEERS_FOLDER
from packetloom.validate.peers.conweave.rows import MANY_FLOWS, rows_of
from packetloom.validate.peers.conweave.scenario import replay_scenario
from packetloom.validate.peers.hpcc.settings import Settings, read_settings

FOLDER = "conweave_ns3"
# Theirs is one draw of hashes, paths and marks; ours so many: of few flows, and of many.
DRAWS, DRAWS_OF_MANY = 20, 10


def conweave_comparisons() -> list[Comparison]:
    """All that lie in `validation/`."""
    files = sorted((PEERS_FOLDER / FOLDER / "cfg").glob("*.txt"))
    return [balanced_comparison_of(read_settings(file)) for file in files]


def balanced_comparison_of(settings: Settings) -> Comparison:
    """The comparison of one `config.txt`."""
    is_large = len(settings.flows) >= MANY_FLOWS

    def scenarios(folder: Path) -> dict[str, Any]:
        return {"replayed": replay_scenario(settings, folder, DRAWS_OF_MANY if is_large else DRAWS)}

    def rows(results: Mapping[str, Results]) -> Sequence[Row]:
        return rows_of(settings, results["replayed"])

    # Of a setting's draws the first is quick.
    another_draw = re.search(r"_s[2-9]$", settings.name)
    return Comparison(f"conweave-{settings.name}", scenarios, rows, quick=not is_large and not another_draw)
