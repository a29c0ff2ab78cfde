"""DAQ (Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data Centers").

papers/daq/README.md tells what was found.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.daq.claims import CLAIMS
from packetloom.reproduce.daq.figures import FIGURES
from packetloom.reproduce.daq.measure import SENDERS

THREE_SEEDS = "run.seeds=3"

EXPERIMENTS = (
    Experiment("threshold", "threshold.toml", quick=(THREE_SEEDS, "run.flows=15000")),
    Experiment("utilisation", "utilisation.toml"),
    Experiment("senders", "senders.toml", quick=(THREE_SEEDS, "run.duration=3s"), search=SENDERS),
    Experiment("incast", "incast.toml", quick=(THREE_SEEDS, "run.duration=2s")),
    Experiment("background", "background.toml", quick=(THREE_SEEDS,)),
    Experiment("poisson", "poisson.toml", quick=(THREE_SEEDS,)),
    Experiment("weights", "weights.toml"),
)

PAPER = Paper(
    name="daq",
    title="DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data Centers",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
