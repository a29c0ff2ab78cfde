"""DAQ's claims: each number on flows and samples made by hand, so that it is known what must come out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from made_results import Case, Runs, failing, runs, values
from packetloom.pages.panels import Curve
from packetloom.reproduce import PAPERS, PAPERS_FOLDER, PaperEntry, reproduce_paper
from packetloom.reproduce.claims import Measured, NotComparable
from packetloom.reproduce.daq import PAPER, claims, figures, measure
from packetloom.reproduce.daq.choices import whatever_q
from packetloom.reproduce.readings import unless_it_hangs
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import CaseRow, TableName
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

RATIO = "scheme.queue.ratio"
FAN_IN = "workload[0].pattern.fan_in"
LARGEST = "workload[0].sizes.maximum_bytes"
RATE = "workload[0].arrivals.rate_per_second"
FLOOR = "workload[0].deadlines.floor_ns"
SOME_OTHER_Q = measure.OTHER_Q[0]


def answers(met: int, of: int = 100) -> dict[str, list[Any]]:
    """Flows of which so many met their deadlines."""
    return {"deadline_ns": [1e6] * of, "met_deadline": [place < met for place in range(of)]}


def deciding(found: Sequence[Measured]) -> dict[str, float]:
    """The numbers that the verdict is made of."""
    return values(one for one in found if one.decides)


def outside(found: Sequence[Measured]) -> list[str]:
    """Those of them that make it differ."""
    return failing([one for one in found if one.decides])


def every_q(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same for DAQ whatever Q is."""
    return {**values, **dict.fromkeys(measure.OTHER_Q, values["DAQ"])}


def test_a_verdict_is_none_where_it_hangs_on_what_the_paper_leaves_open() -> None:
    inside, beyond = Measured("gain", 2.0, band=(1.0, 3.0)), Measured("gain", 4.0, band=(1.0, 3.0))
    beside = Measured("fitted", 9.0, decides=False)
    assert unless_it_hangs("k", {"1": [inside], "2": [inside]}, [beside]) == [inside, beside]
    assert unless_it_hangs("k", {"1": [beyond], "2": [beyond]}) == [beyond]
    with pytest.raises(NotComparable) as refused:
        unless_it_hangs("k", {"1": [inside], "2": [beyond], "3": [inside]}, [beside])
    assert str(refused.value) == "The paper does not give k: the claim holds with 1, 3 and differs with 2."
    assert values(refused.value.beside) == {"1: gain": 2.0, "2: gain": 4.0, "3: gain": 2.0, "fitted": 9.0}


def test_what_stands_beside_never_makes_a_verdict_hang() -> None:
    numbers = {"DAQ": 0.0, SOME_OTHER_Q: 9.0, measure.OTHER_Q[1]: 9.0}
    found = whatever_q(lambda scheme: [Measured("beside", numbers[scheme], band=(0.0, 1.0), decides=False)])
    assert values(found) == {"beside": 0.0}


def test_the_best_threshold_is_held_against_one_queue() -> None:
    def made(at_30: int, **others: int) -> Mapping[str, Results]:
        cases: list[Case] = [
            ({"scheme": scheme, RATIO: ratio}, answers(met))
            for scheme in ("DAQ", *measure.OTHER_Q)
            for ratio, met in ((0.0, 86), (5.0, 90), (30.0, others.get(scheme, at_30)), (200.0, 91), (1e9, 88))
        ]
        return runs(threshold=Runs(*cases))

    found = claims.threshold(made(96))
    assert deciding(found) == {
        "best threshold, RTTs": 30.0,
        "above a threshold of 0": 0.1,
        "above a threshold of ∞": 0.08,
    }
    assert not outside(found)
    late = claims.threshold(made(89))
    assert outside(late) == ["best threshold, RTTs", "above a threshold of ∞"]
    with pytest.raises(NotComparable, match=r"holds with 5 ms, 20 ms and differs with 0.3 ms"):
        claims.threshold(made(96, **{SOME_OTHER_Q: 89}))


