"""The claims on lossless Ethernet: each number on samples, ports and flows made by hand."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from made_results import Runs, failing, runs, values
from packetloom.common.fairness import jain
from packetloom.reproduce import PAPERS, PAPERS_FOLDER
from packetloom.reproduce.claims import Claim, NotComparable, judge
from packetloom.reproduce.rdma import PAPER, claims
from packetloom.reproduce.rdma.claims import DCQCN, HPCC, PFC, TIMELY
from packetloom.reproduce.readings import times_as_many
from packetloom.reproduce.samples import drained_after_ns, rates_gbps
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import CaseRow, TableName

pytestmark = pytest.mark.unaudited


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


class Sampled(Runs):
    """Cases of ports and their samples over time: (node, peer) and what was sent, or waited, from sample to sample."""

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        assert columns is not None
        for row, (_, ports) in zip(self.rows(), self.made, strict=True):
            parts = []
            for number, (link, numbers) in enumerate(ports.items()):
                node, _, peer = link.partition(" to ")
                times = [1000.0 * place for place in range(len(numbers))]
                samples = {"time_ns": times, "tx_bytes": numbers, "queue_bytes": numbers}
                one = pl.DataFrame({"time_ns": [0.0]} if name == "ports" else samples)
                parts.append(one.with_columns(port=pl.lit(number), node=pl.lit(node), peer=pl.lit(peer)))
            yield row, pl.concat(parts).select(columns).to_arrow()


def case(scheme: str, more: dict[str, Any] | None = None, **ports: list[float]) -> Any:
    """Ports by names such as host1_to_leaf0."""
    links = {name.replace("_to_", " to "): numbers for name, numbers in ports.items()}
    return {"scheme": scheme, "load": None} | (more or {}), links


def test_shares_are_of_senders_and_of_the_second_half() -> None:
    pfc = case(
        PFC, host0_to_leaf0=[9, 9, 9, 9, 0], host1_to_leaf0=[0, 0, 60, 60, 0], host2_to_leaf0=[900, 900, 20, 20, 0]
    )
    even = case(DCQCN, host0_to_leaf0=[9] * 5, host1_to_leaf0=[40] * 5, host2_to_leaf0=[40] * 5)
    found = judge(claim_of("RD1"), runs(sharing=Sampled(pfc, even)))
    assert values(found.deciding) == {"PFC alone: largest / mean share": 1.5, "DCQCN: Jain's index": 1.0}
    assert found.verdict == "holds"


def test_rates_end_with_the_last_sample() -> None:
    samples = pl.DataFrame({"node": ["a"] * 5, "time_ns": [0.0, 1e3, 2e3, 3e3, 4e3], "tx_bytes": [1, 1, 100, 300, 999]})
    assert rates_gbps(samples, 0.5) == [pytest.approx(400 * 8 / 2e3)]


def victims(pfc: dict[int, float], dcqcn: float) -> Sampled:
    """Shares of 40 Gb/s, which is 5000 B in each microsecond."""
    axis = "workload.0.arrivals.file"
    of = [(PFC, width, share) for width, share in pfc.items()] + [(DCQCN, width, dcqcn) for width in pfc]
    return Sampled(
        *(
            case(scheme, {axis: f"/a/victim-{width}.csv"}, host1_to_leaf0=[5000 * share] * 5)
            for scheme, width, share in of
        )
    )


def test_a_victim_loses_more_beside_more() -> None:
    found = judge(claim_of("RD2"), runs(victim=victims({2: 0.5, 8: 0.125}, 1.0)))
    assert values(found.deciding)["PFC alone: least share"] == 0.125
    assert values(found.deciding)["PFC alone: share beside the widest / the narrowest"] == 0.25
    assert found.verdict == "holds"
    same = judge(claim_of("RD2"), runs(victim=victims({2: 0.5, 8: 0.5}, 0.8)))
    assert same.outside == [
        "PFC alone: share beside the widest / the narrowest",
        "DCQCN: share beside 2 senders",
        "DCQCN: share beside 8 senders",
    ]


def paused(table: dict[tuple[str, int], list[float]], column: str) -> Runs:
    cases = [({"scheme": scheme, "seed": seed}, {column: ports}) for (scheme, seed), ports in table.items()]
    return Runs(*cases, table="ports")


def test_pauses_are_counted_over_all_ports_and_seeds() -> None:
    nan = float("nan")
    counts = {(PFC, 1): [60.0, nan], (PFC, 2): [40.0, 50.0], (DCQCN, 1): [0.0, nan], (DCQCN, 2): [3.0, 2.0]}
    found = judge(claim_of("RD3"), runs(user_traffic=paused(counts, "pauses")))
    assert values(found.deciding) == {"pauses, PFC alone / DCQCN": 30.0}
    for hpcc_ns, verdict in ((0.0, "holds"), (30.0, "differs")):
        times = {(HPCC, 1): [hpcc_ns], (DCQCN, 1): [1000.0, nan]}
        assert judge(claim_of("RD7"), runs(web_search_incast=paused(times, "paused_ns"))).verdict == verdict


def test_a_queue_is_drained_the_first_time_that_it_is_low_after_its_peak() -> None:
    queue = pl.DataFrame({"time_ns": [0.0, 10, 20, 30, 40, 50], "queue_bytes": [1, 900, 1000, 51, 49, 700]})
    assert drained_after_ns(queue, 0.05) == 20
    assert drained_after_ns(queue.head(4), 0.05) == float("inf")


def test_an_incast_of_sixteen_decides() -> None:
    def incast(scheme: str, fan_in: int, microseconds: int) -> Any:
        queue = [100.0] * microseconds + [0.0]
        return case(scheme, {"workload.0.pattern.fan_in": fan_in}, leaf0_to_host0=queue)

    drained = [incast(HPCC, 4, 40), incast(HPCC, 16, 8), incast(DCQCN, 16, 400)]
    fabric = [
        case(scheme, leaf0_to_spine0=[queue] * 3, host1_to_leaf0=[9e9] * 3)
        for scheme, queue in ((HPCC, 10.0), (DCQCN, 100.0))
    ]
    slow = case(HPCC, {"scheme.transport.initial_rate_gbps": 12.5}, leaf0_to_host0=[100.0] * 10 + [0.0])
    found = judge(
        claim_of("RD4"), runs(incast=Sampled(*drained), first_windows=Sampled(slow), web_search=Sampled(*fabric))
    )
    beside = {one.what: one.value for one in found.beside}
    name = "HPCC, first windows of 2 BDPs together: round trips until drained"
    assert beside[name] == pytest.approx(10_000 / 4_160)
    assert set(values(found.deciding)) == {
        "HPCC, 16 senders: round trips until drained",
        "web search: p99 queue, HPCC / DCQCN",
    }
    assert values(found.deciding)["web search: p99 queue, HPCC / DCQCN"] == 0.1
    assert found.verdict == "holds"


def test_headroom_is_paid_by_flows_that_are_large() -> None:
    # 95 % of 100 Gb/s are 11875 B in each microsecond.
    steady = Sampled(case(HPCC, {"workload.0.pattern.fan_in": 2}, leaf0_to_host0=[11875.0] * 5))

    def low(slowdown: float) -> Runs:
        flows: dict[str, list[Any]] = {"size_bytes": [20_000_000] * 3 + [1000], "slowdown": [slowdown, slowdown, 9, 50]}
        return Runs(({"scheme": HPCC}, flows), ({"scheme": DCQCN}, flows))

    shared = Runs(*low(1.05).made, ({"scheme": claims.SHARES}, {"size_bytes": [20_000_000], "slowdown": [1.04]}))
    found = judge(claim_of("RD5"), runs(steady=steady, low_load=shared, alone=low(3.0)))
    beside = {one.what: one.value for one in found.beside}
    assert beside["flows above 10 MB at load 0.3: HPCC / max-min shares, median"] == pytest.approx(
        1.05 * 1090 / 1048 / 1.04
    )
    name = "flows above 10 MB at load 0.3: HPCC / DCQCN's best case, median"
    assert values(found.deciding) == {"2 long flows: of the link": 0.95, name: round(1.05 * 1090 / 1048, 9)}
    assert found.verdict == "holds"
    assert failing(judge(claim_of("RD5"), runs(steady=steady, low_load=low(1.1), alone=low(1.05))).deciding) == [name]


def test_the_tail_is_that_of_the_shortest_flows() -> None:
    def flows(tail: float) -> dict[str, list[Any]]:
        return {"size_bytes": [1000] * 21 + [5000], "slowdown": [1.0] * 19 + [tail, tail] + [99.0]}

    schemes = {HPCC: 2.0, DCQCN: 6.0, TIMELY: 1.9}
    found = judge(
        claim_of("RD6"), runs(web_search=Runs(*(({"scheme": one}, flows(tail)) for one, tail in schemes.items())))
    )
    assert values(found.deciding) == {"p95, DCQCN / HPCC": 3.0, "p95, TIMELY / HPCC": 0.95}
    assert failing(found.deciding) == ["p95, TIMELY / HPCC"]


def test_fixed_points_are_over_starts_and_first_rates() -> None:
    def at(scheme: str, start_ns: float, rate: float, shares: tuple[float, float]) -> Any:
        axes = {"workload[1].start_ns": start_ns, "scheme.transport.initial_rate_gbps": rate}
        return case(scheme, axes, host1_to_leaf0=[shares[0]] * 5, host2_to_leaf0=[shares[1]] * 5)

    made = [
        at(TIMELY, 0.0, 5.0, (5, 5)),
        at(TIMELY, 1e7, 10.0, (9, 1)),
        # No source has flows start so slowly.
        at(TIMELY, 1e7, 1.0, (10, 0)),
        at(DCQCN, 0.0, 5.0, (5, 5)),
        at(DCQCN, 1e7, 10.0, (5, 4)),
        at(DCQCN, 1e7, 1.0, (10, 0)),
    ]
    segments = [
        case(TIMELY, {"scheme.transport.ack_every": packets}, host1_to_leaf0=[5] * 5, host2_to_leaf0=[other] * 5)
        for packets, other in ((16, 5), (16, 1), (64, 5))
    ]
    own = [
        case(scheme, {"workload[1].start_ns": at_ns}, host1_to_leaf0=[ours] * 5, host2_to_leaf0=[1.0] * 5)
        # Of each scheme only the start at which the first flow has come to 7 Gb/s counts.
        for scheme, at_ns, ours in (
            *((one, at_ns, 4.0 if one == TIMELY else 1.0) for one, at_ns in claims.SEVEN_GBPS_NS.items()),
            (TIMELY, 580_000, 99.0),
        )
    ]
    of_both = {"starts": Sampled(*made), "segments": Sampled(*segments)}
    found = judge(claim_of("RD8"), {**runs(**of_both), "seven-and-three": Sampled(*own)})
    assert values(found.beside)["TIMELY, from 7 and 3 Gb/s: Jain's index"] == round(25 / 34, 9)
    even = [at(scheme, 0.0, 5.0, (5, 5)) for scheme in (TIMELY, DCQCN)]
    only_own = {**runs(starts=Sampled(*even), segments=Sampled(*segments)), "seven-and-three": Sampled(*own)}
    of_own = judge(claim_of("RD8"), only_own)
    assert values(of_own.deciding)["TIMELY: range of Jain's index"] == round(1 - 25 / 34, 9)
    beside = {one.what: one.value for one in found.beside if "a rate for each" in one.what and "7" not in one.what}
    assert beside == {
        "TIMELY, a rate for each 16 KB: least of Jain's index": pytest.approx(36 / 52),
        "TIMELY, a rate for each 64 KB: least of Jain's index": 1.0,
    }
    least = 100 / (2 * 82)
    assert values(found.deciding) == {
        "TIMELY: range of Jain's index": round(1 - least, 9),
        "DCQCN: least Jain's index": round(81 / (2 * 41), 9),
    }
    assert found.verdict == "holds"


def test_recovery_is_held_by_mean_slowdowns() -> None:
    schemes = {claims.IRN: 2.0, claims.IRN_LOSSLESS: 2.1, claims.GO_BACK_N: 4.0, claims.GO_BACK_N_LOSSY: 4.4}
    schemes |= {claims.IRN_UNPAUSED: 2.0, claims.IRN_PATIENT: 2.2}
    sizes = [1_000, 1_001]
    cases: list[tuple[dict[str, Any], dict[str, list[Any]]]] = [
        ({"scheme": one}, {"slowdown": [mean - 1, mean + 1], "size_bytes": sizes}) for one, mean in schemes.items()
    ]
    made = Runs(*cases)
    found = judge(claim_of("RD9"), runs(irn=made))
    beside = values(found.beside)
    assert beside["IRN, PFC, a longer timeout / without PFC"] == 1.1
    assert beside["flows of one packet: IRN, PFC / without PFC"] == 1.1
    assert values(found.deciding) == {
        "IRN / go-back-N with PFC": 0.5,
        "IRN with PFC / without": 1.05,
        "go-back-N without PFC / with": 1.1,
    }
    assert failing(found.deciding) == ["go-back-N without PFC / with"]


class Incasts(Sampled):
    """The same with what the receiver's port dropped."""

    def __init__(self, *cases: Any, drops: Sequence[int]) -> None:
        super().__init__(*cases)
        self.drops = drops

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        if name == "ports" and columns and "drops" in columns:
            for row, drops in zip(self.rows(), self.drops, strict=True):
                ports = {"peer": ["host0", "host1"], "drops": [drops, 999], "tx_packets": [1000 - drops, 1]}
                yield row, pl.DataFrame(ports).select(columns).to_arrow()
        else:
            yield from super().partitions(name, columns)


