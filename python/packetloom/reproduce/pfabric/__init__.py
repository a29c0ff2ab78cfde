"""pFabric (Alizadeh et al., "Deconstructing Datacenter Packet Transport", HotNets 2012).

papers/pfabric/README.md tells what was found.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.pfabric.claims import CLAIMS
from packetloom.reproduce.pfabric.figures import FIGURES

FEW_LOADS = "run.loads=[0.2, 0.5, 0.8]"

EXPERIMENTS = (
    Experiment("web-search", "web-search.toml", quick=(FEW_LOADS, "run.flows=2000")),
    Experiment("data-mining", "data-mining.toml", quick=(FEW_LOADS, "run.flows=2400")),
    Experiment("ecmp", "ecmp.toml", quick=("run.loads=[0.5, 0.8]", "run.flows=2000")),
    Experiment("timeouts", "timeouts.toml", quick=("run.flows=600",)),
    Experiment("deadlines", "deadlines.toml", quick=("run.loads=[0.4, 0.6, 0.8]", "run.flows=6000")),
    Experiment("classes", "classes.toml"),
    Experiment("data-mining-sizes", "data-mining-sizes.toml", quick=("run.flows=20000",)),
    Experiment("web-search-sizes", "web-search-sizes.toml", quick=("run.flows=20000",)),
)

PAPER = Paper(
    name="pfabric",
    title="pFabric: Deconstructing Datacenter Packet Transport (HotNets 2012)",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
