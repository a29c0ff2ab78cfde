"""The command line: what it prints, and that a user's mistake is exit 2 without a traceback."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import packetloom
from conftest import FLOWS
from packetloom.cli.main import main
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited

COMMAND = [sys.executable, "-m", "packetloom"]


def test_run_prints_the_table(scenario: Path, tmp_path: Path) -> None:
    done = packetloom("run", scenario, cwd=tmp_path)
    assert done.returncode == 0
    assert "Slowdown at load 0.8" in done.stdout
    assert "DCTCP" in done.stdout
    assert "results in results/small" in done.stdout
    assert (tmp_path / "results" / "small" / "cases.parquet").exists()


def test_overrides_have_a_folder_of_their_own(scenario: Path, tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "results" / "small")
    done = packetloom("run", scenario, "--set", "run.flows=60", cwd=tmp_path)
    assert done.returncode == 0
    (own,) = set((tmp_path / "results").iterdir()) - {tmp_path / "results" / "small"}
    assert set(Results(own).cases["flows_started"].to_pylist()) == {60}
    assert set(Results(tmp_path / "results" / "small").cases["flows_started"].to_pylist()) == {FLOWS}


@pytest.mark.usefixtures("scenario", "out")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.toml"], "no such file"),
        (["run", "bad.toml"], "bad.toml:1: tpology: unknown key"),
        (["check", "bad.toml"], "did you mean"),
        (["run", "small.toml", "--set", "run.seeds"], "key=value"),
        (["run", "small.toml", "-o", "occupied"], "not a results folder"),
        (["run", "small.toml", "--workers", "0"], "--workers"),
        (["report", "occupied"], "not a results folder"),
        (["report", "nowhere"], "no such folder"),
        (["plot"], "which figure? there are: slowdown-by-load, "),
        (["plot", "fct-cdf"], "of which results? Write packetloom plot fct-cdf DIR"),
        (["plot", "pie", "out", "-o", "x.png"], "there is no figure 'pie'; there are: slowdown-by-load"),
        (["plot", "fct_cfd", "out", "-o", "x.png"], "there is no figure 'fct_cfd'; did you mean 'fct-cdf'"),
        (["plot", "fct", "out", "-o", "x.png"], "there is no figure 'fct'; did you mean"),
        (["list", "figure"], "there is no section 'figure' to list; did you mean 'figures'?"),
        (["list", "mark_above"], "there is no section 'mark_above' to list; packetloom list --search mark_above shows"),
        (["list", "figures", "--search", "zebra"], "nothing in the section figures has 'zebra'"),
        (["plot", "fct-cdf", "out", "-o", "x.doc"], "end the name in one of"),
        (["plot", "fct-cdf", "out", "-o", "x.png", "--load", "0.5"], "there are 0.2, 0.8"),
        (["plot", "fct-cdf", "out", "-o", "x.png", "--bin", "all"], "fct-cdf has no option --bin"),
        (["plot", "slowdown-by-load", "out", "-o", "x.png", "--statistic", "p42"], "p99.9"),
        (["explain", "tpc"], 'did you mean "tcp"'),
        (["reproduce", "nature"], "there is no paper 'nature'"),
        (["bench", "nosuch"], "there is no benchmark 'nosuch'"),
        (["export", "out", "-o", ""], "name the folder that the files go to"),
        (["report", "out", "-o", "out/packetloom.json"], "packetloom.json belongs to the results in"),
        (["report", "out", "-o", "out/plan.jsonl"], "plan.jsonl belongs to the results in"),
        (["report", "out", "-o", "out/../out/scenario.toml"], "scenario.toml belongs to the results in"),
        (["report", "out", "-o", "out/flows.parquet/page.html"], "flows.parquet belongs to the results in"),
        (["report", "out", "-o", "errors.json", "--errors", "errors.json"], "is what this command reads"),
        (["report", "out", "-o", "out/fidelity.json"], "is what this command reads"),
        (["plot", "fct-cdf", "out", "-o", "out/ports.parquet/x.png"], "ports.parquet belongs to the results in"),
        (["compare", "out:TCP", ":DCTCP", "--json", "out/packetloom.json"], "belongs to the results in"),
        (["search", "small.toml", "--vary", "run.flows=1..9", "--json", "small.toml"], "is what this command reads"),
        (["fidelity", "small.toml", "--json", "link.toml"], "is what this command reads"),
        (["doctor", "good.py", "-o", "good.py"], "is what this command reads"),
        (["doctor", "good.py:Good", "-o", "./good.py"], "is what this command reads"),
        (["rnu"], "rnu"),
    ],
)
def test_mistakes(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "bad.toml").write_text("[tpology]\nk = 4\n")
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "file").write_text("")
    (tmp_path / "good.py").write_text(
        "from packetloom.schemes import CongestionControl\nclass Good(CongestionControl): 1\n"
    )
    (tmp_path / "link.toml").symlink_to("small.toml")
    before = _held(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["packetloom", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    assert _held(tmp_path) == before


def _held(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_mistake_in_a_process_of_its_own(tmp_path: Path) -> None:
    command = [*COMMAND, "run", "missing.toml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: missing.toml: there is no such file\n"


def test_ctrl_c_exits_130_and_says_how_to_go_on(long_scenario: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "run", str(long_scenario), "-o", str(tmp_path / "out"), "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not list((tmp_path / "out").glob("flows.parquet/*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "cases are finished and kept. Run the same command to resume" in said
    again = packetloom("run", long_scenario, "-o", tmp_path / "out")
    assert again.returncode == 0
    assert "of them finished before" in again.stderr


def test_a_finished_folder_runs_again_at_once(out: Path) -> None:
    done = packetloom("run", out)
    assert done.returncode == 0
    assert "8 cases, 8 of them finished before" in done.stderr


def test_check_tells_cases_and_facts(scenario: Path) -> None:
    done = packetloom("check", scenario, "--set", "run.loads=[0.5, 1.2]")
    assert done.returncode == 0
    assert "8 cases, no mistakes" in done.stdout
    assert "traffic: random pairs" in done.stdout
    assert "load 0.5: " in done.stdout
    assert "flows/s" in done.stdout
    assert "warning:" in done.stdout
    assert "1.2" in done.stdout


def test_check_tells_what_networks_come_to() -> None:
    example = Path(__file__).parents[2] / "examples" / "rails.toml"
    said = " ".join(packetloom("check", example).stdout.split())
    for expected in (
        "network: 64 hosts",
        "network (topology.oversubscription 1:1): switches by tier: 8 rail, 8 spine, 16 scale-up",
        "network (topology.oversubscription 4:1): switches by tier: 8 rail, 2 spine, 16 scale-up",
        # 32 hosts; then four rail switches with two uplinks each.
        "bisection bandwidth 3200Gbps each way, between the first half of the hosts and the others; oversubscription 1",
        "bisection bandwidth 800Gbps each way, between the first half of the hosts and the others; oversubscription 4",
    ):
        assert expected in said


def test_check_says_which_marking_thresholds_are_interpolated() -> None:
    bench = Path(__file__).parents[2] / "benches" / "dcqcn-websearch-k8.toml"
    assert "ecn_min" not in packetloom("check", bench).stdout
    done = packetloom("check", bench, "--set", "topology.core_link.rate=400Gbps")
    expected = "DCQCN: ports of 400Gbps mark from 1600000 B to 6400000 B: ecn_min and ecn_max, which are for 100Gbps"
    assert expected in " ".join(done.stdout.split())


JOBS_THAT_WAIT = """
[topology]
kind = "rack"
hosts = 4
link = { rate = "10Gbps", delay = "1us" }

