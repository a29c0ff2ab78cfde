"""The claims on SIRD: each number on queues, flows and samples made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from made_results import Runs, Sampled, failing, runs, samples, values
from packetloom.reproduce.claims import Claim, Finding, judge
from packetloom.reproduce.transports import PAPER
from packetloom.reproduce.transports.sird import (
    DCPIM,
    EXPRESSPASS,
    HOMA,
    LESS_BUDGET,
    MORE_BUDGET,
    NO_PRIORITIES,
    SIMULATOR,
    SIRD,
    UNMARKED,
)
from packetloom.store.case_rows import TableName

pytestmark = pytest.mark.unaudited


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


class Both(Runs):
    """Cases of flows and of ports."""

    def __init__(self, flows: Runs, ports: Runs) -> None:
        super().__init__()
        self.tables = {"flows": flows, "ports": ports}

    def partitions(self, name: TableName, columns: Any = None) -> Any:
        return self.tables[name].partitions(name, columns)


def waiting(bytes_: float) -> dict[str, list[Any]]:
    """What waits before a host at most, and more where nobody asks: at a host, and between switches."""
    return {
        "node": ["leaf0", "leaf0", "host0"],
        "peer": ["host0", "spine0", "leaf0"],
        "queue_max_bytes": [float(bytes_), 9e9, 9e9],
    }


def w4(values: dict[str, Any], *, table: TableName = "flows", loads: tuple[float, ...] = (0.5, 0.7)) -> Runs:
    return Runs(
        *(({"scheme": scheme, "load": load}, one) for load in loads for scheme, one in values.items()), table=table
    )


@pytest.mark.parametrize(("packets", "last_us", "outside"), [(30, 440.0, 0), (31, 440.0, 1), (2, 441.0, 1)])
def test_an_incast_that_asks_keeps_the_queue_short_and_the_link_full(
    packets: int, last_us: float, outside: int
) -> None:
    fcts = {"fct_ns": [1e3, last_us * 1e3, 2e3]}
    schemes = ({"scheme": SIRD}, {"scheme": SIMULATOR})
    ports = Runs(*((scheme, waiting(1_500 * packets)) for scheme in schemes), table="ports")
    found = judge(claim_of("SI1"), runs(sird_incast=Both(Runs(*((scheme, fcts) for scheme in schemes)), ports)))
    assert values(found.deciding)["SIRD: largest queue, packets"] == packets
    assert len(failing(found.deciding)) == outside


def shared(kept: float) -> Any:
    """Each receiver gives credit for eight packets a microsecond, and from 0.1 ms on for so many more."""
    credit = [46.0 * 8] * 1200
    credit[100] += 46.0 * kept
    data = [1_500.0 * 8] * 1200
    ports = {}
    for host, leaf in (("host8", "leaf1"), ("host16", "leaf2")):
        ports[host, leaf, 0] = samples(credit)
        ports[leaf, host, 0] = samples(data)
    return ports


def test_credit_outstanding_is_what_was_given_less_what_came() -> None:
    def found(marked: float, unmarked: float) -> Finding:
        cases = ((SIRD, marked), (SIMULATOR, marked), (UNMARKED, unmarked))
        return judge(
            claim_of("SI3"), runs(sird_shared_sender=Sampled(*(({"scheme": one}, shared(kept)) for one, kept in cases)))
        )

    # On their way to a host are eight packets a microsecond for 1.373 us, which have not come.
    under_way = 2 * 8 * 1.37304
    assert values(found(30, 60).deciding)["SIRD: credit of both, BDPs"] == pytest.approx(
        (2 * 30 + under_way) * 1_538 / 100_000
    )
    assert found(30, 60).verdict == "holds"
    assert failing(found(50, 60).deciding) == ["SIRD: credit of both, BDPs"]
    assert failing(found(30, 45).deciding) == ["SIRD, senders do not mark: credit of both, BDPs"]


@pytest.mark.parametrize(("homa", "verdict"), [(2e5, "holds"), (1.9e5, "differs")])
def test_queues_before_hosts_are_held_against_homas(homa: float, verdict: str) -> None:
    ports = w4({SIRD: waiting(1e5), SIMULATOR: waiting(1e5), HOMA: waiting(homa)}, table="ports")
    found = judge(claim_of("SI4"), runs(sird_w4=ports))
    assert values(found.deciding)["W4 at 0.7: largest queue, Homa / SIRD"] == homa / 1e5
    assert found.verdict == verdict


def priorities(large: float, smallest: float) -> Runs:
    sizes = {"size_bytes": [1_458, 50_000, 100_001]}
    return w4(
        {SIRD: {"slowdown": [1.0, 9.0, 2.0]} | sizes, NO_PRIORITIES: {"slowdown": [smallest, 99.0, large]} | sizes}
    )


def test_without_priorities_the_large_lose_little_and_the_smallest_much() -> None:
    assert judge(claim_of("SI7"), runs(sird_w4=priorities(2.2, 2.0))).verdict == "holds"
    assert len(failing(judge(claim_of("SI7"), runs(sird_w4=priorities(2.3, 1.9))).deciding)) == 2


def budgets(queues: tuple[float, float, float], ends: tuple[float, float, float]) -> Finding:
    schemes = (LESS_BUDGET, SIRD, MORE_BUDGET)
    ports = w4({scheme: waiting(one) for scheme, one in zip(schemes, queues, strict=True)}, table="ports")
    flows = {
        scheme: {"start_ns": [10.0, 20.0], "fct_ns": [1.0, end - 20.0]}
        for scheme, end in zip(schemes, ends, strict=True)
    }
    return judge(claim_of("SI8"), runs(sird_w4=Both(w4(flows), ports)))


def test_a_budget_trades_queue_for_throughput() -> None:
    found = budgets((100, 110, 143), (300, 290, 280))
    assert found.verdict == "holds"
    assert values(found.deciding)["W4 at 0.7: last end, 1.5 / 1.0 BDP"] == round(290 / 300, 9)
    assert len(failing(budgets((110, 110, 142), (300, 300, 301)).deciding)) == 4


@pytest.mark.parametrize(("sird", "verdict"), [(3.9, "holds"), (4.0, "differs")])
def test_tails_are_held_against_those_of_dcpim_at_the_highest_load(sird: float, verdict: str) -> None:
    loads = (0.5, 0.85)
    ports = w4({SIRD: waiting(2e5), DCPIM: waiting(1e5)}, table="ports", loads=loads)
    tails = w4(
        {SIRD: {"size_bytes": [1], "slowdown": [sird]}, DCPIM: {"size_bytes": [1], "slowdown": [4.0]}}, loads=loads
    )
    found = judge(claim_of("SI5"), runs(sird_w4=Both(tails, ports)))
    assert values(found.deciding) == {"W4 at 0.85: p99 slowdown, SIRD / dcPIM": round(sird / 4, 9)}
    assert values(found.beside)["W4 at 0.85: largest queue, SIRD / dcPIM"] == 2.0
    assert found.verdict == verdict


@pytest.mark.parametrize(("slowest", "verdict"), [(10.0, "holds"), (9.9, "differs")])
def test_the_tail_is_a_fifth_of_expresspasses(slowest: float, verdict: str) -> None:
    sizes = {"size_bytes": [1_458, 50_000]}
    of = {SIRD: {"slowdown": [2.0, 2.0]} | sizes, EXPRESSPASS: {"slowdown": [slowest, slowest]} | sizes}
    found = judge(claim_of("SI6"), runs(sird_w4=w4(of, loads=(0.5, 0.85))))
    assert values(found.deciding) == {"W4 at 0.85: p99 slowdown, ExpressPass / SIRD": slowest / 2}
    assert values(found.beside)["W4 at 0.85, one packet: p99 slowdown, ExpressPass / SIRD"] == slowest / 2
    assert found.verdict == verdict
