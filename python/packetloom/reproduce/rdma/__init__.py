"""Lossless Ethernet and RDMA: what is known of PFC, DCQCN, TIMELY, HPCC, IRN and Swift, claim by claim.

papers/rdma/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.rdma.claims import CLAIMS
from packetloom.reproduce.rdma.figures import FIGURES

EXPERIMENTS = (
    Experiment("sharing", "sharing.toml", tiny="5ms"),
    Experiment("victim", "victim.toml", tiny="1ms"),
    Experiment("user-traffic", "user-traffic.toml", quick=("run.seeds=3",), tiny="200us"),
    Experiment("incast", "incast.toml", tiny="1ms"),
    Experiment("first-windows", "first-windows.toml", tiny="1ms"),
    Experiment("steady", "steady.toml", tiny="2ms"),
    Experiment("low-load", "low-load.toml", quick=("run.seeds=3",), tiny="1ms"),
    Experiment("alone", "alone.toml", quick=("run.seeds=3",), tiny="1ms"),
    Experiment("web-search", "web-search.toml", quick=("run.seeds=4", "run.duration=5ms"), tiny="200us"),
    Experiment("web-search-incast", "web-search-incast.toml", quick=("run.seeds=2", "run.duration=4ms"), tiny="100us"),
    Experiment("starts", "starts.toml", tiny="2ms"),
    Experiment("segments", "segments.toml", tiny="2ms"),
    Experiment("seven-and-three", "seven-and-three.toml", tiny="20ms"),
    Experiment("irn", "irn.toml", quick=("run.seeds=4", "run.duration=2ms"), tiny="100us"),
    Experiment("swift", "swift.toml", tiny="1ms"),
)

PAPER = Paper(
    name="rdma",
    title="Lossless Ethernet and RDMA: PFC, DCQCN, TIMELY, HPCC, IRN, Swift",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
