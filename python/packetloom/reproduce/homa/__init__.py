"""Homa (SIGCOMM 2018): the authors' simulations, claim by claim, held against their own published figures.

papers/homa/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.homa.claims import CLAIMS
from packetloom.reproduce.homa.figures import FIGURES

EXPERIMENTS = (
    Experiment("w1", "w1.toml", full=("run.duration=5ms", "run.warm_up=500us", "run.seeds=3"), tiny="50us"),
    Experiment("w2", "w2.toml", full=("run.duration=8ms", "run.warm_up=800us", "run.seeds=3"), tiny="100us"),
    Experiment("w3", "w3.toml", full=("run.duration=20ms", "run.warm_up=2ms", "run.seeds=3"), tiny="200us"),
    Experiment("w4", "w4.toml", full=("run.duration=80ms", "run.warm_up=10ms", "run.seeds=3"), tiny="500us"),
    Experiment("w5", "w5.toml", full=("run.duration=400ms", "run.warm_up=50ms", "run.seeds=3"), tiny="1ms"),
    Experiment("others", "others.toml", full=("run.duration=40ms", "run.warm_up=5ms", "run.seeds=3"), tiny="200us"),
    Experiment("carried", "carried.toml", full=("run.duration=40ms", "run.max_time=40ms", "run.seeds=3"), tiny="100us"),
    Experiment("levels", "levels.toml", full=("run.duration=1ms", "run.warm_up=100us", "run.seeds=3"), tiny="10us"),
    Experiment("fill", "fill.toml", full=("run.duration=60ms", "run.warm_up=10ms", "run.seeds=3"), tiny="200us"),
    Experiment("fill-w3", "fill-w3.toml", full=("run.duration=10ms", "run.warm_up=1ms", "run.seeds=3"), tiny="200us"),
    Experiment("fill-why", "fill-why.toml", tiny="200us"),
)

PAPER = Paper(
    name="homa",
    title="Homa: A Receiver-Driven Low-Latency Transport Protocol Using Network Priorities (SIGCOMM 2018)",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
