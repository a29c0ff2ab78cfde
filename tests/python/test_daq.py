"""DAQ's claims: each number on flows and samples made by hand, so that it is known what must come out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from made_results import Case, Runs, failing, runs, values
from packetloom.reproduce import PAPERS, PAPERS_FOLDER, PaperEntry, reproduce_paper
from packetloom.reproduce.daq import PAPER, claims, measure
from packetloom.results import CaseRow, Results, TableName
from packetloom.scenario import read_plan

RATIO = "scheme.queue.ratio"
FAN_IN = "workload[0].pattern.fan_in"


def answers(met: int, of: int = 100) -> dict[str, list[Any]]:
    """Flows of which so many met their deadlines."""
    return {"deadline_ns": [1e6] * of, "met_deadline": [place < met for place in range(of)]}


def test_the_best_threshold_is_held_against_one_queue() -> None:
    cases: list[Case] = [
        ({"scheme": "DAQ", RATIO: ratio}, answers(met)) for ratio, met in ((0.0, 86), (5.0, 90), (30.0, 96), (1e9, 88))
    ]
    found = list(claims.threshold(runs(threshold=Runs(*cases))))
    assert values(found) == {
        "best threshold, RTTs": 30.0,
        "there": 0.96,
        "above a threshold of 0": 0.1,
        "above a threshold of ∞": 0.08,
    }
    assert not failing(found)
    late = Runs(cases[0], cases[1], ({"scheme": "DAQ", RATIO: 200.0}, answers(91)), cases[3])
    assert failing(list(claims.threshold(runs(threshold=late)))) == ["best threshold, RTTs", "above a threshold of ∞"]


def test_senders_are_the_largest_number_that_held() -> None:
    held = {"DAQ": 70, "D3": 35, "RCP": 29}
    cases: list[Case] = [
        ({"scheme": scheme, FAN_IN: workers}, answers(99 if workers <= most else 98))
        for scheme, most in held.items()
        for workers in (most - 1, most, most + 1)
    ]
    made = Runs(*cases)
    made.path = Path("made")
    found = list(claims.senders(runs(senders=made)))
    assert values(found)["DAQ / D3"] == 2.0
    assert values(found)["RCP, senders"] == 29.0
    assert failing(found) == ["DAQ / RCP"]


class Sampled(Results):
    """Cases with samples of two ports, the second of which leads to the aggregator."""

    def __init__(self, *cases: tuple[dict[str, Any], list[tuple[int, float, int, int]]]) -> None:
        self.made = cases

    def rows(self) -> list[CaseRow]:
        return [
            CaseRow(f"{place}", {"seed": 1, **parameters}, {"simulated_ns": 4e9, "drops": 0}, "", "", ())
            for place, (parameters, _) in enumerate(self.made)
        ]

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        assert columns is not None
        for row, (_, samples) in zip(self.rows(), self.made, strict=True):
            if name == "ports":
                table = pl.DataFrame({"port": [3, 7], "peer": ["host1", "host0"]})
            else:
                names = ["port", "time_ns", "class", "data_bytes" if name == "classes" else "tx_bytes"]
                table = pl.DataFrame(samples, schema=names, orient="row")
            yield row, table.select(columns).to_arrow()


def test_utilisation_is_of_the_aggregators_link_in_whole_intervals() -> None:
    def link(*megabytes: float) -> list[tuple[int, float, int, int]]:
        """Samples of one second each; another port, which is full; and an interval that the end cuts short."""
        own = [(7, second * 1e9, 0, int(one * 1e6)) for second, one in enumerate(megabytes)]
        return [*own, (3, 0.0, 0, 125_000_000), (7, 3.5e9, 0, 1)]

    daq, rcp = ({"scheme": "DAQ"}, link(125, 124, 125)), ({"scheme": "RCP"}, link(60, 90, 120))
    found = list(claims.utilisation({"utilisation": Sampled(daq, rcp)}))
    assert values(found) == {"DAQ, least of any 50 ms": 0.992, "RCP, mean of the first second": 0.48}
    assert not failing(found)


def test_long_flows_throughput_is_their_class_at_the_aggregator() -> None:
    rate = "workload[0].arrivals.rate_per_second"
    samples = [(7, 0.0, 1, 10_000_000), (7, 1e9, 1, 40_000_000), (7, 0.0, 0, 900), (3, 0.0, 1, 900)]
    made = Sampled(({"scheme": "DAQ", rate: 1000.0}, samples), ({"scheme": "DAQ", rate: 8000.0}, samples[:1]))
    gbps = measure.long_gbps_by(made, "rate_per_second")["DAQ"]
    assert gbps == {1000.0: [(1, 0.1)], 8000.0: [(1, 0.02)]}
    assert not failing(list(claims.guaranteed({"poisson": made})))


def test_every_claim_needs_experiments_that_there_are() -> None:
    known = {one.name for one in PAPER.experiments}
    assert [claim.id for claim in PAPER.claims] == [f"DQ{number}" for number in range(1, 11)]
    assert {need for claim in PAPER.claims for need in claim.needs} == known
    assert {need for figure in PAPER.figures for need in figure.needs} <= known


def test_every_scenario_can_be_read_at_both_scales() -> None:
    for one in PAPER.experiments:
        file = PAPERS_FOLDER / "daq" / "scenarios" / one.scenario
        assert len(read_plan(file, one.quick).cases) <= len(read_plan(file, one.full).cases)


TINY = {
    "threshold": ("run.flows=300",),
    "utilisation": ("run.max_time=1200ms",),
    "senders": ("run.duration=200ms",),
    "incast": ("run.duration=200ms",),
    "background": ("run.duration=200ms",),
    "poisson": ("run.duration=20ms", "run.max_time=40ms"),
    "weights": ("run.duration=20ms", "run.max_time=40ms"),
}


def test_the_paper_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = tuple(replace(one, quick=(*TINY[one.name], "run.seeds=2")) for one in PAPER.experiments)
    monkeypatch.setitem(PAPERS, "daq", PaperEntry("", lambda: replace(PAPER, experiments=experiments)))
    findings = reproduce_paper("daq", None, "quick", None, tmp_path / "out")
    assert all(finding.measured for finding in findings)
    verdicts = {finding.claim.id: finding.verdict for finding in findings}
    assert (verdicts["DQ2"], verdicts["DQ10"]) == ("holds", "holds")
    drawn = {path.name for path in (tmp_path / "out").glob("figure-*.png")}
    assert drawn == {f"figure-{number}.png" for number in ("3", "4", "5", "6", "7", "8", "weights")}
    assert "Figure 8" in (tmp_path / "out" / "index.html").read_text()
