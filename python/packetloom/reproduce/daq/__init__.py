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
    Experiment("threshold", "threshold.toml", quick=(THREE_SEEDS, "run.flows=12000"), tiny="10ms"),
    Experiment("utilisation", "utilisation.toml", tiny="200ms"),
    Experiment("senders", "senders.toml", quick=(THREE_SEEDS, "run.duration=1s"), search=SENDERS, tiny="20ms"),
    Experiment(
        "senders-exponential",
        "senders-exponential.toml",
        quick=(THREE_SEEDS, "run.duration=3s"),
        search=SENDERS_EXPONENTIAL,
        tiny="500ms",
    ),
    Experiment("incast", "incast.toml", quick=(THREE_SEEDS, "run.duration=2s"), tiny="2ms"),
    Experiment("incast-floor", "incast-floor.toml", quick=(THREE_SEEDS, "run.duration=2s"), tiny="20ms"),
    Experiment("background", "background.toml", quick=(THREE_SEEDS, "run.duration=3.3s"), tiny="10ms"),
    Experiment(
        "poisson", "poisson.toml", quick=(THREE_SEEDS, f"workload.0.arrivals.rate_per_second={FEWER_RATES}"), tiny="2ms"
    ),
    Experiment("poisson-uniform", "poisson-uniform.toml", quick=(THREE_SEEDS,), tiny="20ms"),
    Experiment("weights", "weights.toml", tiny="20ms"),
    Experiment("deadlines", "deadlines.toml", quick=(THREE_SEEDS,), tiny="2s"),
)

PAPER = Paper(
    name="daq",
    title="DAQ: Deadline-Aware Queue Scheme for Scheduling Service Flows in Data Centers",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
