"""The command line: options and arguments that nobody should write."""

import os
import shutil
from pathlib import Path

import pytest

import packetloom
from hostile.harness import SCENARIO, Worker

SMALL = """\
[topology]
kind = "rack"
hosts = 3
[[workload]]
sizes = { kind = "constant", size = "2KB" }
pattern = { kind = "incast", fan_in = 1 }
deadlines = { kind = "fixed", after = "1ms" }
[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"
[run]
loads = [0.5]
flows = 3
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("commands")
    packetloom.run(SCENARIO, place / "out", progress=False, cache=False)
    (place / "small.toml").write_text(SMALL)
    (place / "file").write_text("")
    (place / "folder").mkdir()
    return place


MISTAKES: list[tuple[list[str], str]] = [
    ([""], "No such command"),
    (["[/x]"], "[/x]"),
    (["rnu", "small.toml"], "rnu"),
    (["run"], "SCENARIO"),
    (["run", "small.toml", "small.toml"], "small.toml"),
    (["run", "small.toml", "--worker", "1"], "--worker"),
    (["run", "small.toml", "--workers"], "--workers"),
    (["run", "small.toml", "--workers", "0"], "--workers"),
    (["run", "small.toml", "--workers", "-1"], "--workers"),
    (["run", "small.toml", "--workers", "1.5"], "--workers"),
    (["run", "small.toml", "--workers", "[/x]"], "--workers"),
    (["run", "small.toml", "--workers", "9" * 5000], "--workers"),
    (["run", "small.toml", "--workers", "1000000"], "--workers"),
    (["run", "small.toml", "--cache"], "--cache"),
    (["run", "small.toml", "--no-cache=yes"], "--no-cache"),
    (["run", "small.toml", "-o", "file"], "file: is a file"),
    (["run", "small.toml", "-o", "file/below"], "file/below"),
    (["run", "small.toml", "-o", "/proc/nothing/here"], "/proc/nothing/here"),
    (["run", "small.toml", "-o", "x" * 300], "File name too long"),
    (["run", "small.toml", "--shard", "0/2"], "--shard 0/2"),
    (["run", "small.toml", "--shard", "3/2"], "--shard 3/2"),
    (["run", "small.toml", "--shard", "1/0"], "--shard 1/0"),
    (["run", "small.toml", "--shard", "one"], "--shard one"),
    (["run", "small.toml", "--shard", "-1/2"], "--shard -1/2"),
    (["run", "small.toml", "--shard", "9" * 5000 + "/2"], "--shard 9"),
    (["run", "small.toml", "--set"], "--set"),
    (["run", "small.toml", "--set", ""], "--set"),
    (["run", "small.toml", "--set", "="], "--set ="),
    (["run", "small.toml", "--set", "scheme.NOPE.queue=ecn"], "none of TCP"),
    (["run", "small.toml", "--set", "run.seeds=2\nrun.flows=9"], "letter 12"),
    (["run", "small.toml", "--set", "run.seeds=2", "--set", "run.seeds.x=3"], "--set run.seeds.x=3"),
    (["run", "small.toml", "--set", "tpology.hosts=3"], "tpology"),
    (["run", "small.toml", "--ray", "nowhere:99999999"], "--ray"),
    (["run", "nowhere.toml"], "nowhere.toml"),
    (["run", "nowhere/small.toml"], "no folder nowhere"),
    (["run", "/dev/null"], "it is a device"),
    (["run", "folder"], "folder: not a results folder"),
    (["run", "file/small.toml"], "file/small.toml"),
    (["check", "small.toml", "--set", "run.flows=" + "9" * 5000], "--set"),
    (["check", "x" * 5000], "File name too long"),
    (["check", "out", "--set", "topology.hosts=1"], "topology.hosts"),
    (["search", "small.toml"], "--vary"),
    (["search", "small.toml", "--vary", "run.flows"], "--vary run.flows"),
    (["search", "small.toml", "--vary", "run.flows=5..1"], "5..1"),
    (["search", "small.toml", "--vary", "run.flows=1..x"], "--vary run.flows=1..x"),
    (["search", "small.toml", "--vary", "run.flows=-1..5"], "--vary"),
    (["search", "small.toml", "--vary", "run.flows=1.." + "9" * 5000], "--vary"),
    (["search", "small.toml", "--vary", "run.nothing=1..5", "-o", "s1"], "run.nothing"),
    (["search", "small.toml", "--vary", "topology.kind=1..5", "-o", "s2"], "topology.kind"),
    (["search", "small.toml", "--vary", "workload.pattern.fan_in=1..2", "--hold", "nan", "-o", "s3"], "nan"),
    (["search", "small.toml", "--vary", "workload.pattern.fan_in=1..2", "--hold", "2", "-o", "s4"], "2"),
    (["search", "small.toml", "--vary", "workload.pattern.fan_in=1..9", "-o", "s5"], "fan_in"),
    (["search", "small.toml", "--vary", "run.flows=1..5", "--json", "nowhere/x.json"], "no folder nowhere"),
    (["tune", "small.toml"], "--vary"),
    (["tune", "small.toml", "--vary", "run.flows=5..9"], "name one statistic"),
    (["tune", "small.toml", "--vary", "run.flows", "--minimise", "cases.drops"], "--vary run.flows"),
    (["tune", "small.toml", "--vary", "run.flows=9..5", "--minimise", "cases.drops"], "--vary run.flows=9..5"),
    (["tune", "small.toml", "--vary", "run.nothing=5..9", "--minimise", "cases.drops"], "run.nothing"),
    (["tune", "small.toml", "--vary", "run.flows=5..9", "--minimise", "[/x]"], "[/x]"),
    (["tune", "small.toml", "--vary", "run.flows=5..9", "--minimise", "cases.drops", "--require", "x"], "--require x"),
    (["tune", "small.toml", "--vary", "run.flows=5..9", "--minimise", "cases.drops", "--json", "out"], "--json"),
    (["combine", "out"], "--output"),
    (["combine", "-o", "both"], "DIR"),
    (["combine", "out", "-o", "file"], "file"),
    (["report", "out", "-o", "folder"], "folder"),
    (["report", "out", "-o", "nowhere/x.html"], "nowhere/x.html"),
    (["report", "out", "-o", "/"], "/"),
    (["report", "out", "-o", "."], "."),
    (["report", "out", "-o", "/proc/x.html"], "/proc/x.html"),
    (["view", "out", "--port", "-1"], "-1"),
    (["view", "out", "--port", "70000"], "70000"),
    (["view", "out", "--port", "http"], "--port"),
    (["view", "out", "--port", "9" * 400], "port"),
    (["plot", "nope", "out", "-o", "x.pdf"], "no figure 'nope'"),
    (["plot", "[/x]", "out", "-o", "x.pdf"], "[/x]"),
    (["plot", "fct-cdf", "out", "-o", "x"], "x: end the name in one of"),
    (["plot", "fct-cdf", "out", "-o", "x.nope"], "x.nope: end the name in one of"),
    (["plot", "fct-cdf", "out", "-o", "x."], "x.: end the name in one of"),
    (["plot", "fct-cdf", "out", "-o", ".pdf"], ".pdf"),
    (["plot", "fct-cdf", "out", "-o", "nowhere/x.pdf"], "nowhere/x.pdf"),
    (["plot", "fct-cdf", "out", "-o", "x.pdf", "--load", "nan"], "no load nan"),
    (["plot", "fct-cdf", "out", "-o", "x.pdf", "--load", "0.50001"], "0.50001"),
    (["plot", "fct-cdf", "out", "-o", "x.pdf", "--load", "1e999"], "no load inf"),
    (["plot", "fct-cdf", "out", "-o", "x.pdf", "--bin", "(0, 1]"], "--bin"),
    (["plot", "slowdown-by-load", "out", "-o", "x.pdf", "--bin", "(0, 1]"], "(0, 1]"),
    (["plot", "slowdown-by-load", "out", "-o", "x.pdf", "--statistic", ""], "statistic ''"),
    (["plot", "queue-over-time", "out", "-o", "x.pdf"], "series_interval"),
    (["plot", "deadlines-met", "out", "-o", "x.pdf"], "deadline"),
    (["plot", "slowdown-by-fan-in", "out", "-o", "x.pdf"], ""),
    (["export", "out", "-o", "e1", "--format", "csv"], "unknown format 'csv'"),
    (["export", "out", "-o", "e2", "--format", "pcapng"], "measure.capture"),
    (["export", "out", "-o", "file"], "file"),
    (["export", "out", "-o", "/proc/nothing"], "/proc/nothing"),
    (["explain", "ecm"], "ecm"),
    (["explain", ""], '""'),
    (["explain", "[/x]"], "[/x]"),
    (["explain", "x" * 5000], "xxx"),
    (["reproduce", "nature"], "nature"),
    (["reproduce", "ndp", "--scale", "huge"], "--scale"),
    (["reproduce", "ndp", "--figure", "999", "-o", "r1"], "999"),
    (["reproduce", "ndp", "--json", "nowhere/x.json"], "no folder nowhere"),
    (["reproduce", "ndp", "--json", "folder"], "folder is a folder"),
    (["reproduce", "ndp", "-o", "file"], "file"),
    (["bench", "nope"], "nope"),
    (["bench", "--json", "nowhere/x.json"], "no folder nowhere"),
    (["bench", "--against", "nowhere/python"], "nowhere/python"),
    (["bench", "--against", "folder"], "folder"),
    (["bench", "--against", "file"], "file"),
    (["bench", "--against", "file", "--pairs", "0"], "--pairs"),
    (["bench-control", "--json", "/"], "--json"),
    (["bench-control", "extra"], "extra"),
    (["validate", "everything"], "everything"),
    (["validate", "theory", "--json", "nowhere/x.json"], "no folder nowhere"),
    (["validate", "theory", "--vm", "nowhere"], "--vm"),
    (["validate", "kernel", "--vm", "nowhere"], "nowhere"),
    (["validate", "kernel", "--vm", "folder"], "folder"),
    (["validate", "theory", "--workers", "x"], "--workers"),
    (["schema", "extra"], "extra"),
    (["list", "--all"], "--all"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(one[0])[:60] for one in MISTAKES])
def test_a_mistake(arguments: list[str], message: str, worker: Worker, place: Path) -> None:
    worker.command(place, *arguments).must_refuse(message)


@pytest.mark.parametrize(
    "ending", ["pdf", "png", "svg", "eps", "ps", "jpg", "PDF", "svgz", "tif", "webp", "raw", "gif"]
)
def test_every_format_of_figures(ending: str, worker: Worker, place: Path) -> None:
    worker.command(place, "plot", "fct-cdf", "out", "-o", f"figure.{ending}").must_accept(f"wrote figure.{ending}")


RIGHT: list[list[str]] = [
    ["run", "small.toml", "-o", "r [/x] :bug: $x$ ∞", "--workers", "1"],
    ["run", "small.toml", "--set", "scheme.TCP.name='[/x] :bug:'", "-o", "named", "--workers", "1"],
    ["run", "small.toml", "--set", "run.seeds=1", "--set", "run.seeds=2", "-o", "twice", "--workers", "4096"],
    ["run", "./small.toml", "-o", "./a/../b/./c", "--workers", "1"],
    ["check", "small.toml", "--set", " run.seeds = 3 "],
    ["report", "out", "out", "-o", "same.html"],
    ["explain", "ecn"],
    ["--help"],
    ["run", "--help"],
]


@pytest.mark.parametrize("arguments", RIGHT, ids=[" ".join(one)[:50] for one in RIGHT])
def test_strange_but_right(arguments: list[str], worker: Worker, place: Path) -> None:
    worker.command(place, *arguments).must_accept()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_nobody_may_write(worker: Worker, tmp_path: Path, place: Path) -> None:
    shutil.copy(place / "small.toml", tmp_path)
    (tmp_path / "closed").mkdir(mode=0o500)
    worker.command(tmp_path, "run", "small.toml", "-o", "closed/out").must_refuse("closed/out", "permission")
