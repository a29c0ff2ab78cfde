"""What a person sees of a running campaign."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from conftest import LONG_SCENARIO, as_in_a_test
from packetloom.campaign.interim_table import Standings, repetitions_in, table_of
from packetloom.campaign.live import TerminalReporter, View
from packetloom.campaign.progress import LogReporter, SilentReporter, Snapshot, reporter_for
from packetloom.campaign.runner import run_plan
from packetloom.common.quantities import said
from packetloom.scenario.plan import read_plan
from packetloom.scenario.run_lengths import point_key

pytestmark = pytest.mark.unaudited


class Watcher(SilentReporter):
    """Keeps what it is notified of."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.shown: list[str] = []

    def update(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)
        self.shown.append(show(snapshot))


def show(snapshot: Snapshot, height: int = 40) -> str:
    console = Console(file=io.StringIO(), width=110, height=height)
    with console.capture() as capture:
        console.print(View(snapshot))
    return capture.get()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watcher:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "long.toml").write_text(LONG_SCENARIO)
    watcher = Watcher()
    with as_in_a_test():
        run_plan(read_plan(folder / "long.toml"), folder / "out", 2, watcher)
    return watcher


def test_cases_are_done_running_or_waiting(watched: Watcher) -> None:
    for snapshot in watched.snapshots:
        assert snapshot.finished + len(snapshot.running) + snapshot.waiting == snapshot.total == 8
        assert len(snapshot.running) <= 2
    assert any("2 running" in shown for shown in watched.shown)
    assert any(snapshot.hops_per_s > 0 for snapshot in watched.snapshots)
    assert any(snapshot.remaining_s for snapshot in watched.snapshots)


def test_the_table_fills_in(watched: Watcher) -> None:
    first, last = watched.shown[0].splitlines(), watched.shown[-1].splitlines()
    assert [line.split() for line in first if line.startswith("DCTCP")] == [
        ["DCTCP", "0.2", "0/2"],
        ["DCTCP", "0.8", "0/2"],
    ]
    finished = watched.snapshots[-1].finished
    lines = [line.split() for line in last if line.startswith(("TCP", "DCTCP"))]
    assert sum(int(seeds.split("/")[0]) for _, _, seeds, *_ in lines) == finished
    assert all(float(numbers[0]) >= 1 and float(numbers[1]) > 1 for _, _, _, *numbers in lines if numbers)


JOBS = """\
[topology]
kind = "rack"
hosts = 4

[[workload]]
arrivals = { kind = "collective", operation = "all-reduce", size = "200KB", repeat = 3 }

[[workload]]
arrivals = { kind = "collective", operation = "all-to-all", size = "2MB", repeat = 2 }

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = "ecn"

[run]
seeds = 2
max_time = "2ms"
"""


def test_jobs_show_what_a_repetition_takes_each_by_itself(tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(JOBS)
    watcher = Watcher()
    results = run_plan(read_plan(tmp_path / "jobs.toml"), tmp_path / "out", 1, watcher)
    standings = Standings(read_plan(tmp_path / "jobs.toml").cases)
    for row in results.rows():
        part = results.part("iterations", row)
        assert part is not None
        standings.add(row, repetitions_in(part))
    lines = standings.lines(dict.fromkeys((point_key(row.parameters) for row in results.rows()), 2), 10)
    header, (cells,) = table_of(lines)
    assert header == ["scheme", "load", "seeds", "a repetition takes, workload 0", "a repetition takes, workload 1"]
    iterations = results.to_polars("iterations")
    done = iterations.filter((iterations["source"] == 0) & iterations["jct_ns"].is_not_nan())
    mean_ns = done["jct_ns"].to_numpy().mean()
    assert cells[3].startswith(said(float(mean_ns), "ns"))
    second = iterations.filter(iterations["source"] == 1)
    undone = second.filter(second["jct_ns"].is_nan()).height
    assert undone > 0
    assert cells[4].endswith(f"{undone} of {second.height} not done")
    shown = [text for text in watcher.shown if "a repetition takes" in text]
    assert not shown or "mean slowdown" not in shown[-1]


def test_a_small_terminal_shows_what_changed_last(scenario: Path, tmp_path: Path) -> None:
    watcher = Watcher()
    loads = "run.loads=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]"
    run_plan(read_plan(scenario, [loads]), tmp_path / "out", 1, watcher)
    snapshot = watcher.snapshots[-1]
    lines = show(snapshot, height=16).splitlines()
    assert len(lines) <= 16
    table = [line.split() for line in lines if line.startswith(("TCP", "DCTCP"))]
    assert 0 < len(table) < 16
    assert all(seeds != "0/2" for _, _, seeds, *_ in table)


def test_a_terminal_is_left_with_the_first_line_and_the_notes(scenario: Path, tmp_path: Path) -> None:
    stream = io.StringIO()
    reporter = TerminalReporter(Console(file=stream, force_terminal=True, width=110, height=30, highlight=False))
    precision = 'run.precision={ statistic = "p99", within = 0.0001, max_seeds = 3, max_extensions = 0 }'
    run_plan(read_plan(scenario, [precision]), tmp_path / "out", 2, reporter)
    text = stream.getvalue()
    assert text.startswith("8 cases; results in")
    assert text.count("p99 slowdown within 0.01 % takes more than 3 seeds") == 4
    assert "waiting" in text


def test_plain_lines_where_there_is_no_terminal() -> None:
    assert isinstance(reporter_for(io.StringIO()), LogReporter)
