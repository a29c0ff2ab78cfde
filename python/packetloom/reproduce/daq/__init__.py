"""DAQ (Ding and Rojas-Cessa, "DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data Centers").

papers/daq/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.daq.claims import CLAIMS
from packetloom.reproduce.daq.figures import FIGURES
from packetloom.reproduce.daq.measure import SENDERS, SENDERS_EXPONENTIAL

FEWER_RATES = [1000, 5000, 7000, 8000, 8500]
THREE_SEEDS = "run.seeds=3"

EXPERIMENTS = (
    Experiment("threshold", "threshold.toml", quick=(THREE_SEEDS, "run.flows=12000")),
    Experiment("utilisation", "utilisation.toml"),
    Experiment("senders", "senders.toml", quick=(THREE_SEEDS, "run.duration=1s"), search=SENDERS),
    Experiment(
        "senders-exponential",
        "senders-exponential.toml",
        quick=(THREE_SEEDS, "run.duration=3s"),
        search=SENDERS_EXPONENTIAL,
    ),
    Experiment("incast", "incast.toml", quick=(THREE_SEEDS, "run.duration=2s")),
    Experiment("incast-floor", "incast-floor.toml", quick=(THREE_SEEDS, "run.duration=2s")),
    Experiment("background", "background.toml", quick=(THREE_SEEDS, "run.duration=3.3s")),
    Experiment("poisson", "poisson.toml", quick=(THREE_SEEDS, f"workload.0.arrivals.rate_per_second={FEWER_RATES}")),
    Experiment("poisson-uniform", "poisson-uniform.toml", quick=(THREE_SEEDS,)),
    Experiment("weights", "weights.toml"),
    Experiment("deadlines", "deadlines.toml", quick=(THREE_SEEDS,)),
)

PAPER = Paper(
    name="daq",
    title="DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data Centers",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
