"""To sync or not to sync (Sviridov, Bianco and Giaccone, Globecom 2018).

papers/sync-or-not/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.sync_or_not.claims import CLAIMS
from packetloom.reproduce.sync_or_not.figures import FIGURES

SHORT = ("run.duration=100ms", "run.warm_up=30ms")
ONE_SEED = "run.seeds=1"

EXPERIMENTS = (
    Experiment("uniform", "uniform.toml", quick=("run.loads=[0.1, 0.4, 0.6, 0.8, 0.9]", ONE_SEED, *SHORT), tiny="2ms"),
    # Long enough for queues to have grown to what they stay at.
    Experiment(
        "throughput",
        "throughput.toml",
        quick=(ONE_SEED, "run.duration=600ms", "run.warm_up=300ms"),
        tiny="2ms",
    ),
    Experiment(
        "incast", "incast.toml", quick=("run.loads=[0.2, 0.6, 0.8]", "run.seeds=2", "run.duration=16s"), tiny="100ms"
    ),
    Experiment(
        "lengths",
        "lengths.toml",
        quick=("run.loads=[0.1, 0.4, 0.6, 0.9]", ONE_SEED, "run.duration=250ms", "run.warm_up=100ms"),
        tiny="500us",
    ),
    Experiment("alternating", "alternating.toml", quick=(ONE_SEED,), tiny="5ms"),
    Experiment("traces", "traces.toml", tiny="2ms"),
    Experiment(
        "estimators", "estimators.toml", quick=("run.loads=[0.1, 0.8]", ONE_SEED, *SHORT), full=SHORT, tiny="1ms"
    ),
    Experiment("imperfect", "imperfect.toml", quick=(ONE_SEED, *SHORT), full=SHORT, tiny="500us"),
    Experiment("given-out", "given-out.toml", quick=(ONE_SEED, *SHORT), full=SHORT, tiny="500us"),
)

PAPER = Paper(
    name="sync-or-not",
    title="To sync or not to sync: why asynchronous traffic control is good enough for your data center (2018)",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
