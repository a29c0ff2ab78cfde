"""Homa's claims and the replays of its ns-3 model: that they are there, and that what judges can tell."""

from __future__ import annotations

import math

import polars as pl

from packetloom.common.percentiles import p99
from packetloom.reproduce import PAPERS, PAPERS_FOLDER
from packetloom.reproduce.homa import PAPER, measure
from packetloom.scenario.plan import read_plan
from packetloom.validate.peers.homa import MICROS, homa_comparisons


def test_experiments_are_there_and_every_scenario_stands() -> None:
    assert PAPERS["homa"].load() is PAPER
    for experiment in PAPER.experiments:
        for settings in (experiment.quick, experiment.full):
            assert read_plan(PAPERS_FOLDER / "homa" / "scenarios" / experiment.scenario, settings).cases


def test_the_authors_figures_are_read_by_workload_load_and_transport() -> None:
    first = measure.published("w4", 0.8, "Homa")[0]
    assert (first.low, first.high, first.mean) == (100, 1461, 1.39) or math.isclose(first.mean, 1.39, abs_tol=0.01)
    assert all(measure.published(name, load, "Homa") for name in measure.WORKLOADS for load in (0.5, 0.8))


def test_a_tail_is_the_mean_of_those_of_bins_by_size() -> None:
    flows = pl.DataFrame({"size_bytes": range(4_000), "slowdown": [1.0] * 2_000 + [3.0] * 2_000})
    assert measure.bin_p99(flows, 0, 4_000, bins=2) == 2.0
    assert p99(measure.smallest_half(flows)) == 1.0


def test_every_message_of_the_small_cases_is_compared_once() -> None:
    places = [place for micro in MICROS for place in range(micro.first, micro.first + micro.count)]
    assert places == list(range(64))
    assert [one.name for one in homa_comparisons()] == [
        "homa-lone",
        "homa-micro",
        "homa-micro_oc1",
        "homa-W4_50",
        "homa-W4_80",
    ]
