"""Transports of 2017 to 2025, claim by claim: SIRD, PowerTCP and ABM, and what others claim that are not built.

papers/transports/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.transports import abm, powertcp, sird
from packetloom.reproduce.transports.figures import FIGURES
from packetloom.reproduce.transports.unbuilt import AEOLUS, BFC, DCPIM, EXPRESSPASS, FLOODGATE, claims_of

EXPERIMENTS = (
    Experiment("sird-incast", "sird-incast.toml"),
    Experiment("sird-unasked", "sird-unasked.toml"),
    Experiment("sird-shared-sender", "sird-shared-sender.toml"),
    Experiment("sird-w4", "sird-w4.toml", full=("run.seeds=20",), tiny="200us"),
    Experiment("web-search", "web-search.toml", quick=("run.seeds=3", "run.duration=20ms"), tiny="200us"),
    Experiment("burst", "burst.toml", tiny="1.2ms"),
    Experiment("first-windows", "first-windows.toml", tiny="1.2ms"),
    Experiment("fairness", "fairness.toml", tiny="1.2ms"),
    Experiment("cubic", "cubic.toml", quick=("run.seeds=2", "run.duration=100ms"), tiny="5ms"),
    Experiment("moderate", "moderate.toml", quick=("run.seeds=2", "run.duration=50ms"), tiny="2ms"),
    Experiment("drain", "drain.toml", tiny="2ms"),
)

# A scheme that gets built has its claims in a module beside `powertcp`, in this place.
CLAIMS = (
    *sird.CLAIMS,
    *claims_of(EXPRESSPASS),
    *claims_of(DCPIM),
    *claims_of(AEOLUS),
    *powertcp.CLAIMS,
    *abm.CLAIMS,
    *claims_of(BFC),
    *claims_of(FLOODGATE),
)

PAPER = Paper(
    name="transports",
    title="Transports of 2017 to 2025: SIRD, PowerTCP, ABM",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
