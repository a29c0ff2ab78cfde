"""HPCC's ns-3 simulator: its settings replayed, flow by flow, pause by pause, and over time.

Its own files say what was run: any `config.txt` in a folder `cfg`, beside which `topo` and `flows` have what it names
and `out` what came of it, is made into a scenario and a comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import PEERS_FOLDER
from packetloom.validate.peers.hpcc.rows import MANY_FLOWS, is_one_after_another, rows_of
from packetloom.validate.peers.hpcc.scenario import replay_scenario
from packetloom.validate.peers.hpcc.settings import read_settings

FOLDER = "hpcc_ns3"
# Where senders react to marks that are drawn at random, theirs is one draw, ours so many: of few flows, and of many.
DRAWS, DRAWS_OF_MANY = 20, 10


def hpcc_comparisons() -> list[Check]:
    """All that lie in `validation/`."""
    return [comparison_of(file) for file in sorted((PEERS_FOLDER / FOLDER / "cfg").glob("*.txt"))]


def comparison_of(file: Path) -> Check:
    """The comparison of one `config.txt`."""
    if not file.is_file():
        raise PacketloomError(f"{file}: there is no such file; name a config.txt of HPCC's simulator")
    settings = read_settings(file)
    is_large = len(settings.flows) >= MANY_FLOWS
    seeds = 1
    if settings.is_drawn and not is_one_after_another(settings):
        seeds = DRAWS_OF_MANY if is_large else DRAWS

    def scenarios(folder: Path) -> dict[str, Any]:
        return {"replayed": replay_scenario(settings, folder, seeds)}

    def rows(results: Mapping[str, Results]) -> Sequence[Row]:
        return rows_of(settings, results["replayed"])

    return Check(f"hpcc-{settings.name}", scenarios, rows, quick=not is_large)
