"""The claims on ExpressPass: each number on flows, ports and samples made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from made_results import Runs, Sampled, failing, runs, samples, values
from packetloom.reproduce.claims import Claim, Finding, judge
from packetloom.reproduce.transports import PAPER, measure
from packetloom.reproduce.transports.expresspass import (
    BDP_PACKETS,
    DCTCP,
    EXPRESSPASS,
    FAT_TREE,
    NO_EARLY_STOP,
    NO_JITTER,
    ONE_SIZE,
    OTHER_WAYS,
    SIRD_AUTHORS,
)
from packetloom.store.case_rows import TableName

pytestmark = pytest.mark.unaudited

LINE_BYTES_PER_US = 1_250.0
ENDS_US = 6_000


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


class Both(Runs):
    """Cases of flows and of ports."""

    def __init__(self, flows: Runs, ports: Runs) -> None:
        super().__init__()
        self.tables = {"flows": flows, "ports": ports}

    def partitions(self, name: TableName, columns: Any = None) -> Any:
        return self.tables[name].partitions(name, columns)


def ports_of(by_scheme: dict[str, dict[str, list[Any]]]) -> Runs:
    return Runs(*(({"scheme": scheme}, one) for scheme, one in by_scheme.items()), table="ports")


@pytest.mark.parametrize(("lost", "packets", "outside"), [(0, 100, 0), (1, 100, 1), (0, 101, 1)])
def test_an_incast_loses_no_data_and_queues_few(lost: int, packets: int, outside: int) -> None:
    schemes = (EXPRESSPASS, SIRD_AUTHORS)
    flows = Runs(*(({"scheme": scheme}, {"retransmissions": [0, lost]}) for scheme in schemes))
    waiting: dict[str, list[Any]] = {"peer": ["host0", "spine0"], "queue_max_bytes": [1_500.0 * packets, 9e9]}
    both = Both(flows, ports_of(dict.fromkeys(schemes, waiting)))
    found = judge(claim_of("XP1"), runs(expresspass_incast=both))
    assert list(values(found.deciding).values()) == [lost, packets]
    assert len(failing(found.deciding)) == outside


def two_flows(slow_until_us: int) -> dict[tuple[str, str, int], pl.DataFrame]:
    """The newcomer has half of its share until then; what the first one leaves is the other's."""
    line = LINE_BYTES_PER_US * 0.948 * 1_500 / 1_538
    of_newcomer = [0.0 if us < 4_000 else line / 4 if us < 4_000 + slow_until_us else line / 2 for us in range(ENDS_US)]
    return {
        ("host8", "leaf1", 0): samples([line - one for one in of_newcomer]),
        ("host16", "leaf2", 0): samples(of_newcomer),
        ("leaf0", "host0", 0): samples([line] * ENDS_US),
    }


def converged(expresspass_us: int, dctcp_us: int) -> Finding:
    took = {EXPRESSPASS: expresspass_us, FAT_TREE: expresspass_us, DCTCP: dctcp_us}
    two = Sampled(*(({"scheme": scheme}, two_flows(us)) for scheme, us in took.items()))
    return judge(claim_of("XP2"), runs(expresspass_two=two))


def test_a_newcomer_has_its_share_once_five_round_trips_have_it_for_good() -> None:
    found = converged(70, 1_600)
    # Of 175 us with 0.5 or 1 of the share, 105 have 1 once it is 0.8.
    assert values(found.deciding)["ExpressPass, its fat tree's: RTTs"] == pytest.approx((70 + 105) / 35)
    assert values(found.deciding)["DCTCP / ExpressPass, its fat tree's"] == pytest.approx(1_705 / 175)
    assert failing(found.deciding) == ["DCTCP / ExpressPass, its fat tree's"]
    assert converged(70, 1_700).verdict == "holds"
    assert len(failing(converged(1_200, 1_600).deciding)) == 2


