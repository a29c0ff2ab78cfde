"""Published measurements beside simulations: files, figures, and the verdict of a set."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from packetloom.cli import app
from packetloom.validate.hardware.judging import hardware_comparisons
from packetloom.validate.hardware.measurements import HARDWARE_FOLDER, measurements
from packetloom.validate.hardware.sets import SETS


@pytest.mark.parametrize("path", sorted(HARDWARE_FOLDER.glob("*.csv")), ids=lambda path: path.stem)
def test_every_figure_names_its_source_revision_and_licence(path: Path) -> None:
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert rows
    assert all(row["source"].startswith("https://") and row["revision"] and row["licence"] for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(one.value > 0 for one in measurements(path.stem))


def test_every_file_is_of_a_set_and_no_set_is_without_figures() -> None:
    assert {one.file for one in SETS} == {path.stem for path in HARDWARE_FOLDER.glob("*.csv")}
    assert all(one.figures for one in SETS)
    assert len({one.name for one in SETS}) == len(SETS) == len(hardware_comparisons())


def test_a_set_gets_its_table_and_its_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = [one for one in hardware_comparisons() if one.name in ("hardware-h100-tuner", "hardware-goodput")]
    monkeypatch.setattr("packetloom.validate.command.hardware_comparisons", lambda: chosen)
    monkeypatch.setitem(
        __import__("packetloom.validate.command", fromlist=["KINDS"]).KINDS, "hardware", ("asked", lambda: chosen)
    )
    result = CliRunner().invoke(app, ["validate", "hardware", "--json", "it.json"])
    assert result.exit_code == 0, result.output
    rows = {row["id"]: row for row in json.loads(Path("it.json").read_text(encoding="utf-8"))}
    goodput = rows["hardware-goodput"]
    assert goodput["verdict"] == "holds"
    # 4096 of 4178 bytes.
    assert [one["simulated"] for one in goodput["figures"]] == pytest.approx([400 * 4096 / 4178] * 2, rel=1e-3)
    figures = rows["hardware-h100-tuner"]["figures"]
    assert len(figures) == 16
    assert all(math.isclose(one["ratio"], one["simulated"] / one["measured"]) for one in figures)
    # What is missed stays in the table, and says so.
    assert rows["hardware-h100-tuner"]["verdict"] in ("holds", "differs as known")
