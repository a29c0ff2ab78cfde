"""GOAL schedules on LogGOPSim and on ATLAHS' version of it: `validation/loggopsim/rows.csv`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packetloom.validate.comparison import Comparison
from packetloom.validate.peers.agreement import PEERS_FOLDER, Deviation
from packetloom.validate.peers.jobs.replay import job_on, read_rows, replay_of

FOLDER = PEERS_FOLDER / "loggopsim"
SOURCE = "loggopsim/rows.csv"
SIMULATORS = {"loggopsim": "LogGOPSim", "atlahs": "ATLAHS' LogGOPSim"}
PARAMETERS = ("L", "o", "g", "G", "O", "S")


# Runs of these two schedules: without `eager` 77,760 and 116,728 ns. With L = 4 ns the first takes 69,848 ns with it
# and 69,792 without, with L = 2000 ns 101,784 and 85,760: eight times L each time.
WHY_WORDS = (
    "The word that a message was taken has its way to go here, and waits behind what its host sends; there it takes no "
    "time. Without it (no `eager`) the two schedules take 77,760 and 116,728 ns here"
)
# Runs without `byte_cost`: 12,256 and 124,920 ns.
WHY_OVERLAP = (
    "There O overlaps with the message's transmission, which hides it where O is G; here and in ATLAHS' version a "
    "host has spent it before the message leaves, and spends it again once the message is there. Without it the two "
    "schedules take 12,256 and 124,920 ns here"
)
KNOWN = {
    "L_recdoub_16_32k_F": Deviation(WHY_WORDS, (1.108, 1.108)),
    "L_a2a_8_16k_F": Deviation(WHY_WORDS, (1.156, 1.156)),
    "L_dissem_16_1k_E_loggopsim": Deviation(WHY_OVERLAP, (1.678, 1.678)),
    "L_scatter_16_8k_E_loggopsim": Deviation(WHY_OVERLAP, (1.125, 1.125)),
}


def loggopsim_comparisons() -> list[Comparison]:
    """All of them."""
    return [replay_of("loggopsim", SOURCE, read_rows(SOURCE), _what, _scenario, KNOWN)]


def _what(row: Mapping[str, str]) -> str:
    parameters = " ".join(f"{name}={row[name]}" for name in PARAMETERS)
    return f"{SIMULATORS[row['simulator']]}, {row['schedule']}, {parameters} of {row['unit_ps']} ps"


def _scenario(row: Mapping[str, str], _: Path) -> dict[str, Any]:
    schedule = FOLDER / f"{row['schedule']}.goal"
    ranks = int(schedule.read_text(encoding="utf-8").split(maxsplit=2)[1])
    unit_ps = int(row["unit_ps"])
    times = {name: f"{int(row[name]) * unit_ps}ps" for name in "LogGO"}
    topology = {
        "kind": "rack",
        "hosts": ranks,
        "link": {
            # G is what a byte takes, and L what two links take.
            "rate": f"{round(8e12 / (int(row['G']) * unit_ps))}bps",
            "delay": f"{int(row['L']) * unit_ps // 2}ps",
        },
        "forwarding": "cut-through",
    }
    arrivals = {
        "kind": "goal",
        "file": str(schedule),
        "unit": f"{unit_ps}ps",
        "send_cost": times["o"],
        "receive_cost": times["o"],
        "byte_cost": times["O"],
        "gap": times["g"],
        "eager": f"{row['S']}B",
    }
    return job_on(topology, arrivals)
