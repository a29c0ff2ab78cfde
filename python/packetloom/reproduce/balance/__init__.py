"""Balancing load: what is known of LetFlow, CONGA, DRILL, ConWeave, REPS and Hedera, claim by claim.

papers/balance/README.md has the findings.
"""

from __future__ import annotations

from packetloom.reproduce import Experiment, Paper
from packetloom.reproduce.balance.claims import CLAIMS
from packetloom.reproduce.balance.figures import FIGURES

WEB_SEARCH_QUICK = ("run.seeds=2", "run.duration=10ms", "run.warm_up=1ms")

EXPERIMENTS = (
    Experiment("rdma", "rdma.toml", quick=("run.seeds=3", "run.duration=5ms", "run.warm_up=1ms"), tiny="50us"),
    Experiment("rdma-web-search", "rdma-web-search.toml", WEB_SEARCH_QUICK, tiny="200us"),
    Experiment("slow-link", "slow-link.toml", quick=("run.seeds=3", "run.duration=100ms"), tiny="1ms"),
    Experiment("failed-link", "failed-link.toml", quick=("run.seeds=3", "run.duration=100ms"), tiny="1ms"),
    Experiment("drill", "drill.toml", quick=("run.seeds=3",), tiny="1ms"),
    Experiment("permutation", "permutation.toml", tiny="100us"),
    Experiment("slow-uplink", "slow-uplink.toml", tiny="100us"),
    Experiment("dead-link", "dead-link.toml", tiny="200us"),
    Experiment("hedera", "hedera.toml", tiny="10ms"),
)

PAPER = Paper(
    name="balance",
    title="Balancing load: LetFlow, CONGA, DRILL, ConWeave, REPS, Hedera",
    experiments=EXPERIMENTS,
    claims=CLAIMS,
    figures=FIGURES,
)
