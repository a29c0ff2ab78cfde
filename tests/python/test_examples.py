"""The examples stand: every scenario passes `packetloom check`, and a small one runs with the compiled simulator."""

import csv
import re
import runpy
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from commands import packetloom
from packetloom.pages.figures import chart
from packetloom.stats.steadiness.diagnosis import Steadiness, diagnosed
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "examples").glob("*.toml"))


LARGE = ("gpt-16k",)
"""Examples whose check takes a minute."""


@pytest.mark.parametrize(
    "scenario",
    [pytest.param(one, marks=pytest.mark.slow) if one.stem in LARGE else one for one in SCENARIOS],
    ids=lambda path: path.stem,
)
def test_passes_check_without_a_warning(scenario: Path) -> None:
    done = packetloom("check", scenario)
    assert done.returncode == 0, done.stderr
    assert "no mistakes" in done.stdout
    warnings = [line for line in (done.stdout + done.stderr).splitlines() if "warning" in line]
    # An example of a link that can't carry what it is offered says so itself.
    if "not steady" in scenario.read_text().split("[topology]")[0]:
        warnings = [line for line in warnings if "run.loads: the flows offer the links" not in line]
    assert not warnings


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_says_at_its_head_how_to_run_it(scenario: Path) -> None:
    head = scenario.read_text().split("[topology]")[0]
    assert head.startswith("# ")
    assert f"packetloom run examples/{scenario.name}" in head or f"make {scenario.stem}" in head
    assert "look at" in head


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_says_how_long_it_takes_as_the_table_does(scenario: Path) -> None:
    (seconds,) = re.findall(r"^# It takes about (\d+) CPU-seconds? on a ", scenario.read_text(), re.MULTILINE)
    row = next(
        line
        for line in (ROOT / "examples/README.md").read_text().splitlines()
        if f"({scenario.name})" in line and line[0] == "|"
    )
    assert row.endswith(f"| {seconds} |")


@pytest.mark.slow
def test_the_demo_prints_the_table_beside_it(tmp_path: Path) -> None:
    block = (ROOT / "examples/README.md").read_text().split("    Slowdown at load 0.5\n")[1].split("\n\nAt load 0.5")[0]
    rows = [line.split() for line in block.splitlines() if re.search(r"\d\.\d", line)]
    assert len(rows) == 5
    done = packetloom("run", ROOT / "examples" / "demo.toml", "-o", tmp_path / "results", COLUMNS="80")
    assert done.returncode == 0, done.stderr
    printed = [line.split() for line in done.stdout.split("Slowdown at load 0.5")[1].splitlines()]
    assert [row for row in rows if row not in printed] == []