@pytest.mark.parametrize(("lost", "verdict"), [(20, "holds"), (21, "differs")])
def test_loss_is_held_against_a_tenth_of_that_with_a_floor(lost: int, verdict: str) -> None:
    full = {"leaf0_to_host0": [12_000.0] * 5}
    axis = {"workload.0.pattern.fan_in": 1000}
    made = [case(claims.SWIFT, axis, **full), case(claims.SWIFT_FLOOR, axis, **full)]
    found = judge(claim_of("RD10"), runs(swift=Incasts(*made, drops=[lost, 200])))
    assert values(found.deciding)["1000:1: of the link"] == 0.96
    assert found.verdict == verdict


def test_nothing_lost_is_not_held_against_nothing_lost() -> None:
    full = {"leaf0_to_host0": [12_000.0] * 5}
    axis = {"workload.0.pattern.fan_in": 100}
    made = [case(claims.SWIFT, axis, **full), case(claims.SWIFT_FLOOR, axis, **full)]
    found = judge(claim_of("RD10"), runs(swift=Incasts(*made, drops=[0, 0])))
    assert list(values(found.deciding)) == ["100:1: of the link"]
    assert values(found.beside)["100:1: % lost"] == 0


def test_a_ratio_to_what_did_not_occur_is_no_number() -> None:
    assert times_as_many(30, 3, "a pause") == 10
    assert times_as_many(30, 0, "a pause") == 30
    assert times_as_many(0, 3, "a pause") == 0
    with pytest.raises(NotComparable, match="a pause did not occur on either side"):
        times_as_many(0, 0, "a pause")


def test_experiments_are_there_and_every_scenario_stands() -> None:
    assert PAPERS["rdma"].load() is PAPER
    for experiment in PAPER.experiments:
        for settings in (experiment.quick, experiment.full):
            assert read_plan(PAPERS_FOLDER / "rdma" / "scenarios" / experiment.scenario, settings).cases


def test_jains_index_is_1_where_all_are_equal() -> None:
    assert jain(np.array([2.0, 2.0, 2.0])) == 1
    assert jain(np.array([1.0, 0.0])) == 0.5
