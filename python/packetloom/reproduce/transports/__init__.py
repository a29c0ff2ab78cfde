"""Transports of 2017 to 2025: what is known of PowerTCP and ABM, claim by claim, and of schemes that are not built.

papers/transports/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.transports import abm, powertcp
from packetloom.reproduce.transports.figures import FIGURES
from packetloom.reproduce.transports.unbuilt import AEOLUS, BFC, DCPIM, EXPRESSPASS, FLOODGATE, SIRD, claims_of

EXPERIMENTS = (
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
    *claims_of(SIRD),
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
    title="Transports of 2017 to 2025: PowerTCP, ABM",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
