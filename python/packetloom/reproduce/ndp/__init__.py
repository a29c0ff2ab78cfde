"""NDP in a fat-tree (Alasmar and Parisis, "Evaluating Modern Data Centre Transport Protocols in OMNeT++/INET", 2019).

papers/ndp/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.ndp.claims import CLAIMS
from packetloom.reproduce.ndp.figures import FIGURES

THREE_SEEDS = "run.seeds=3"

EXPERIMENTS = (
    Experiment("fat-trees", "fat-trees.toml", tiny="200us"),
    Experiment("background", "background.toml", quick=(THREE_SEEDS,), tiny="10ms"),
    Experiment("load-balancing", "load-balancing.toml", quick=(THREE_SEEDS,), tiny="10ms"),
    Experiment("initial-window", "initial-window.toml", quick=("run.flows=500",), tiny="20ms"),
    Experiment("flow-size", "flow-size.toml", quick=("run.flows=500",), tiny="5ms"),
    Experiment("arrival-rate", "arrival-rate.toml", quick=("run.flows=1000",), tiny="5ms"),
    Experiment("web-search", "web-search.toml", quick=("run.duration=200ms", "run.loads=[0.5]"), full=(), tiny="5ms"),
    Experiment("incast", "incast.toml", tiny="100ms"),
    Experiment("outcast", "outcast.toml", tiny="50ms"),
    Experiment("priorities", "priorities.toml", quick=(THREE_SEEDS,), tiny="20ms"),
)

PAPER = Paper(
    name="ndp",
    title="NDP in a fat-tree: Evaluating Modern Data Centre Transport Protocols in OMNeT++/INET (2019)",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
