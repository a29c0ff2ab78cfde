"""NDP in a fat-tree (Alasmar and Parisis, "Evaluating Modern Data Centre Transport Protocols in OMNeT++/INET", 2019).

papers/ndp/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.ndp.claims import CLAIMS
from packetloom.reproduce.ndp.figures import FIGURES

THREE_SEEDS = "run.seeds=3"

EXPERIMENTS = (
    Experiment("fat-trees", "fat-trees.toml"),
    Experiment("background", "background.toml", quick=(THREE_SEEDS,)),
    Experiment("load-balancing", "load-balancing.toml", quick=(THREE_SEEDS,)),
    Experiment("initial-window", "initial-window.toml", quick=("run.flows=500",)),
    Experiment("flow-size", "flow-size.toml", quick=("run.flows=500",)),
    Experiment("arrival-rate", "arrival-rate.toml", quick=("run.flows=1000",)),
    Experiment("web-search", "web-search.toml", quick=("run.duration=200ms",), full=("run.duration=500ms",)),
    Experiment("incast", "incast.toml"),
    Experiment("outcast", "outcast.toml"),
    Experiment("priorities", "priorities.toml", quick=(THREE_SEEDS,)),
)

PAPER = Paper(
    name="ndp",
    title="NDP in a fat-tree: Evaluating Modern Data Centre Transport Protocols in OMNeT++/INET (2019)",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