def test_a_share_that_is_lost_again_does_not_count() -> None:
    shares = pl.DataFrame({"time_ns": [1.0, 2.0, 3.0, 4.0], "share": [0.5, 0.9, 0.7, 0.8]})
    assert measure.since_when(shares, 0.8, 0.0) == 4
    assert measure.since_when(shares, 0.8, 0.0, for_good=False) == 2
    assert measure.since_when(shares, 0.5, 0.0) == 1
    assert measure.since_when(shares, 0.95, 0.0) == 4, "never: until the last sample"
    assert measure.since_when(shares, 0.95, 0.0, for_good=False) == 4


def test_a_lone_flow_counts_with_its_framing() -> None:
    two = Sampled(*(({"scheme": scheme}, two_flows(0)) for scheme in (EXPRESSPASS, FAT_TREE, DCTCP)))
    found = judge(claim_of("XP3"), runs(expresspass_two=two))
    assert values(found.deciding) == {"ExpressPass: of the link": pytest.approx(0.948)}
    assert found.verdict == "holds"


@pytest.mark.parametrize(("longer", "verdict"), [(5.0, "holds"), (4.9, "differs")])
def test_a_byte_more_than_a_packet_costs_a_second_credit(longer: float, verdict: str) -> None:
    one: dict[str, list[Any]] = {
        "size_bytes": [1_460, 1_460, 1_461, 1_461],
        "fct_ns": [4e3, 6e3, 9e3 * longer, 1e3 * longer],
    }
    found = judge(claim_of("XP4"), runs(expresspass_two_packets=Runs(({"scheme": EXPRESSPASS}, one))))
    assert values(found.deciding) == {"FCT of 1461 B / of 1460 B": longer}
    assert found.verdict == verdict


@pytest.mark.parametrize(("times", "verdict"), [(5.0, "holds"), (4.9, "differs")])
def test_the_largest_queue_is_that_of_a_switch(times: float, verdict: str) -> None:
    def waiting(bytes_: float) -> dict[str, list[Any]]:
        return {"node": ["leaf0", "spine1", "host0"], "queue_max_bytes": [1.0, bytes_, 9e9]}

    both = ports_of({EXPRESSPASS: waiting(1e4), OTHER_WAYS: waiting(times * 1e4)})
    found = judge(claim_of("XP5"), runs(expresspass_paths=both))
    assert list(values(found.deciding).values()) == [times]
    assert found.verdict == verdict


@pytest.mark.parametrize(("wasted", "late", "outside"), [(84, 85, 0), (85, 86, 1), (80, 80, 1)])
def test_a_wasted_credit_has_no_packet(wasted: int, late: int, outside: int) -> None:
    def came(credits: int) -> dict[str, list[Any]]:
        # Ten flows of 6850 packets, and an answer to the stop of each.
        return {"peer": ["host0", "host8"], "tx_packets": [10 * (6_850 + 1 + credits), 10**9]}

    both = ports_of({EXPRESSPASS: came(wasted), NO_EARLY_STOP: came(late)})
    found = judge(claim_of("XP6"), runs(expresspass_waste=both))
    assert values(found.deciding)["wasted a flow, BDPs"] == round(wasted / BDP_PACKETS, 9)
    assert len(failing(found.deciding)) == outside


@pytest.mark.parametrize(("largest", "verdict"), [(2.0, "holds"), (1.2, "differs")])
def test_evenness_is_that_of_those_who_send_data(largest: float, verdict: str) -> None:
    def sent(of_one: float) -> dict[tuple[str, str, int], pl.DataFrame]:
        # What was sent in the first millisecond does not count.
        rates = {"host0": 50.0, "host1": 0.0, "host8": of_one * 1e3, "host11": 1e3}
        return {(host, "leaf", 0): samples([9e9 * (host == "host8")] * 1000 + [r] * 3000) for host, r in rates.items()}

    schemes = ((EXPRESSPASS, 1.0), (NO_JITTER, largest), (ONE_SIZE, 1.0))
    found = judge(
        claim_of("XP7"), runs(expresspass_jitter=Sampled(*(({"scheme": one}, sent(of)) for one, of in schemes)))
    )
    even = (1 + largest) ** 2 / (2 * (1 + largest**2))
    assert values(found.deciding) == {"Jain's index, with jitter less without": pytest.approx(1 - even)}
    assert found.verdict == verdict
