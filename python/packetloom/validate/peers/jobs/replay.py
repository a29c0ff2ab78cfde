"""A job on a network that does what an analytical one does: nothing is lost or marked, and headers take no time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import MEAN_WITHIN, NONE, PEERS_FOLDER, Deviations, agreement
from packetloom.validate.peers.figures import missing

# Each message goes into the NIC's queue as a whole, so that messages keep their order there. Packets have no header and
# acknowledgements one byte.
ENDLESS_WINDOW = 1 << 30
TRANSPORT = {
    "kind": "fixed-window",
    "mss": "8192B",
    "header": "0B",
    "ack": "1B",
    "initial_window": ENDLESS_WINDOW,
    "min_rto": "1000s",
    "max_rto": "1000s",
}


def read_rows(name: str) -> list[dict[str, str]]:
    """What a peer's runs took."""
    path = PEERS_FOLDER / name
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise missing(path) from None


def job_on(topology: Mapping[str, Any], arrivals: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario of a job."""
    scheme = {"name": "lone messages", "transport": TRANSPORT, "queue": "drop-tail", "routing": "ecmp"}
    return {"topology": topology, "workload": [{"arrivals": arrivals}], "scheme": [scheme]}


def replay_of(
    name: str,
    source: str,
    theirs: Sequence[Mapping[str, str]],
    what: Callable[[Mapping[str, str]], str],
    scenario: Callable[[Mapping[str, str], Path], dict[str, Any]],
    deviations: Deviations = NONE,
) -> Check:
    """All rows of a peer: of each job when its last rank is done. Of some it is known, by id, that they differ."""

    def rows(results: Mapping[str, Results]) -> list[Row]:
        found = []
        for row in theirs:
            iterations = results[row["id"]].to_polars("iterations")
            ours = (iterations["start_ns"] + iterations["jct_ns"]).max()
            assert isinstance(ours, float)
            case = what(row)
            title = f"{case}: last rank done in ns"
            known = deviations.get(row["id"])
            found.append(
                agreement(f"{name} {row['id']}", title, source, float(row["ref_ns"]), ours, MEAN_WITHIN, known)
            )
        return found

    def scenarios(folder: Path) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        return {row["id"]: scenario(row, folder) for row in theirs}

    return Check(name, scenarios, rows)
