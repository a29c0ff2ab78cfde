"""The claims on balancing: each number on flows and samples made by hand."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from made_results import Runs, failing, runs, values
from packetloom.reproduce import PAPERS, PAPERS_FOLDER
from packetloom.reproduce.balance import PAPER, measure
from packetloom.reproduce.balance.claims import (
    CONGA,
    CONWEAVE,
    DRILL,
    ECMP,
    FIRST_FIT,
    HEDERA,
    LATER,
    LETFLOW,
    OBLIVIOUS,
    RANDOM,
    REPS,
    ROUND_ROBIN,
)
from packetloom.reproduce.claims import Claim, judge
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import CaseRow, TableName

pytestmark = pytest.mark.unaudited


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


def flows_of(column: str, by_scheme: dict[str, list[float]], **more: list[Any]) -> Runs:
    return Runs(*(({"scheme": scheme}, {column: numbers, **more}) for scheme, numbers in by_scheme.items()))


class Sampled(Runs):
    """Cases of flows, of ports by (node, peer), and of what each port sent, or had waiting, from sample to sample."""

    def __init__(self, *cases: tuple[dict[str, Any], dict[str, list[Any]], dict[tuple[str, str], list[float]]]) -> None:
        super().__init__(*((parameters, flows) for parameters, flows, _ in cases))
        self.of_ports = [ports for _, _, ports in cases]

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        if name == "flows":
            yield from super().partitions(name, columns)
            return
        assert columns is not None
        for row, ports in zip(self.rows(), self.of_ports, strict=True):
            parts = []
            for number, ((node, peer), numbers) in enumerate(ports.items()):
                times = [1000.0 * place for place in range(len(numbers))]
                samples = {"time_ns": times, "tx_bytes": numbers, "queue_bytes": numbers}
                one = pl.DataFrame({"time_ns": [0.0]} if name == "ports" else samples)
                parts.append(one.with_columns(port=pl.lit(number), node=pl.lit(node), peer=pl.lit(peer)))
            yield row, pl.concat(parts).select(columns).to_arrow()


def test_letflow_is_ecmp_over_rdma_and_gains_over_tcp() -> None:
    rdma = flows_of("slowdown", {ECMP: [2.0, 4.0], LETFLOW: [2.0, 4.3]}, path_changes=[0, 3])
    # The flow that stays in its leaf does not count, however slow.
    hosts = {"src": [0, 70, 0], "dst": [64, 1, 5]}
    tcp = flows_of("fct_ns", {ECMP: [9e6, 3e6, 1.0], LETFLOW: [6e6, 4e6, 9e9]}, **hosts)
    found = judge(claim_of("LB1"), runs(rdma=rdma, slow_link=tcp))
    assert values(found.deciding) == {"RDMA: LetFlow / ECMP": 1.05, "TCP, a slow link: ECMP / LetFlow": 1.2}
    assert values(found.beside)["RDMA: % of flows that LetFlow ever moves"] == 50
    assert values(found.beside)["TCP, flows to the leaf of the slow link: ECMP / LetFlow"] == 1.5
    assert found.verdict == "holds"


@pytest.mark.parametrize(("ecmp", "verdict"), [(3e6, "holds"), (2.9e6, "differs")])
def test_a_failed_link_is_held_by_mean_completion_times(ecmp: float, verdict: str) -> None:
    tcp = flows_of("fct_ns", {ECMP: [ecmp], CONGA: [2e6]}, src=[0], dst=[64])
    assert judge(claim_of("LB2"), runs(failed_link=tcp)).verdict == verdict


def uplinks(scheme: str, load: float, queues: tuple[float, float]) -> Any:
    flows = {"reordered": [1, 0], "packets_sent": [50, 50]}
    ports = {
        ("leaf0", "spine0"): [1.0 * queues[0]] * 2,
        ("leaf0", "spine1"): [1.0 * queues[1]] * 2,
        ("host0", "leaf0"): [9e9] * 2,
    }
    return {"scheme": scheme, "load": load}, flows, ports


@pytest.mark.parametrize(("random", "verdict"), [(4000, "holds"), (1000, "differs")])
def test_drill_is_held_against_random_spraying_at_the_deciding_load(random: int, verdict: str) -> None:
    spreads = {DRILL: (0, 2000), RANDOM: (0, random), ECMP: (0, 8000), ROUND_ROBIN: (1000, 2000)}
    made = [uplinks(scheme, 0.8, queues) for scheme, queues in spreads.items()]
    made += [uplinks(scheme, 0.4, (0, 0)) for scheme in spreads]
    found = judge(claim_of("LB3"), runs(drill=Sampled(*made)))
    assert found.verdict == verdict
    assert values(found.deciding) == {
        "spread at load 0.8: DRILL / random spraying": 2000 / random,
        "DRILL: % of packets out of order": 1.0,
    }
    beside = values(found.beside)
    names = [f"spread at load 0.8: DRILL / {other}" for other in (ECMP, ROUND_ROBIN)]
    assert [beside[name] for name in names] == [0.25, 2.0]
    assert beside["DRILL: spread, KB"] == 1.0


@pytest.mark.parametrize(("late", "outside"), [(0, []), (1, ["ConWeave, later flushes: packets out of order"])])
def test_conweave_beats_each_and_keeps_the_order(late: int, outside: list[str]) -> None:
    slowdowns = {ECMP: 4.0, LETFLOW: 4.0, CONGA: 3.0, "CONGA, the simulator's": 2.0, CONWEAVE: 2.5, LATER: 2.5}
    made = {scheme: [slowdown] * 2 for scheme, slowdown in slowdowns.items()}
    rdma = flows_of("slowdown", made, size_bytes=[100_000, 100_001], reordered=[0, late], packets_sent=[1, 1])
    found = judge(claim_of("LB4"), runs(rdma=rdma, rdma_web_search=rdma))
    assert values(found.deciding)["p99 slowdown, CONGA / ConWeave"] == 1.2
    assert values(found.beside)["p99 slowdown, CONGA, the simulator's / ConWeave"] == 0.8
    assert failing(found.deciding) == outside


def test_the_last_flow_of_a_permutation_counts() -> None:
    whole = {OBLIVIOUS: [1.0, 100.0], REPS: [50.0, 103.0], "oblivious, more": [1.0, 1.0], "REPS, more": [1.0, 2.0]}
    slow = whole | {OBLIVIOUS: [1.0, 120.0], REPS: [99.0, 100.0]}
    made = {
        "permutation": flows_of("fct_ns", whole, trimmed=[0, 1]),
        "slow_uplink": flows_of("fct_ns", slow, trimmed=[2, 3]),
    }
    found = judge(claim_of("LB5"), runs(**made))
    assert values(found.deciding) == {"whole fabric: REPS / oblivious": 1.03, "a slow uplink: oblivious / REPS": 1.2}
    assert values(found.beside)["whole fabric, more: REPS / oblivious"] == 2.0
    assert values(found.beside)["a slow uplink, REPS: packets trimmed"] == 5
    assert found.verdict == "holds"


def test_only_data_goes_into_a_dead_link() -> None:
    def case(scheme: str, last_us: int) -> Any:
        # What is shorter than a packet is acknowledgements.
        sent = [4160.0] * (100 + last_us) + [4159.0] * 200
        return {"scheme": scheme}, {}, {("leaf0", "spine0"): [0.0] * len(sent), ("spine0", "leaf0"): sent}

    found = judge(claim_of("LB6"), runs(dead_link=Sampled(case(OBLIVIOUS, 102), case(REPS, 101))))
    assert values(found.deciding) == {
        "oblivious: us until the last data packet": 101.0,
        "REPS: us until the last data packet": 100.0,
    }
    assert found.verdict == "holds"
    nothing = pl.DataFrame({"time_ns": [0.0, 200_000.0], "tx_bytes": [9000, 64]})
    assert measure.last_data_us(nothing, 4160, 100_000.0) == 0.0


@pytest.mark.parametrize(("rate", "verdict"), [(1.2, "holds"), (1.1, "differs")])
def test_hedera_is_held_by_the_mean_rate_of_flows(rate: float, verdict: str) -> None:
    # 1 Gb/s and 3 Gb/s under ECMP.
    times = {ECMP: [8.0, 8.0 / 3], HEDERA: [8.0 / rate, 8.0 / (3 * rate)], FIRST_FIT: [4.0, 4.0]}
    found = judge(claim_of("LB7"), runs(hedera=flows_of("fct_ns", times, size_bytes=[1, 1])))
    assert values(found.deciding)["mean rate of flows, Hedera / ECMP"] == pytest.approx(rate)
    assert values(found.beside)["Hedera, first fit: mean rate of flows, Gb/s"] == 2
    assert found.verdict == verdict


def test_experiments_are_there_and_every_scenario_stands() -> None:
    assert PAPERS["balance"].load() is PAPER
    for experiment in PAPER.experiments:
        for settings in (experiment.quick, experiment.full):
            assert read_plan(PAPERS_FOLDER / "balance" / "scenarios" / experiment.scenario, settings).cases