[[workload]]
arrivals = { kind = "collective", operation = "all-reduce", size = "1MB" }

[[scheme]]
name = "%s"
"""


@pytest.mark.parametrize(
    ("transport", "others"),
    [("ideal", ""), ("max-min", ""), ("syn", 'queue = "drop-tail"\nrouting = "controller"\n')],
)
def test_check_refuses_jobs_where_run_would(transport: str, others: str, tmp_path: Path) -> None:
    """Nothing but packets tells a rank that what it waits for has come."""
    file = tmp_path / "jobs.toml"
    file.write_text(JOBS_THAT_WAIT % transport + f'transport = "{transport}"\n{others}')
    why = f'flows that wait for others, as those of collectives, can\'t be started under "{transport}"'
    for command in ("check", "run"):
        done = packetloom(command, file, cwd=tmp_path)
        assert done.returncode == 2
        assert f"jobs.toml:7: workload: {why}" in done.stderr


def test_the_benchmark_of_a_job_sends_what_a_ring_of_all_its_ranks_does() -> None:
    bench = Path(__file__).parents[2] / "benches" / "all-reduce-1024.toml"
    said = " ".join(packetloom("check", bench).stdout.split())
    steps, ranks = 2 * 1023, 1024
    assert f"among {ranks} hosts, ring" in said
    assert f"mean {64e6 / ranks:.1f} B" in said
    assert f"{steps * ranks} flows" in said
    assert "1 case, no mistakes" in said


def test_list_explain_and_schema() -> None:
    listed = packetloom("list").stdout
    assert "ecn" in listed
    assert "slowdown-by-load" in listed
    of_figures = packetloom("list", "figures").stdout
    assert "slowdown-by-load" in of_figures
    assert "dctcp" not in of_figures
    found = packetloom("list", "-s", "dragonfly").stdout
    assert "Groups of routers" in found
    assert "fat-tree" not in found
    explained = packetloom("explain", "ecn").stdout
    assert "mark_above" in explained
    assert "22.5KB" in explained
    assert json.loads(packetloom("schema").stdout)["type"] == "object"


def test_version() -> None:
    assert packetloom("--version").stdout.startswith("packetloom ")


def test_help_comes_at_once() -> None:
    code = "import sys, packetloom.cli.main; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {name.strip("' ") for name in done.stdout.strip("[]\n").split(",")}
    assert not heavy & {"polars", "pyarrow", "matplotlib", "scipy", "pandas", "jinja2"}


def test_report_and_plot(out: Path, tmp_path: Path) -> None:
    done = packetloom("report", out)
    assert done.returncode == 0
    page = (out / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert len(page) < 3_000_000
    for figure in ("slowdown-by-load", "fct-cdf"):
        target = tmp_path / f"{figure}.pdf"
        assert packetloom("plot", figure, out, "-o", target).returncode == 0
        assert target.read_bytes().startswith(b"%PDF")


def test_a_run_that_can_make_no_progress_says_so_and_exits_3(tmp_path: Path) -> None:
    scenario = tmp_path / "dead.toml"
    scenario.write_text(
        """
[topology]
kind = "rack"
hosts = 3
[[workload]]
sizes = { kind = "constant", size = "1MB" }
arrivals = "at-once"
pattern = { kind = "pair", src = 1, dst = 0 }
[[fault]]
kind = "link-down"
between = ["host0", "switch0"]
at = "100us"
[[scheme]]
name = "LineRate"
transport = "line-rate"
queue = "drop-tail"
"""
    )
    output = tmp_path / "out"
    for _ in range(2):  # what is kept of it tells the same
        done = packetloom("run", scenario, "-o", output)
        assert done.returncode == 3, done.stderr
        assert "stalled: LineRate, seed 1: 1 of 1 flows did not finish; no progress: packets move" in done.stderr
        assert "flow 0 (host 1 to host 0)" in done.stderr