def held(by_scheme: Mapping[str, int]) -> Runs:
    """A search that found so many senders."""
    cases: list[Case] = [
        ({"scheme": scheme, FAN_IN: workers}, answers(99 if workers <= most else 98))
        for scheme, most in by_scheme.items()
        for workers in (most - 1, most, most + 1)
    ]
    made = Runs(*cases)
    made.path = Path("made")
    return made


def test_senders_are_judged_by_d3_and_rcp_with_their_own_constants() -> None:
    own = every_q({"DAQ": 70, "D3": 35, "RCP": 29, "RCP (timeout 2 ms)": 29})
    by_caption = held({"DAQ": 70, "D3": 20, "RCP": 10, "D3 (fitted)": 20, "RCP (fitted)": 10})
    uniform = held({**own, "D3 (fitted)": 69, "RCP (fitted)": 10})
    found = claims.senders(runs(senders=uniform, senders_exponential=by_caption))
    assert deciding(found)["DAQ / D3"] == 2.0
    assert deciding(found)["RCP, senders"] == 29.0
    assert outside(found) == ["DAQ / RCP"]
    beside = values(one for one in found if not one.decides)
    assert (beside["D3 (fitted), senders"], beside["exponential, DAQ / RCP"]) == (69.0, 7.0)
    fewer = held({**own, "D3 (fitted)": 69, "RCP (fitted)": 10, "RCP (timeout 2 ms)": 20})
    with pytest.raises(NotComparable, match="timeout: the claim differs with 40 ms and holds with 2 ms"):
        claims.senders(runs(senders=fewer, senders_exponential=by_caption))


def incast(met: Mapping[str, Mapping[int, int]], workers: Sequence[int]) -> Runs:
    """Deadlines met of 100 by scheme and size, with each number of workers."""
    return Runs(
        *(
            ({"scheme": scheme, LARGEST: claims.LARGEST_BYTES[size], FAN_IN: place}, answers(of_size))
            for scheme, by_size in met.items()
            for size, of_size in by_size.items()
            for place in workers
        )
    )


def test_figure_6_is_judged_with_every_number_of_workers() -> None:
    paper = every_q({"DAQ": {10: 99, 20: 99, 30: 98}, "D3": {10: 96, 20: 90, 30: 80}, "RCP": {10: 94, 20: 90, 30: 80}})
    far = {**paper, "D3": {10: 96, 20: 90, 30: 90}}
    fitted = {"D3 (fitted)": paper["D3"], "RCP (fitted)": paper["RCP"]}
    floor = incast({**paper, **fitted}, [30])
    found = claims.sizes(runs(incast=incast(paper, [20, 40]), incast_floor=floor))
    assert not outside(found)
    found = claims.sizes(runs(incast=incast(far, [20, 40]), incast_floor=floor))
    assert outside(found) == ["D3, 30 KB"]
    both = Runs(*incast(paper, [20]).made, *incast(far, [40]).made)
    with pytest.raises(NotComparable, match="number of workers: the claim holds with 20 and differs with 40"):
        claims.sizes(runs(incast=both, incast_floor=floor))


class Sampled(Results):
    """Cases with samples of two ports, the second of which leads to the aggregator, and deadlines met of 100."""

    def __init__(self, *cases: tuple[dict[str, Any], list[tuple[int, float, int, int]]], met: int = 100) -> None:
        self.made = cases
        self.met = met

    def rows(self) -> list[CaseRow]:
        return [
            CaseRow(f"{place}", {"seed": 1, **parameters}, {"simulated_ns": 4e9, "drops": 0}, "", "", ())
            for place, (parameters, _) in enumerate(self.made)
        ]

    def partitions(self, name: TableName, columns: Sequence[str] | None = None) -> Iterator[tuple[CaseRow, pa.Table]]:
        assert columns is not None
        for row, (parameters, samples) in zip(self.rows(), self.made, strict=True):
            if name == "ports":
                table = pl.DataFrame({"port": [3, 7], "peer": ["host1", "host0"]})
            elif name == "flows":
                met = int(parameters.get("met", self.met))
                table = pl.DataFrame({**answers(met), "measured": True, "absent": 0})
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
    fitted = ({"scheme": "RCP (fitted)"}, link(125, 125, 125))
    found = list(claims.utilisation({"utilisation": Sampled(daq, rcp, fitted)}))
    assert deciding(found) == {"DAQ, least of any 50 ms": 0.992, "RCP, mean of the first second": 0.48}
    assert not outside(found)


