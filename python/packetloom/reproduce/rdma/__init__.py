"""Lossless Ethernet and RDMA: what is known of PFC, DCQCN, TIMELY, HPCC, IRN and Swift, claim by claim.

papers/rdma/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.rdma.claims import CLAIMS
from packetloom.reproduce.rdma.figures import FIGURES

EXPERIMENTS = (
    Experiment("sharing", "sharing.toml"),
    Experiment("victim", "victim.toml"),
    Experiment("user-traffic", "user-traffic.toml", quick=("run.seeds=3",)),
    Experiment("incast", "incast.toml"),
    Experiment("first-windows", "first-windows.toml"),
    Experiment("steady", "steady.toml"),
    Experiment("low-load", "low-load.toml", quick=("run.seeds=3",)),
    Experiment("alone", "alone.toml", quick=("run.seeds=3",)),
    Experiment("web-search", "web-search.toml", quick=("run.seeds=4", "run.duration=5ms")),
    Experiment("web-search-incast", "web-search-incast.toml", quick=("run.seeds=2", "run.duration=4ms")),
    Experiment("starts", "starts.toml"),
    Experiment("segments", "segments.toml"),
    Experiment("irn", "irn.toml", quick=("run.seeds=4", "run.duration=2ms")),
    Experiment("swift", "swift.toml"),
)

PAPER = Paper(
    name="rdma",
    title="Lossless Ethernet and RDMA: PFC, DCQCN, TIMELY, HPCC, IRN, Swift",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
