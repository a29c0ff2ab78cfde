"""The search for the largest value that still meets the deadlines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from packetloom._core import ScenarioError
from packetloom.campaign.search import Range, largest_held
from packetloom.cli.main import app
from packetloom.errors import PacketloomError
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited


def incast(deadline: str) -> dict[str, Any]:
    """Workers that each answer with ten full packets, 121 us on the aggregator's link of 1 Gb/s."""
    return {
        "topology": {"kind": "rack", "hosts": 60, "link": {"rate": "1Gbps", "delay": "1us"}},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "14600B"},
                "arrivals": "at-once",
                "pattern": {"kind": "incast", "receiver": 0, "fan_in": 1},
                "deadlines": {"kind": "fixed", "after": deadline},
            }
        ],
        "scheme": [
            {"name": "Ideal", "transport": "ideal"},
            {"name": "DAQ", "transport": "daq", "queue": "daq"},
        ],
        "run": {"seeds": 2},
    }


def test_bisection_finds_the_last_value_that_holds(tmp_path: Path) -> None:
    found = largest_held(incast("3ms"), "workload.pattern.fan_in", 1, 59, share=1.0, output=tmp_path)
    values = dict(zip(found["scheme"], found["value"], strict=True))
    # 120 us each for packets of 1500 B: 24 in 2.9 ms. DAQ's handshake and ACKs cost it a little.
    assert values["Ideal"] == 24
    assert 22 <= values["DAQ"] <= 24
    assert found["seeds"].to_list() == [2, 2]
    assert found["low"].to_list() == found["value"].to_list()  # both seeds agree
    # Far fewer runs than the 236 that there are: six or seven for each scheme and seed.
    rows = Results(tmp_path).rows()
    assert len(rows) <= 28
    # The same search again, in the same folder, runs nothing.
    cpu_s = [row.counters["cpu_s"] for row in rows]
    largest_held(incast("3ms"), "workload.pattern.fan_in", 1, 59, share=1.0, output=tmp_path)
    assert [row.counters["cpu_s"] for row in Results(tmp_path).rows()] == cpu_s


def test_the_ends_of_the_range_are_told(tmp_path: Path) -> None:
    easy = largest_held(incast("1s"), "workload.pattern.fan_in", 1, 5, output=tmp_path / "easy")
    assert (easy["value"].to_list(), easy["capped"].to_list()) == ([5.0, 5.0], [2, 2])
    hopeless = largest_held(incast("20us"), "workload.pattern.fan_in", 1, 5, output=tmp_path / "hopeless")
    assert hopeless["value"].to_list() == [0.0, 0.0]


def test_what_can_not_be_searched_is_told(tmp_path: Path) -> None:
    with pytest.raises(PacketloomError, match="swap them"):
        largest_held(incast("1ms"), "workload.pattern.fan_in", 5, 1)
    aimless = incast("1ms")
    del aimless["workload"][0]["deadlines"]
    with pytest.raises(PacketloomError, match="no flow has a deadline"):
        largest_held(aimless, "workload.pattern.fan_in", 1, 5, output=tmp_path)


def test_a_killed_search_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = largest_held(incast("3ms"), "workload.pattern.fan_in", 1, 59, share=1.0, output=tmp_path)
    names = sorted((tmp_path / "flows.parquet").iterdir())
    kept = names[: len(names) // 2]
    for name in names[len(names) // 2 :]:
        name.unlink()
    (tmp_path / "cases.parquet").unlink()
    modified = {name: name.stat().st_mtime_ns for name in kept}
    again = largest_held(incast("3ms"), "workload.pattern.fan_in", 1, 59, share=1.0, output=tmp_path)
    assert again.equals(whole)
    assert {name: name.stat().st_mtime_ns for name in kept} == modified


def test_the_command_searches_and_tells(tmp_path: Path) -> None:
    scenario = tmp_path / "incast.json"
    scenario.write_text(json.dumps(incast("3ms")))
    found = tmp_path / "found.json"
    vary = "workload.pattern.fan_in=1..40"
    options = ["--vary", vary, "--hold", "1", "-o", str(tmp_path / "out"), "--json", str(found)]
    outcome = CliRunner().invoke(app, ["search", str(scenario), *options])
    assert outcome.exit_code == 0, outcome.output
    rows = {row["scheme"]: row for row in json.loads(found.read_text())}
    assert (rows["Ideal"]["value"], rows["Ideal"]["seeds"], rows["Ideal"]["capped"]) == (24, 2, 0)
    assert "24 to 24" in outcome.output


@pytest.mark.parametrize("text", ["fan_in", "fan_in=1", "fan_in=1..", "fan_in=a..b", "fan_in=1.5..3", "=1..3"])
def test_a_range_is_two_whole_numbers(text: str) -> None:
    with pytest.raises(PacketloomError, match="write it as KEY="):
        Range.parse(text)


def test_ranges_that_can_not_be_run_are_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="fan_in"):
        largest_held(incast("1ms"), "workload.pattern.fan_in", 1, 60, output=tmp_path)
    with pytest.raises(ScenarioError, match="unknown key"):
        largest_held(incast("1ms"), "workload.pattern.fan_inn", 1, 5, output=tmp_path)
    with pytest.raises(PacketloomError, match="write one above 0"):
        largest_held(incast("1ms"), "workload.pattern.fan_in", 1, 5, share=99, output=tmp_path)
