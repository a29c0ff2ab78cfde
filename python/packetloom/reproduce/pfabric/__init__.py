"""pFabric (Alizadeh et al., "Deconstructing Datacenter Packet Transport", HotNets 2012).

papers/pfabric/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.pfabric import steady
from packetloom.reproduce.pfabric.claims import CLAIMS
from packetloom.reproduce.pfabric.figures import FIGURES

# With both ends of the paper's.
FEW_LOADS = "run.loads=[0.1, 0.2, 0.5, 0.8]"
# By time instead of flows: a high load, which takes longest to settle, gets more of them.
WEB_SEARCH_QUICK = ("run.duration=100ms", "run.warm_up=30ms")
# Flows of 1 GB that nobody waits for: those under way at the end count as unfinished.
DATA_MINING_QUICK = ("run.duration=250ms", "run.warm_up=100ms", "run.max_time=250ms")
# The paper's timeouts and their neighbours.
TIMEOUTS_QUICK = (
    'scheme.TCP+DropTail.transport.min_rto=["100us", "200us", "400us", "1ms"]',
    'scheme.DCTCP.transport.min_rto=["100us", "200us", "400us", "1ms"]',
    'scheme.MinTCP+pFabric.transport.min_rto=["20us", "40us", "80us"]',
    'scheme.LineRate+pFabric.transport.rto=["20us", "40us", "80us"]',
    "run.flows=600",
    "run.warm_up=0us",
)

EXPERIMENTS = (
    Experiment("web-search", "web-search.toml", quick=(FEW_LOADS, *WEB_SEARCH_QUICK), tiny="1ms"),
    Experiment("data-mining", "data-mining.toml", quick=(FEW_LOADS, *DATA_MINING_QUICK), tiny="1ms"),
    Experiment(
        "ecmp", "ecmp.toml", quick=("run.loads=[0.8]", *WEB_SEARCH_QUICK), full=("run.loads=[0.8]",), tiny="1ms"
    ),
    Experiment("timeouts", "timeouts.toml", quick=TIMEOUTS_QUICK, full=("run.flows=4000",), tiny="500us"),
    Experiment(
        "deadlines",
        "deadlines.toml",
        quick=("run.loads=[0.4, 0.8]", "run.flows=6000"),
        full=("run.flows=12000",),
        tiny="200us",
    ),
    Experiment("classes", "classes.toml", tiny="2ms"),
    Experiment("data-mining-sizes", "data-mining-sizes.toml", tiny="5us"),
    Experiment("web-search-sizes", "web-search-sizes.toml", tiny="5us"),
    *steady.experiments(),
)

PAPER = Paper(
    name="pfabric",
    title="pFabric: Deconstructing Datacenter Packet Transport (HotNets 2012)",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=(*FIGURES, steady.FIGURE),
)
