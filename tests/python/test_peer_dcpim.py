"""dcPIM's own simulator: its runs are read, and each is compared."""

from __future__ import annotations

from statistics import fmean

import polars as pl
import pytest

from packetloom.common.percentiles import p99
from packetloom.validate.peers import dcpim
from packetloom.validate.peers.agreement import PEERS_FOLDER


@pytest.mark.parametrize(
    ("run", "mean", "tail"),
    [("w4_50", 1.700, 5.332), ("w4_80T144", 1.699, 5.184), ("ws_50", 2.005, 5.781), ("ws_70", 2.147, 5.923)],
)
def test_loads_give_the_slowdowns_that_were_measured_with_them(run: str, mean: float, tail: float) -> None:
    slowdown = dcpim.read_run(run).select(slowdown=pl.col("fct_ns") / pl.col("oracle_ns"))["slowdown"]
    assert fmean(slowdown) == pytest.approx(mean, abs=0.001)
    assert p99(slowdown) == pytest.approx(tail, abs=0.002)


def test_every_run_is_compared_and_has_its_peaks() -> None:
    names = [check.name for check in dcpim.dcpim_comparisons()]
    peaks = dcpim.read_file("peaks.csv")
    assert sorted(names) == sorted(f"dcpim-{run}" for run in peaks["run"])
    files = {path.name for path in (PEERS_FOLDER / dcpim.FOLDER).iterdir()} - {"peaks.csv"}
    assert files == {dcpim.file_of(run) for run in peaks["run"]}
    # No port of theirs was ever full, so that which packet it would drop makes no difference.
    assert max(peaks.drop("run").max().row(0)) < 500_000
