"""The frame that papers are redone in."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import SCENARIO
from packetloom import reproduce
from packetloom.charts import Panel
from packetloom.claims import Claim, Measured, NotComparable, judge, value_of
from packetloom.errors import PacketloomError
from packetloom.reproduce import Experiment, Paper, PaperEntry, PaperFigure, reproduce_paper
from packetloom.results import Results


def never(_: object) -> list[Measured]:
    raise NotComparable("the paper does not give its buffer size")


def tail(results: Mapping[str, Results]) -> list[Measured]:
    value, low, high = value_of(results["main"], "TCP", 0.8, "all", "p99")
    return [Measured("TCP", value, low, high, (1.0, 1000.0))]


def two_numbers(_: object) -> list[Measured]:
    return [Measured("a", 1, band=(1, 1)), Measured("b", 3, band=(2, 2))]


def at_a_load_that_was_not_run(results: Mapping[str, Results]) -> list[Measured]:
    return [Measured("TCP", *value_of(results["main"], "TCP", 0.9, "all", "p99"))]


PAPER = Paper(
    name="toy",
    title="A toy paper",
    experiments=(Experiment("main", "main.toml", quick=("run.flows=40",)), Experiment("unused", "none.toml")),
    claims=(
        Claim("T1", "TCP has a tail", "> 1", "1 to 1000", ("main",), tail, ("2",)),
        Claim("T2", "two numbers", "1; 2", "exact", (), two_numbers, explanation="b counts the root, too"),
        Claim("T3", "unknowable", "9", "±1", (), never),
    ),
    figures=(PaperFigure("2", "tails", ("main",), lambda _: [Panel("tails", "load", "slowdown", [])]),),
)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "papers" / "toy" / "scenarios").mkdir(parents=True)
    (tmp_path / "papers" / "toy" / "scenarios" / "main.toml").write_text(SCENARIO)
    monkeypatch.setattr(reproduce, "PAPERS_FOLDER", tmp_path / "papers")
    monkeypatch.setitem(reproduce.PAPERS, "toy", PaperEntry("A toy paper", lambda: PAPER))


def test_claims_as_table_json_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce_paper("toy", None, "quick", tmp_path / "toy.json", tmp_path / "out")
    rows = json.loads((tmp_path / "toy.json").read_text())
    assert [row["id"] for row in rows] == ["T1", "T2", "T3"]
    assert [row["verdict"] for row in rows] == ["holds", "differs", "not comparable"]
    assert set(rows[0]) == {"id", "claim", "paper", "measured", "interval", "band", "verdict"}
    assert rows[0]["interval"][0] < rows[0]["measured"] < rows[0]["interval"][1]
    assert rows[1]["measured"] == {"a": 1, "b": 3}
    assert rows[1]["reason"] == "b counts the root, too"
    assert rows[2]["reason"] == "the paper does not give its buffer size"
    assert "1 of 3 claims hold" in capsys.readouterr().out
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Figure 2: tails" in page


def test_one_figure_runs_and_judges_only_what_it_shows(tmp_path: Path) -> None:
    findings = reproduce_paper("toy", "2", "quick", None, tmp_path / "out")
    assert [finding.claim.id for finding in findings] == ["T1"]


def test_unknown_figure_and_missing_scenario(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="no figure '9' here; there are: 2"):
        reproduce_paper("toy", "9", "quick", None, tmp_path / "out")
    (tmp_path / "papers" / "toy" / "scenarios" / "main.toml").unlink()
    with pytest.raises(PacketloomError, match="install it again"):
        reproduce_paper("toy", None, "quick", None, tmp_path / "out")


def test_statistic_without_flows_is_not_comparable(tmp_path: Path) -> None:
    claim = Claim("X", "", "", "", (), at_a_load_that_was_not_run)
    finding = reproduce_paper("toy", "2", "quick", None, tmp_path / "out")[0]
    assert finding.verdict == "holds"
    assert judge(claim, {"main": Results(tmp_path / "out" / "main")}).verdict == "not comparable"