def test_long_flows_throughput_is_their_class_at_the_aggregator() -> None:
    samples = [(7, 0.0, 1, 10_000_000), (7, 1e9, 1, 40_000_000), (7, 0.0, 0, 900), (3, 0.0, 1, 900)]
    made = Sampled(({"scheme": "DAQ", RATE: 1000.0}, samples), ({"scheme": "DAQ", RATE: 8000.0}, samples[:1]))
    gbps = measure.long_gbps_by(made, "rate_per_second")["DAQ"]
    assert gbps == {1000.0: [(1, 0.1)], 8000.0: [(1, 0.02)]}


def test_what_long_flows_keep_is_of_what_is_left_for_data_between_two_moments() -> None:
    class Apart(Sampled):
        """What is sent is a tenth more than the data."""

        def partitions(
            self, name: TableName, columns: Sequence[str] | None = None
        ) -> Iterator[tuple[CaseRow, pa.Table]]:
            for row, table in super().partitions(name, columns):
                frame = pl.DataFrame(table)
                if name == "series":
                    frame = frame.with_columns(pl.lit(62_500_000).alias("tx_bytes"))
                yield row, frame.to_arrow()

    # Of each second 20 MB are of long flows, 30 MB of short ones, and 75 MB of neither.
    samples = [
        (7, second * 1e9, kind, size) for second in range(4) for kind, size in ((1, 20_000_000), (0, 30_000_000))
    ]
    made = Apart(({"scheme": "DAQ", RATE: 1000.0}, samples))
    kept = measure.kept_by(made, "rate_per_second", 1e9, 3e9)
    assert [share for _, share in kept["DAQ"][1000.0]] == pytest.approx([20 / 50])


def kept(of_link: float, scheme: str) -> tuple[dict[str, Any], list[tuple[int, float, int, int]]]:
    """A case in which long flows have so much of the link, and short ones the rest."""
    millisecond = 125_000
    long = round(of_link * millisecond)
    samples = [
        (7, place * 1e6, kind, size) for place in range(4000) for kind, size in ((1, long), (0, millisecond - long))
    ]
    return {"scheme": scheme, RATE: 1000.0}, samples


def test_the_guaranteed_minimum_is_wrrs_share_of_the_text() -> None:
    def judged(own: float, other: float) -> list[Measured]:
        cases = [kept(own, "DAQ"), kept(0.5, "DAQ (fitted)"), *(kept(other, scheme) for scheme in measure.OTHER_Q)]
        return claims.guaranteed({"poisson": Sampled(*cases)})

    assert not outside(judged(100 / 101, 0.995))
    assert outside(judged(0.98, 0.5)) == ["of the link, 1000 flows/s"]
    with pytest.raises(NotComparable, match=r"differs with 5 ms and holds with 0\.3 ms, 20 ms"):
        judged(0.5, 0.995)


def test_a_gain_beyond_the_headline_or_over_what_has_collapsed_is_not_the_headlines() -> None:
    def points(**by_scheme: float) -> measure.Points:
        return {scheme: {5000.0: [(1, value)], 8000.0: [(1, value * 9)]} for scheme, value in by_scheme.items()}

    def largest(reached: measure.Points, **met: float) -> tuple[float, str]:
        gain, where = claims.largest_gain([claims.Setting("here", reached, points(**met))], "DAQ", ("D3", "RCP"), 0.5)
        return round(gain.value, 9), where

    reached = points(DAQ=0.9, D3=0.6, RCP=0.1)
    assert largest(reached, D3=0.9, RCP=0.4) == (0.5, "over D3, here, 5000")
    assert largest(reached, D3=0.9, RCP=0.6) == (8.0, "over RCP, here, 5000")
    low, high = claims.HEADLINE
    assert (low, high) == (0.25, float("inf"))


def test_figures_show_no_share_beyond_what_can_be() -> None:
    cases: list[Case] = [
        ({"scheme": "DAQ", LARGEST: 18_000, FAN_IN: 5, "seed": seed}, answers(met)) for seed, met in ((1, 100), (2, 60))
    ]
    panels = figures.by_size(runs(incast=Runs(*cases)))
    (curve,) = panels[0].marks
    assert isinstance(curve, Curve)
    assert (list(curve.y), list(curve.low), list(curve.high)) == ([0.8], [0.0], [1.0])


