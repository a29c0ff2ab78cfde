"""Figures of other simulators: read, held against ours over seeds, and the quick ones replayed."""

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

from packetloom.errors import PacketloomError
from packetloom.validate import peers
from packetloom.validate.command import KINDS, run_validation
from packetloom.validate.comparison import Check
from packetloom.validate.peers import figures, htsim, omnet
from packetloom.validate.peers.figures import fct_statistics, figure_rows, read_figures
from packetloom.validate.peers.schemes import SCHEMES

pytestmark = pytest.mark.unaudited


def flows(*fcts_us: list[float]) -> pl.DataFrame:
    """Flows of seeds 1, 2, ... with these FCTs."""
    rows = [(seed, fct) for seed, one in enumerate(fcts_us, 1) for fct in one]
    return pl.DataFrame(rows, schema=["seed", "fct_us"], orient="row")


def test_ours_is_the_mean_over_seeds_with_the_interval_of_the_difference() -> None:
    statistics = fct_statistics(pl.col("fct_us"))
    ours = flows([1, 3], [2, 2.04], [2, 1.98], [1, 3.02])
    theirs = {"fct_mean": [2.0, 2.01, 1.99], "fct_last": 4.0}
    mean, last = figure_rows("peer", "", theirs, ours, statistics)
    assert mean.measured == pytest.approx((2 + 2.02 + 1.99 + 2.01) / 4)
    assert mean.expected[0] == pytest.approx(2.0)
    assert mean.interval is not None
    assert mean.interval[0] < mean.measured < mean.interval[1]
    assert mean.verdict == "holds"
    assert last.measured == pytest.approx((3 + 2.04 + 2 + 3.02) / 4)
    assert last.verdict == "undecided"
    assert last.id == "peer-fct-last"


def test_goodputs_are_held_in_points() -> None:
    flow = pl.DataFrame({"seed": [1], "size_bytes": [10_000], "sender_fct_ns": [1_000], "trimmed": [0]})
    statistics = {"goodput": htsim.STATISTICS["goodput"]}
    for theirs, verdict in ((78.6, "holds"), (81.4, "holds"), (78.4, "differs"), (81.6, "differs")):
        (row,) = figure_rows("peer", "", {"goodput": theirs}, flow, statistics)
        assert (row.measured, row.verdict) == (80, verdict)


def test_the_models_clock_starts_with_the_first_packet() -> None:
    # Ten packets over two links of 1 us: the first arrives after 2 × 13.376 us, the last 9 × 12.376 us later.
    best_ns = (2 * 13.376 + 9 * 12.376) * 1e3
    flow = pl.DataFrame({"size_bytes": [15_000], "best_fct_ns": [best_ns], "fct_ns": [best_ns]})
    assert flow.select(omnet.FCT_US.alias("fct"))["fct"][0] == pytest.approx(9 * 12.376)


def test_missing_and_damaged_figures_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "PEERS_FOLDER", tmp_path)
    with pytest.raises(PacketloomError, match=r"figures.toml: there is no such file.*source tree"):
        read_figures("htsim/figures.toml")
    (tmp_path / "htsim").mkdir()
    (tmp_path / "htsim" / "figures.toml").write_text("[[alone")
    with pytest.raises(PacketloomError, match=r"figures.toml: damaged"):
        read_figures("htsim/figures.toml")


def test_every_comparison_has_a_name_of_its_own() -> None:
    names = [one.name for one in peers.peer_comparisons()]
    assert len(names) == len(set(names))


def test_the_schemes_of_rows_are_those_of_scenarios(tmp_path: Path) -> None:
    used = set()
    for comparison in peers.peer_comparisons():
        for scenario in comparison.scenarios(tmp_path / comparison.name).values():
            read = scenario if isinstance(scenario, dict) else tomllib.loads(Path(str(scenario)).read_text())
            parts = [("arrivals", one.get("arrivals")) for one in read["workload"]]
            parts += [(part, one.get(part)) for one in read["scheme"] for part in ("transport", "queue", "routing")]
            used |= {f"{part} {one if isinstance(one, str) else one['kind']}" for part, one in parts if one}
            used |= {"buffer in egress" for one in read["scheme"] if "buffer" in one["queue"]}
    assert {one for table in SCHEMES.values() for schemes in table.values() for one in schemes} <= used


OF_THEIR_OWN_FILES = ("hpcc-", "conweave-")
"""Simulators whose quick comparisons `test_peer_hpcc.py` and `test_peer_conweave.py` run."""


def others() -> list[Check]:
    return [one for one in peers.peer_comparisons() if not one.name.startswith(OF_THEIR_OWN_FILES)]


def test_what_is_quick_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(KINDS, "peers", ("theirs", others))
    assert run_validation(["peers"], Path("peers.json"), quick=True)
    rows = json.loads(Path("peers.json").read_text())
    assert len(rows) > 30
    assert [row["id"] for row in rows if not row.get("schemes")] == []
    verdicts = {row["id"]: row["verdict"] for row in rows}
    assert set(verdicts.values()) <= {"holds", "differs as known", "undecided"}
    known = {id for id, verdict in verdicts.items() if verdict == "differs as known"}
    assert known == {
        "abm-s-authors-abm-ports-1-of-both-classes-mean-queue-in-bytes-port-0-class-1",
        "homa-micro-oc1-1-mb-and-1-mb",
        "htsim-eqds-alone-between-pods-10000-b-least",
    }
    # With the same draws as theirs every lone flow of ExpressPass takes the same time.
    lone = [verdict for id, verdict in verdicts.items() if id.startswith("expresspass") and "-lone-" in id]
    assert len(lone) == 64
    assert set(lone) == {"holds"}
    # Where theirs draws each credit anew, groups of flows take as long here, but for the extremes of some.
    drawn = [verdict for id, verdict in verdicts.items() if "-each-credit-drawn-" in id]
    assert len(drawn) == 36
    assert drawn.count("holds") >= 25
    # Of other groups there are too few draws to tell.
    others_verdicts = [verdict for id, verdict in verdicts.items() if not id.startswith("expresspass")]
    assert others_verdicts.count("holds") > 0.8 * len(others_verdicts)
