"""The claims on Aeolus: each number on flows and ports made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from made_results import Runs, failing, runs, values
from packetloom.reproduce.claims import Claim, judge
from packetloom.reproduce.transports import PAPER
from packetloom.reproduce.transports.aeolus import (
    AEOLUS,
    EXPRESSPASS,
    HOMA,
    HOMA_AEOLUS,
    HOMA_AEOLUS_ONE,
    HOMA_FIFO,
    HOMA_ONE,
    HOMA_ROOM,
    NDP,
    NDP_AEOLUS,
    NDP_NEITHER,
    NO_RAMP,
    NOTHING_FIRST,
    WITH_RAMP,
)

pytestmark = pytest.mark.unaudited


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


def flows(fcts: dict[str, float], size_bytes: int = 50_000) -> Runs:
    """Flows of this size that take so long; all others are large, and take four times as long."""
    of: dict[str, dict[str, list[Any]]] = {
        name: {"size_bytes": [size_bytes, 10**6], "fct_ns": [fct, 4 * fct]} for name, fct in fcts.items()
    }
    return Runs(*(({"scheme": scheme}, columns) for scheme, columns in of.items()))


OTHERS = {NO_RAMP: 1.6e4, WITH_RAMP: 1.2e4, NOTHING_FIRST: 1e4}


@pytest.mark.parametrize(("aeolus", "verdict"), [(1.4e4, "holds"), (1.41e4, "differs")])
def test_a_mean_is_three_tenths_lower(aeolus: float, verdict: str) -> None:
    found = judge(claim_of("AE1"), runs(aeolus_web_server=flows({EXPRESSPASS: 2e4, AEOLUS: aeolus} | OTHERS)))
    assert values(found.deciding) == {f"mean FCT, {AEOLUS} / {EXPRESSPASS}": round(aeolus / 2e4, 9)}
    assert values(found.beside)[f"mean FCT, {AEOLUS} / {NO_RAMP}"] == round(aeolus / 1.6e4, 9)
    assert found.verdict == verdict


@pytest.mark.parametrize(("aeolus", "verdict"), [(1.4e4, "holds"), (1.41e4, "differs")])
def test_the_tail_is_of_small_flows(aeolus: float, verdict: str) -> None:
    found = judge(claim_of("AE2"), runs(aeolus_web_server=flows({EXPRESSPASS: 2e4, AEOLUS: aeolus} | OTHERS, 10_000)))
    assert values(found.deciding) == {f"up to 100 KB: p99 FCT, {AEOLUS} / {EXPRESSPASS}": round(aeolus / 2e4, 9)}
    assert values(found.beside)[f"up to 10 KB: p99 FCT, {AEOLUS} / {EXPRESSPASS}"] == round(aeolus / 2e4, 9)
    assert found.verdict == verdict


@pytest.mark.parametrize(("most", "outside"), [(198_500.0, 0), (198_501.0, 2)])
def test_nothing_with_a_credit_is_dropped_where_there_was_room_for_a_packet(most: float, outside: int) -> None:
    def ports(bytes_: float) -> dict[str, list[Any]]:
        return {"node": ["host0", "leaf0", "spine0"], "queue_max_bytes": [9e9, 1e3, bytes_]}

    made = Runs(({"scheme": AEOLUS}, ports(most)), ({"scheme": NOTHING_FIRST}, ports(2e5)), table="ports")
    of_ndp = Runs(({"scheme": NDP_AEOLUS}, ports(2e5)), table="ports")
    found = judge(claim_of("AE5"), runs(aeolus_web_server=made, aeolus_incast=made, aeolus_ndp=of_ndp))
    assert len(failing(found.deciding)) == outside
    assert set(values(found.beside).values()) == {1.0}


@pytest.mark.parametrize(("aeolus", "verdict"), [(2.5e4, "holds"), (2.51e4, "differs"), (1.5e4, "holds")])
def test_ndps_tail_is_met_within_a_quarter(aeolus: float, verdict: str) -> None:
    found = judge(claim_of("AE4"), runs(aeolus_ndp=flows({NDP: 2e4, NDP_AEOLUS: aeolus, NDP_NEITHER: 1e6})))
    assert values(found.deciding) == {f"p99 FCT, {NDP_AEOLUS} / {NDP}": round(aeolus / 2e4, 9)}
    assert values(found.beside)[f"p99 FCT, {NDP_NEITHER} / {NDP}"] == 50.0
    assert found.verdict == verdict


@pytest.mark.parametrize(("aeolus", "verdict"), [(1e4, "holds"), (1.01e4, "differs")])
def test_homas_tail_is_three_times_lower_in_an_incast_of_messages_without_grants(aeolus: float, verdict: str) -> None:
    def of(size_bytes: int, fcts: dict[str, float]) -> list[tuple[dict[str, Any], dict[str, list[Any]]]]:
        case = {"workload.sizes.size_bytes": size_bytes}
        return [(case | {"scheme": scheme}, {"fct_ns": [fct]}) for scheme, fct in fcts.items()]

    others = {HOMA_FIFO: 1.5e4, HOMA_ROOM: 9e3, HOMA_ONE: 2e4, HOMA_AEOLUS_ONE: 1e4}
    large = of(100_000, {HOMA: 3e4, HOMA_AEOLUS: aeolus} | others)
    small = of(30_000, {HOMA: 1e4, HOMA_AEOLUS: 2e4} | others)
    found = judge(claim_of("AE3"), runs(aeolus_homa=Runs(*large, *small)))
    assert list(values(found.deciding).values()) == [round(3e4 / aeolus, 9)]
    assert values(found.beside)[f"incast of 7, 30 KB: p99 FCT, {HOMA} / {HOMA_AEOLUS}"] == 0.5
    assert values(found.beside)[f"incast of 7, 100 KB: p99 FCT, {HOMA} / {HOMA_FIFO}"] == 2.0
    assert found.verdict == verdict
