"""The claims on dcPIM: each number on flows and samples made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from made_results import Runs, Sampled, failing, runs, samples, values
from packetloom.reproduce.claims import Claim, Finding, judge
from packetloom.reproduce.transports import PAPER
from packetloom.reproduce.transports.dcpim import ACK_ACROSS_NS, ACK_IN_RACK_NS, DCPIM, SIMULATOR
from packetloom.store.case_rows import CaseRow, TableName

pytestmark = pytest.mark.unaudited

ROUNDS, CHANNELS = "scheme.transport.rounds", "scheme.transport.channels"
LINE_BYTES_PER_US = 12_500.0
Columns = dict[str, list[Any]]


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


@pytest.mark.parametrize(("slowdown", "verdict"), [(2.5, "holds"), (2.6, "differs")])
def test_short_flows_are_measured_up_to_their_acknowledgement(slowdown: float, verdict: str) -> None:
    oracle = [1_000 + ACK_ACROSS_NS, 1_000 + ACK_IN_RACK_NS]
    # The last is a packet too long.
    one: Columns = {
        "src": [0, 0, 0],
        "dst": [16, 1, 16],
        "size_bytes": [27_740, 100, 27_741],
        "best_fct_ns": [1_000.0, 1_000.0, 1_000.0],
        "sender_fct_ns": [slowdown * oracle[0], slowdown * oracle[1], 1e9],
    }
    cases = (({"scheme": scheme, "load": load}, one) for scheme in (DCPIM, SIMULATOR) for load in (0.5, 0.8))
    found = judge(claim_of("DP1"), runs(dcpim_web_search=Runs(*cases)))
    assert list(values(found.deciding).values()) == [slowdown]
    assert found.verdict == verdict


def carried(share: float) -> dict[tuple[str, str, int], Any]:
    """Two ports to hosts that carry that much in the second half, in two classes, and one between switches."""
    half = [9e9] * 10 + [share * LINE_BYTES_PER_US / 2] * 11
    ports = {("leaf0", host, level): samples(half) for host in ("host0", "host1") for level in (1, 2)}
    return ports | {("leaf0", "spine0", 1): samples([9e9] * 21)}


def saturated(by_rounds: dict[int, float], by_channels: dict[int, float]) -> Sampled:
    return Sampled(
        *(({"scheme": DCPIM, ROUNDS: count, CHANNELS: None}, carried(one)) for count, one in by_rounds.items()),
        *(({"scheme": "other", ROUNDS: None, CHANNELS: count}, carried(one)) for count, one in by_channels.items()),
    )


def judged(id: str, rounds: dict[int, float], channels: dict[int, float]) -> Finding:
    below = Sampled(*(({"scheme": DCPIM, "load": load}, carried(load)) for load in (0.5, 0.8)))
    return judge(claim_of(id), runs(dcpim_rounds=saturated(rounds, channels), dcpim_web_search=below))


def test_what_is_carried_is_that_of_the_links_to_hosts_in_the_second_half() -> None:
    found = judged("DP2", {1: 0.7, 2: 0.8, 4: 0.85, 8: 0.86}, {1: 0.8, 8: 0.85})
    assert values(found.deciding) == {"carried when 0.98 is offered": 0.85}
    assert found.verdict == "holds"
    assert judged("DP2", {1: 0.7, 2: 0.7, 4: 0.79, 8: 0.9}, {1: 0.9, 8: 0.9}).verdict == "differs"


def test_each_round_adds_until_there_are_four() -> None:
    assert judged("DP3", {1: 0.7, 2: 0.8, 4: 0.85, 8: 0.86}, {1: 0.8, 8: 0.85}).verdict == "holds"
    found = judged("DP3", {1: 0.8, 2: 0.8, 4: 0.79, 8: 0.82}, {1: 0.8, 8: 0.85})
    assert len(failing(found.deciding)) == 3


def test_four_channels_carry_more_than_one_and_as_much_as_eight() -> None:
    rounds = {1: 0.7, 2: 0.8, 4: 0.8, 8: 0.8}
    assert judged("DP4", rounds, {1: 0.77, 8: 0.807}).verdict == "holds"
    assert len(failing(judged("DP4", rounds, {1: 0.78, 8: 0.81}).deciding)) == 2


@pytest.mark.parametrize(("longer", "verdict"), [(1.5, "holds"), (4.1, "differs"), (1.4, "differs")])
def test_a_packet_more_than_a_bdp_costs_a_matching(longer: float, verdict: str) -> None:
    one: Columns = {
        "size_bytes": [27_740, 27_740, 29_200, 29_200],
        "sender_fct_ns": [4e3, 6e3, 9e3 * longer, 1e3 * longer],
    }
    found = judge(claim_of("DP5"), runs(dcpim_just_above=Runs(({"scheme": DCPIM}, one), ({"scheme": SIMULATOR}, one))))
    assert values(found.deciding) == {"dcPIM: FCT of 20 packets / of 19": longer}
    assert found.verdict == verdict


class Both(Sampled):
    """Samples of ports, and the most that waited at each."""

    def __init__(self, waiting: float, *cases: tuple[dict[str, Any], Any]) -> None:
        super().__init__(*cases)
        self.waiting = waiting

    def of(self, name: TableName, row: CaseRow) -> pl.DataFrame:
        return super().of(name, row).with_columns(queue_max_bytes=self.waiting)


@pytest.mark.parametrize(("senders", "bdps", "outside"), [(4, 2.0, 0), (5, 2.1, 2)])
def test_senders_at_a_time_are_those_of_a_round_that_send_data(senders: int, bdps: float, outside: int) -> None:
    # In the first round of a phase all still send; others send control packets alone.
    sent = {host: [1_500.0, 40.0, 40.0, 40.0] * 2 for host in range(8)}
    for host in range(senders):
        sent[host][2 + host % 2] = sent[host][6] = 3_000.0
    ports = {(f"host{host}", "leaf0", 0): samples(one) for host, one in sent.items()}
    ports |= {("leaf0", "host9", 0): samples([9e3] * 8)}
    both = Both(bdps * 28_500, ({"scheme": DCPIM}, ports), ({"scheme": SIMULATOR}, ports))
    found = judge(claim_of("DP6"), runs(dcpim_incast=both))
    assert values(found.deciding) == {"dcPIM: largest queue, BDPs": bdps, "dcPIM: most senders at a time": senders}
    assert len(failing(found.deciding)) == outside
