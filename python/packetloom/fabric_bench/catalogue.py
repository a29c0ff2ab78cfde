"""The tests: what each is in the drafts, the scenarios that it is made of, and the tables that come of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError

if TYPE_CHECKING:
    import polars as pl

    from packetloom.fabric_bench.cases import Case

Scale = Literal["quick", "full"]
Draft = Literal["training", "inference"]
Settings = tuple[str, ...]
Row = Mapping[str, Any]

DRAFTS: dict[Draft, str] = {
    "training": "draft-calabria-bmwg-ai-fabric-training-bench",
    "inference": "draft-calabria-bmwg-ai-fabric-inference-bench",
}
SCENARIOS = Path(__file__).parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Part:
    """A scenario of a test, and what `--set` changes of it at each scale; `None`: it is not run there."""

    name: str
    scenario: str
    quick: Settings | None = ()
    full: Settings | None = ()

    @property
    def file(self) -> Path:
        """The scenario's file."""
        return SCENARIOS / f"{self.scenario}.toml"

    def settings(self, scale: Scale) -> Settings | None:
        """What is changed of the scenario at this scale."""
        return self.quick if scale == "quick" else self.full


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOf:
    """How a table is made: rows of each case, brought together by `keys` over runs and samples.

    Values are means over all rows of a key. Of `lead` there are also the `spread` (percentiles, "min", "max") and, over
    runs, the coefficient of variation and the confidence interval. `layout` is what stands in columns, and the value.
    """

    name: str
    title: str
    rows: Callable[[Case], Iterable[Row]]
    keys: tuple[str, ...]
    lead: str
    parts: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()
    layout: tuple[str, str] | None = None
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    notes: tuple[str, ...] = ()
    reference: str = ""
    drawn: tuple[str, str] | None = None
    """The key on the x axis and the value on the y axis of its figure, if it has one."""
    headline: str = ""
    """The value that stands at the top of the page, for the last of all keys but the scheme, side by side."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Test:
    """A test of a draft."""

    id: str
    draft: Draft
    sections: tuple[str, ...]
    measures: str
    parts: tuple[Part, ...]
    tables: tuple[TableOf, ...]
    not_measured: tuple[str, ...] = ()
    not_run: Mapping[Scale, tuple[str, ...]] = field(default_factory=dict)
    stalls: bool = False
    """Whether a case that can't go on is what the test looks for."""
    most_seeds: int = 0
    """In `full`: seeds are added up to so many, until the first table's lead is known within 1 %; 0: they are not."""


def all_tests() -> tuple[Test, ...]:
    """Every test, in the drafts' order."""
    from packetloom.fabric_bench import balancing, collectives, congestion, inference, jobs, rdma, serving, uet

    modules = (rdma, uet, congestion, balancing, collectives, jobs, inference, serving)
    return tuple(test for module in modules for test in module.TESTS)


def chosen_tests(ids: Iterable[str]) -> tuple[Test, ...]:
    """The tests of these ids or drafts; all if none is given."""
    tests = all_tests()
    wanted = list(ids)
    known = {test.id for test in tests} | set(DRAFTS)
    for one in wanted:
        if one not in known:
            raise PacketloomError(f"there is no test {one!r}; {meant(one, sorted(known))}")
    return tuple(test for test in tests if not wanted or test.id in wanted or test.draft in wanted)


NOT_COVERED: Mapping[Draft, Mapping[str, str]] = {
    "training": {
        "UET PDC Scalability and Connection Setup Rate": "UET's contexts are always open, and RoCE's in these tests",
        "MLPerf-Aligned JCT": "the workloads are programs; their traces can be run: `packetloom explain chakra`",
        "24-Hour Sustained Load": "a soak finds faults of hardware and software; here one run is as good as the next",
        "Resource Leak Detection": "the same",
    },
    "inference": {
        "Multi-Tier Storage Transfer Characterization": "there is no model of storage",
        "Heterogeneous Parallelism Configuration": "a cache goes from one worker to one other, not re-sharded",
        "Prefill Queue Depth Impact on Transfer Latency": "prompts are there from the start, without arrivals",
        "Congestion Control Convergence for Mixed Traffic": "dcqcn-convergence and uet-congestion measure convergence",
        "PFC Storm and Deadlock Resilience": "it is the training draft's test: pfc-deadlock",
        "ECMP and Dynamic Load Balancing Under Inference Traffic": "kv-pairs and moe-dispatch have ECMP and spraying",
        "Fabric Scale Limits for Inference Clusters": "kv-pairs goes up to 128 pairs, moe-dispatch up to 64 ranks",
        "KV-Aware Request Routing Efficacy": "there is no model of a request router",
        "Prefix-Aware Cache Hit Rate": "there is no model of a cache of prefixes",
        "Jain Fairness Index for Decode Worker Utilization": "each prefill worker sends to decode workers in turn",
        "ITL Characterization and Tail Latency": "no token after the first is simulated",
        "End-to-End Latency Under Multi-Tenant Load": "there is no model of a serving framework",
        "Aggregate Tokens Per Second": "no token after the first is simulated",
        "Batch Size Scaling and Continuous Batching Impact": "there is no model of a serving framework",
        "Goodput Under Preemption and Eviction": "there is no model of a serving framework",
        "Dynamic Autoscaling Response Time": "there is no model of a serving framework",
        "24-Hour Sustained Inference Load": "a soak finds faults of hardware and software",
        "KV Cache Memory Leak Detection": "the same",
        "Long-Running Serving Stability": "the same",
    },
}
"""Sections of the drafts that no test covers, and why."""