def not_known_to_be_steady(results: Results) -> list[Steadiness]:
    """Cases that drift or are too short to tell, and sizes of flows that drift. (Sizes too few to tell are marked.)"""
    return [one for one in diagnosed(results) if one.steady is False or (one.steady is None and not one.kind)]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_is_steady_or_says_that_it_is_not(scenario: Path, tmp_path: Path) -> None:
    if not any(word in scenario.read_text() for word in ("loads =", "poisson", "periodic")):
        pytest.skip("its flows do not start by the clock")
    done = packetloom("run", scenario, "-o", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    if "not steady" not in scenario.read_text().split("[topology]")[0]:
        assert not not_known_to_be_steady(Results(tmp_path / "results"))


@pytest.mark.slow
def test_the_example_in_python_is_steady(tmp_path: Path) -> None:
    example, out = ROOT / "examples" / "python_api.py", tmp_path / "results"
    code = f"import packetloom, runpy; packetloom.run(runpy.run_path({str(example)!r})['scenario'], {str(out)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not not_known_to_be_steady(Results(out))


def test_replay_runs_the_flows_of_its_file(tmp_path: Path) -> None:
    done = packetloom("run", ROOT / "examples" / "replay.toml", "-o", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    with (ROOT / "examples" / "replay.csv").open() as file:
        listed = sum(1 for _ in csv.DictReader(file))
    for scheme in ("TCP", "pFabric"):
        assert f"done: {scheme} seed 1: {listed} flows" in done.stderr
        assert scheme in done.stdout


def test_central_control_tells_of_latencies_and_control_traffic(tmp_path: Path) -> None:
    short = ("run.loads=[0.5]", "run.seeds=1", "run.duration=500us", "run.warm_up=0us")
    settings = [word for setting in short for word in ("--set", setting)]
    done = packetloom("run", ROOT / "examples" / "central-control.toml", *settings, "-o", tmp_path / "results")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "page.html"
    assert packetloom("report", tmp_path / "results", "-o", page).returncode == 0
    sections = re.split(r'<h2 id="[a-z0-9-]+">', page.read_text())
    control = next(section for section in sections if section.startswith("Central control"))
    assert "in the network:" in control
    assert "grants," in control
    assert [name in control for name in ("SYN", "ASY", "Fastpass", "DCTCP")] == [True, True, False, False]
    fairness = next(section for section in sections if section.startswith("Completion times and fairness"))
    assert "DCTCP" in fairness


def test_a_slow_link_tells_balancers_apart(tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = packetloom(
        "run", ROOT / "examples" / "balancing.toml", "-o", out, "--set", "run.seeds=2", "--set", "run.flows=300"
    )
    assert done.returncode == 0, done.stderr
    flows = Results(out).to_polars("flows")
    by_scheme = flows.group_by("scheme").agg(pl.col("slowdown").mean(), pl.col("reordered").sum())
    slowdown = dict(by_scheme.select("scheme", "slowdown").iter_rows())
    late = dict(by_scheme.select("scheme", "reordered").iter_rows())
    assert slowdown["CONGA"] < slowdown["LetFlow"] < slowdown["ECMP"]
    assert late["ECMP"] == 0 < late["CONGA"] < late["DRILL"]
    drawn = chart("reordering", Results(out))
    assert drawn.values("statistic") == ["late packets (%)", "changes of path (%)", "held (KB)"]
    share = pl.col("reordered").sum() / pl.col("packets_sent").sum()
    shares = flows.filter(scheme="DRILL").group_by("seed").agg(share.alias("share"))["share"].to_list()
    drill = drawn.numbers.filter(label="DRILL", statistic="late packets (%)")
    assert drill["y"].to_list() == [pytest.approx(100 * sum(shares) / len(shares))]
    over_time = chart("link-imbalance-over-time", Results(out)).numbers["y"].to_list()
    assert min(over_time) >= 0


def test_pauses_stop_an_innocent_flow_and_congestion_control_frees_it(tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = packetloom("run", ROOT / "examples" / "innocent-flow.toml", "-o", out)
    assert done.returncode == 0, done.stderr
    measured = Results(out).to_polars("flows").filter("measured")
    slowdown = dict(measured.select("scheme", "slowdown").iter_rows())
    assert slowdown["PFC alone"] > 3.5
    assert slowdown["CBFC alone"] == pytest.approx(4, abs=0.05)  # a quarter of the port to host 10, as the four get
    assert slowdown["DCQCN"] < 1.1
    assert slowdown["HPCC"] < 1.1


def test_bus_bandwidth_falls_with_servers_under_ecmp_and_not_under_spraying(tmp_path: Path) -> None:
    out = tmp_path / "results"
    short = ("workload.0.arrivals.ranks=[4, 16]", "run.seeds=1")
    settings = [word for setting in short for word in ("--set", setting)]
    done = packetloom("run", ROOT / "examples" / "ecmp-collisions.toml", *settings, "-o", out)
    assert done.returncode == 0, done.stderr
    jobs = Results(out).to_polars("jobs")
    means = jobs.group_by("scheme", "ranks").agg(pl.col("bus_gbps").mean())
    bus = {(scheme, ranks): gbps for scheme, ranks, gbps in means.iter_rows()}
    assert bus["ECMP, one queue pair", 16] < 0.6 * bus["ECMP, one queue pair", 4]
    assert bus["ECMP, one queue pair, DCQCN", 16] < bus["ECMP, one queue pair", 16]
    assert bus["ECMP, one queue pair", 16] < bus["ECMP, four queue pairs", 16] < bus["sprayed", 16]
    assert bus["sprayed", 16] > 0.95 * bus["sprayed", 4] > 85


def test_a_chain_of_replicas_takes_as_long_alone_and_less_under_load() -> None:
    times_us = runpy.run_path(str(ROOT / "examples/replicated_store.py"))["times_us"]
    idle, loaded = ([times_us(how, load, 800, 2).mean() for how in ("both", "chain")] for load in (0.01, 0.45))
    assert idle[0] == pytest.approx(idle[1], rel=0.05)
    assert loaded[0] > 1.5 * loaded[1] > 1.5 * idle[1]


def test_a_scheduler_that_places_jobs_under_one_switch_has_them_done_sooner() -> None:
    times_ms = runpy.run_path(str(ROOT / "examples/placing_jobs.py"))["times_ms"]
    spread, together = (times_ms(how, 5, 4) for how in ("any", "together"))
    # Ten steps of 0.5 ms and up to 14 rounds of 0.5 MB at 25 Gb/s.
    assert 20 < together.min() <= together.max() < 32
    assert spread.mean() > 1.3 * together.mean()
