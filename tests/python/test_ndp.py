"""NDP's claims: each number on flows and ports made by hand, so that it is known what must come out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_results import Case, Runs, failing, runs, values
from packetloom.reproduce import PAPERS, PAPERS_FOLDER, PaperEntry, reproduce_paper
from packetloom.reproduce.claims import Claim, judge
from packetloom.reproduce.ndp import PAPER, claims, measure
from packetloom.scenario.plan import read_plan

pytestmark = pytest.mark.unaudited


def claim_of(id: str) -> Claim:
    return next(claim for claim in PAPER.claims if claim.id == id)


def test_median_and_share_of_fast_flows_leave_the_background_out() -> None:
    flows: dict[str, list[Any]] = {"goodput_gbps": [0.9, 0.81, 0.1, 0.99, 0.2], "source": [0, 0, 0, 1, 1]}
    found = judge(claim_of("ND2"), runs(background=Runs(({"scheme": "NDP"}, flows))))
    assert values(found.deciding) == {"median goodput, Gb/s": 0.81}
    assert values(found.beside) == {"flows above 0.8 Gb/s": round(2 / 3, 9)}


def core_ports(*rows: list[int]) -> dict[str, list[Any]]:
    """What core switches (rows) received from pods (columns), and a port that is not theirs."""
    places = [(core, pod, packets) for core, row in enumerate(rows) for pod, packets in enumerate(row)]
    return {
        "port": [100 * pod + core for core, pod, _ in places] + [7],
        "peer": [f"core{core + 9}" for core, _, _ in places] + ["edge0"],
        "tier": ["aggregation to core"] * len(places) + ["host to edge"],
        "tx_packets": [packets for _, _, packets in places] + [10**9],
    }


def test_pods_that_send_unequally_are_no_fault_of_the_paths() -> None:
    made = Runs(({"scheme": "NDP"}, core_ports([10, 30], [10, 30])), table="ports")
    packets = measure.core_packets(made)[0][1]
    assert packets.tolist() == [[10, 30], [10, 30]]
    assert measure.variation_of_ports(packets) == 0.5
    assert measure.variation_within_pods(packets) == 0.0
    assert measure.variation_of_switches(packets) == 0.0


def test_a_path_per_packet_is_more_even() -> None:
    even, uneven = core_ports([19, 21], [21, 19]), core_ports([10, 30], [30, 10])
    schemes = {measure.PER_PACKET: even, measure.PER_FLOW: uneven, measure.TCP_PER_FLOW: uneven}
    made = Runs(*(({"scheme": name}, ports) for name, ports in schemes.items()), table="ports")
    packets = {row.label: packets for row, packets in measure.core_packets(made)}
    assert measure.variation_of_ports(packets[measure.PER_FLOW]) == pytest.approx(0.5)
    assert measure.variation_of_ports(packets[measure.PER_PACKET]) == pytest.approx(0.05)


def test_the_ports_decide_whatever_is_left_where_pods_do_not_count() -> None:
    # Pods that send unequally: over ports 1.2 times more even only, with pods alike without limit.
    even, uneven = core_ports([10, 30], [10, 31]), core_ports([10, 31], [14, 30])
    schemes = {measure.PER_PACKET: even, measure.PER_FLOW: uneven, measure.TCP_PER_FLOW: uneven}
    made = Runs(*(({"scheme": name}, ports) for name, ports in schemes.items()), table="ports")
    found = judge(claim_of("ND3"), runs(load_balancing=made))
    assert found.verdict == "differs"
    names = [f"ports: {short} per flow / NDP per packet" for short in ("NDP", "TCP")]
    assert failing(found.deciding) == [one.what for one in found.deciding] == names
    assert values(found.beside)["ports, pods alike: NDP per flow / NDP per packet"] > 5


def windows(goodput: dict[int, float]) -> Runs:
    name = "scheme.transport.initial_window"
    return Runs(*(({"scheme": "NDP", name: window}, {"goodput_gbps": [one]}) for window, one in goodput.items()))


def test_the_knee_is_the_first_window_near_the_plateau() -> None:
    found = judge(claim_of("ND4"), runs(initial_window=windows({2: 0.6, 8: 0.9, 10: 0.96, 16: 1.0, 32: 1.0})))
    assert values(found.deciding)["knee, packets"] == 10
    assert values(found.beside) == {"goodput at 2 / plateau": 0.6}
    assert found.verdict == "holds"
    late = list(claims.knee(runs(initial_window=windows({2: 0.2, 8: 0.3, 16: 0.9, 32: 1.0}))))
    assert failing(late) == ["knee, packets", "goodput at 16 / plateau"]


@pytest.mark.parametrize(
    ("falling", "outside"), [(2500.0, ["150KB at 2500/s to 1.5MB at 2500/s"]), (250.0, [])], ids=["paper's", "beside"]
)
def test_trends_are_judged_step_by_step_at_the_papers_rate(falling: float, outside: list[str]) -> None:
    size, rate = "workload.sizes.size_bytes", "workload.arrivals.rate_per_second"
    by_size = [
        ({"scheme": "NDP", size: bytes_, rate: per_second}, {"goodput_gbps": [goodput]})
        for per_second in (250.0, 2500.0)
        for bytes_, goodput in ((15_000, 0.5), (150_000, 0.9), (1_500_000, 0.8 if per_second == falling else 0.95))
    ]
    by_rate = [({"scheme": "NDP", rate: one}, {"goodput_gbps": [1 / one]}) for one in (500.0, 1000.0)]
    found = judge(claim_of("ND5"), runs(flow_size=Runs(*by_size), arrival_rate=Runs(*by_rate)))
    assert failing(found.deciding) == outside
    assert values(found.deciding)["500/s to 1000/s"] == 0.5
    assert len(found.beside) == 2


def test_a_goodput_that_stays_is_no_trend() -> None:
    size, rate = "workload.sizes.size_bytes", "workload.arrivals.rate_per_second"
    by_size = [
        ({"scheme": "NDP", size: bytes_, rate: per_second}, {"goodput_gbps": [0.5]})
        for per_second in (250.0, 2500.0)
        for bytes_ in (15_000, 150_000)
    ]
    by_rate = [({"scheme": "NDP", rate: one}, {"goodput_gbps": [0.5]}) for one in (500.0, 1000.0)]
    found = judge(claim_of("ND5"), runs(flow_size=Runs(*by_size), arrival_rate=Runs(*by_rate)))
    assert failing(found.deciding) == ["15KB at 2500/s to 150KB at 2500/s", "500/s to 1000/s"]


def test_web_search_is_held_against_tcp_at_each_load() -> None:
    sizes = [10_000, 1_000_000]
    times = {"NDP": [2.0, 50.0], measure.TCP: [4.0, 40.0]}
    cases: list[Case] = [({"scheme": name}, {"size_bytes": sizes, "fct_ns": fct}) for name, fct in times.items()]
    made = Runs(*cases)
    found = judge(claim_of("ND6"), runs(web_search=made))
    assert values(found.deciding) == {"≤ 100 KB, p99 at 0.8: NDP/TCP": 0.5}
    assert values(found.beside) == {"> 100 KB, mean at 0.8: NDP/TCP": 1.25}
    assert found.verdict == "holds"


def test_a_tail_like_tcps_does_not_hold() -> None:
    cases: list[Case] = [
        ({"scheme": name}, {"size_bytes": [10_000, 1_000_000], "fct_ns": [2.0, 50.0]}) for name in ("NDP", measure.TCP)
    ]
    found = judge(claim_of("ND6"), runs(web_search=Runs(*cases)))
    assert failing(found.deciding) == ["≤ 100 KB, p99 at 0.8: NDP/TCP"]


def test_the_bound_of_a_shared_link_is_one_flow_behind_the_other() -> None:
    # 450 KB are 300 packets of 12.376 us
    flows: dict[str, list[Any]] = {"size_bytes": [450_000] * 3, "goodput_gbps": [1.0] * 3}
    flows |= {"fct_ns": [4e6, 8e6, 12e6], "best_fct_ns": [4e6, 3.8e6, 4e6]}
    made = Runs(({"scheme": "NDP"}, flows))
    short = [
        ({"scheme": "NDP", "scheme.transport.pull_order": order}, {"fct_ns": [fct]})
        for order, fct in (("fair", 10.0), ("class", 2.0), ("shortest", 11.0))
    ]
    found = judge(claim_of("ND7"), runs(incast=made, outcast=made, priorities=Runs(*short)))
    numbers = values(found.deciding)
    assert numbers["incast: last FCT / bound"] == round(12e6 / (3.8e6 + 2 * 300 * 12_376), 9)
    assert numbers["incast: Jain's index"] == 1.0
    assert numbers["short flow's FCT, class / fair"] == 0.2
    assert failing(found.deciding) == ["incast: last FCT / bound", "short flow's FCT, shortest / fair"]
    assert set(values(found.beside)) == {"outcast: last FCT / bound", "outcast: Jain's index"}


def test_priority_that_changes_nothing_does_not_hold() -> None:
    flows: dict[str, list[Any]] = {"size_bytes": [450_000] * 2, "goodput_gbps": [1.0] * 2}
    made = Runs(({"scheme": "NDP"}, flows | {"fct_ns": [4e6, 7.6e6], "best_fct_ns": [3.8e6] * 2}))
    orders = ("fair", "class", "shortest")
    short = [({"scheme": "NDP", "scheme.transport.pull_order": order}, {"fct_ns": [10.0]}) for order in orders]
    found = judge(claim_of("ND7"), runs(incast=made, outcast=made, priorities=Runs(*short)))
    assert failing(found.deciding) == [f"short flow's FCT, {order} / fair" for order in orders[1:]]


def test_every_claim_needs_experiments_that_there_are() -> None:
    known = {one.name for one in PAPER.experiments}
    assert [claim.id for claim in PAPER.claims] == [f"ND{number}" for number in range(1, 8)]
    assert {need for claim in PAPER.claims for need in claim.needs} == known
    assert {need for figure in PAPER.figures for need in figure.needs} <= known


TINY = {
    "fat-trees": (),
    "background": ("run.flows=60",),
    "load-balancing": ("workload.0.flows=40", "topology.k=4"),
    "initial-window": ("run.flows=10", "topology.k=4"),
    "flow-size": ("run.flows=10", "topology.k=4"),
    "arrival-rate": ("run.flows=10", "topology.k=4"),
    "web-search": ("run.duration=20ms", "topology.k=4"),
    "incast": ("workload.0.sizes.size=15KB",),
    "outcast": ("workload.0.sizes.size=15KB",),
    "priorities": ("workload.0.flows=3", "workload.1.sizes.size=300KB"),
}


def test_every_scenario_can_be_read_at_both_scales() -> None:
    for one in PAPER.experiments:
        file = PAPERS_FOLDER / "ndp" / "scenarios" / one.scenario
        assert len(read_plan(file, one.quick).cases) <= len(read_plan(file, one.full).cases)


def test_the_paper_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = tuple(replace(one, quick=(*TINY[one.name], "run.seeds=2")) for one in PAPER.experiments)
    monkeypatch.setitem(PAPERS, "ndp", PaperEntry("", lambda: replace(PAPER, experiments=experiments)))
    findings = reproduce_paper("ndp", None, "quick", None, tmp_path / "out")
    assert all(finding.measured for finding in findings)
    verdicts = {finding.claim.id: finding.verdict for finding in findings}
    assert verdicts["ND1"] == "holds"
    drawn = {path.name for path in (tmp_path / "out").glob("figure-*.png")}
    assert drawn == {f"figure-{number}.png" for number in ("6", "7", "8", "9", "ND7")}
    assert "Figure 9" in (tmp_path / "out" / "index.html").read_text()
