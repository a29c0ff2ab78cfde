"""Transports of 2017 to 2025, by claim: SIRD, ExpressPass, dcPIM, Aeolus, PowerTCP, ABM, BFC and Floodgate.

papers/transports/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.transports import abm, aeolus, bfc, dcpim, expresspass, floodgate, powertcp, sird
from packetloom.reproduce.transports.figures import FIGURES

SIX_MS = ("run.seeds=2", "run.duration=6ms", "run.max_time=6ms")
EXPERIMENTS = (
    Experiment("sird-incast", "sird-incast.toml"),
    Experiment("sird-unasked", "sird-unasked.toml"),
    Experiment("sird-shared-sender", "sird-shared-sender.toml"),
    Experiment("sird-w4", "sird-w4.toml", full=("run.seeds=20",), tiny="200us"),
    Experiment("expresspass-incast", "expresspass-incast.toml", tiny="200us"),
    Experiment("expresspass-two", "expresspass-two.toml", tiny="4.5ms"),
    Experiment("expresspass-two-packets", "expresspass-two-packets.toml"),
    Experiment("expresspass-paths", "expresspass-paths.toml", tiny="200us"),
    Experiment("expresspass-waste", "expresspass-waste.toml"),
    Experiment("expresspass-jitter", "expresspass-jitter.toml"),
    Experiment("dcpim-web-search", "dcpim-web-search.toml", quick=SIX_MS, tiny="100us"),
    Experiment("dcpim-rounds", "dcpim-rounds.toml", quick=("run.seeds=2",), tiny="100us"),
    Experiment("dcpim-just-above", "dcpim-just-above.toml"),
    Experiment("dcpim-incast", "dcpim-incast.toml", tiny="200us"),
    Experiment("aeolus-web-server", "aeolus-web-server.toml", full=("run.seeds=20",), tiny="200us"),
    Experiment("aeolus-ndp", "aeolus-ndp.toml", full=("run.seeds=20",), tiny="200us"),
    Experiment("aeolus-homa", "aeolus-homa.toml", tiny="200us"),
    Experiment("aeolus-incast", "aeolus-incast.toml", tiny="200us"),
    Experiment("web-search", "web-search.toml", quick=("run.seeds=3", "run.duration=20ms"), tiny="200us"),
    Experiment("burst", "burst.toml", tiny="1.2ms"),
    Experiment("first-windows", "first-windows.toml", tiny="1.2ms"),
    Experiment("fairness", "fairness.toml", tiny="1.2ms"),
    Experiment("cubic", "cubic.toml", quick=("run.seeds=2", "run.duration=100ms"), tiny="5ms"),
    Experiment("moderate", "moderate.toml", quick=("run.seeds=2", "run.duration=50ms"), tiny="2ms"),
    Experiment("drain", "drain.toml", tiny="2ms"),
    Experiment("bfc-w4", "bfc-w4.toml", quick=("run.seeds=2", "run.duration=5ms"), tiny="100us"),
    Experiment("bfc-incast", "bfc-incast.toml", tiny="50us"),
    Experiment("floodgate-incast", "floodgate-incast.toml", quick=("run.seeds=2",), tiny="100us"),
    Experiment("floodgate-incast-t32", "floodgate-incast-t32.toml", quick=("run.seeds=2",), tiny="100us"),
    Experiment("floodgate-poisson", "floodgate-poisson.toml", quick=("run.seeds=2", "run.duration=1ms"), tiny="20us"),
    Experiment("floodgate-poisson-t32", "floodgate-poisson-t32.toml", quick=("run.seeds=2",), tiny="50us"),
)

CLAIMS = (
    *sird.CLAIMS,
    *expresspass.CLAIMS,
    *dcpim.CLAIMS,
    *aeolus.CLAIMS,
    *powertcp.CLAIMS,
    *abm.CLAIMS,
    *bfc.CLAIMS,
    *floodgate.CLAIMS,
)

PAPER = Paper(
    name="transports",
    title="Transports of 2017 to 2025: SIRD, ExpressPass, dcPIM, Aeolus, PowerTCP, ABM, BFC, Floodgate",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
