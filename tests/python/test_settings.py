"""Settings that can't be meant, or that no memory has room for, end with a message; those that may be meant warn."""

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from packetloom import footing
from packetloom.api import run
from packetloom.cli import MISTAKE, main
from packetloom.scenario import read_plan

ECN = 'queue = { kind = "ecn", capacity = "225KB" }'


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """What `packetloom check` says of a scenario that it refuses, in one line."""

    def check(scenario: Path) -> str:
        monkeypatch.setattr(sys, "argv", ["packetloom", "check", str(scenario)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == MISTAKE
        return " ".join(capsys.readouterr().err.split())

    return check


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (ECN, 'queue = { kind = "ecn", capacity = "1KB" }', "scheme[1].queue.capacity: has no room for a full packet"),
        (ECN, 'queue = { kind = "ecn", capacity = "20KB" }', "scheme[1].queue.mark_above: nothing is ever marked"),
        (
            'queue = "drop-tail"',
            'queue = { kind = "classes", strict = 3, queue = "drop-tail" }',
            "workload[0].class: the scheme",
        ),
        ('name = "TCP"', 'name = "T\\u001b[31mCP"', "scheme[0].name"),
        ("queues = true", 'series_interval = "1ps"', "measure.series_interval: 1ps makes"),
    ],
)
def test_refused(old: str, new: str, message: str, scenario: Path, refusal: Callable[[Path], str]) -> None:
    text = scenario.read_text().replace(old, new, 1).replace("[[workload]]", "[[workload]]\nclass = 3")
    scenario.write_text(text)
    said = refusal(scenario)
    assert message in said
    assert "\x1b[31mCP" not in said


def test_a_key_that_is_there_twice_in_json(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    twice = tmp_path / "twice.json"
    twice.write_text('{"topology": {"kind": "rack",\n "hosts": 4,\n "hosts": 5}}\n')
    said = refusal(twice)
    assert "twice.json:3" in said
    assert 'the key "hosts" is there twice' in said


def _of_settings(scenario: Path) -> list[str]:
    """The warnings but for those of what schemes differ in."""
    plan = read_plan(scenario, ())
    return [one for one in plan.warnings if one not in footing.warnings(plan.cases)]


def test_what_no_queue_does_is_told(scenario: Path) -> None:
    assert not _of_settings(scenario)
    scenario.write_text(scenario.read_text().replace(ECN, 'queue = "drop-tail"'))
    (warning,) = _of_settings(scenario)
    assert "dctcp goes by marks" in warning


def test_flows_that_a_run_cuts_short_say_what_they_did(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(
        '[topology]\nkind = "rack"\nhosts = 3\n[[workload]]\nsizes = { kind = "constant", size = "10MB" }\n'
        'arrivals = "at-once"\npattern = { kind = "pair", src = 0, dst = 1 }\n[[scheme]]\nname = "TCP"\n'
        'transport = "tcp"\nqueue = "drop-tail"\n[run]\nmax_time = "1ms"\n'
    )
    results = run(scenario, tmp_path / "out", progress=False)
    (sent,) = results.to_polars("flows")["packets_sent"]
    (counted,) = results.to_polars("cases")["packets_sent"]
    (carried,) = results.to_polars("ports").filter(pl.col("node") == "host0")["tx_packets"]
    assert sent == counted > 0
    # What waits at the host has not left: the window, at most.
    assert 0 <= sent - carried < sent