def test_a_share_that_rounding_puts_above_one_is_inside_its_interval() -> None:
    samples = [[(7, 0.0, 1, 500_000_000 + more)] for more in (0, 8)]
    cases = [({"scheme": "DAQ", FAN_IN: 5, "seed": seed}, one) for seed, one in enumerate(samples)]
    panels = figures.beside_long({"background": Sampled(*cases)})
    (curve,) = panels[1].marks
    assert isinstance(curve, Curve)
    low, high = curve.low[0], curve.high[0]
    assert low is not None
    assert high is not None
    assert low <= curve.y[0] <= high


def test_every_claim_needs_experiments_that_there_are() -> None:
    known = {one.name for one in PAPER.experiments}
    assert [claim.id for claim in PAPER.claims] == [f"DQ{number}" for number in range(1, 11)]
    assert {need for claim in PAPER.claims for need in claim.needs} == known
    assert {need for figure in PAPER.figures for need in figure.needs} <= known


def test_every_scenario_can_be_read_at_both_scales() -> None:
    for one in PAPER.experiments:
        file = PAPERS_FOLDER / "daq" / "scenarios" / one.scenario
        assert len(read_plan(file, one.quick).cases) <= len(read_plan(file, one.full).cases)


def schemes_of(scenario: str) -> dict[str, dict[str, Any]]:
    """A scenario's schemes by name, as its file has them."""
    import tomllib

    text = (PAPERS_FOLDER / "daq" / "scenarios" / scenario).read_text(encoding="utf-8")
    return {scheme["name"]: scheme for scheme in tomllib.loads(text)["scheme"]}


def test_schemes_that_decide_have_the_constants_of_their_own_papers() -> None:
    """What is not named in a scenario has the default, which `packetloom explain` gives with its source."""
    for one in PAPER.experiments:
        schemes = schemes_of(one.scenario)
        for name in {"D3", "RCP"} & set(schemes):
            assert set(schemes[name]["transport"]) == {"kind", "rtt", "min_rto"}, (one.name, name)
        if one.name not in ("threshold", "weights"):
            assert (schemes["DAQ"]["transport"], schemes["DAQ"]["queue"]) == ("daq", "daq"), one.name


TINY = {
    "threshold": ("run.flows=300",),
    "utilisation": ("run.max_time=1200ms",),
    "senders": ("run.duration=100ms",),
    "senders-exponential": ("run.duration=100ms",),
    "incast": ("run.duration=100ms", "workload.0.pattern.fan_in=[20, 30, 40]"),
    "incast-floor": ("run.duration=100ms",),
    "background": ("run.duration=200ms", "workload.0.pattern.fan_in=[5, 35, 40]"),
    "poisson": ("run.duration=120ms", "run.max_time=140ms", "workload.0.arrivals.rate_per_second=[7000, 8000, 8500]"),
    "poisson-uniform": ("run.duration=20ms", "run.max_time=40ms"),
    "weights": ("run.duration=20ms", "run.max_time=40ms"),
    "deadlines": ("run.flows=100",),
}


def test_the_paper_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = tuple(replace(one, quick=(*TINY[one.name], "run.seeds=2")) for one in PAPER.experiments)
    monkeypatch.setitem(PAPERS, "daq", PaperEntry("", lambda: replace(PAPER, experiments=experiments)))
    findings = reproduce_paper("daq", None, "quick", None, tmp_path / "out")
    assert all(finding.measured for finding in findings)
    verdicts = {finding.claim.id: finding.verdict for finding in findings}
    assert (verdicts["DQ2"], verdicts["DQ5"], verdicts["DQ10"]) == ("differs", "differs", "holds")
    drawn = {path.name for path in (tmp_path / "out").glob("figure-*.png")}
    assert drawn == {f"figure-{number}.png" for number in ("3", "4", "5", "6", "7", "8", "weights")}
    assert "Figure 8" in (tmp_path / "out" / "index.html").read_text()
