"""Schemes with names that a terminal, a page, a figure or a file system could take for something else."""

import html
import io
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import packetloom
from packetloom.campaign import live
from packetloom.campaign.interim_table import Standings
from packetloom.campaign.progress import RunningCase, Snapshot
from packetloom.cli.main import main
from packetloom.errors import PacketloomError
from packetloom.exchange import export
from packetloom.pages import notebook
from packetloom.pages.plots import plot, save_figure
from packetloom.pages.report import report_page
from packetloom.reproduce import claims
from packetloom.scenario.plan import read_plan
from packetloom.store.results import Results
from packetloom.validate.comparison import Row, print_rows

pytestmark = pytest.mark.unaudited

NAMES = [
    "TCP [fast]",
    "[/x]",
    "[red]",
    "\\[b]",
    ":bug:",
    "$x",
    "$a_1$",
    "_own",
    "<b>&amp;",
    "</script>",
    "q\"'",
    "../../up",
]
SCENARIO = {
    "topology": {"kind": "rack", "hosts": 3},
    "workload": [{"sizes": {"kind": "constant", "size": "2KB"}}],
    "scheme": [{"name": name, "transport": "tcp", "queue": "drop-tail"} for name in NAMES],
    "run": {"loads": [0.5], "flows": 3, "seeds": 1},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return packetloom.run(SCENARIO, tmp_path_factory.mktemp("names") / "out", progress=False, cache=False)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_a_name_that_fills_every_table_is_refused() -> None:
    scheme = SCENARIO["scheme"][0] | {"name": "T" * 201}  # type: ignore[index]
    with pytest.raises(PacketloomError, match=r"scheme\[0\].name: is longer than 200 letters"):
        read_plan(SCENARIO | {"scheme": [scheme]})


@pytest.mark.usefixtures("wide")
def test_the_results_table(
    results: Results, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["packetloom", "run", str(results.path)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert [name for name in NAMES if not re.search(rf"^ ?{re.escape(name)} +\d", printed, re.MULTILINE)] == []


def test_the_live_view() -> None:
    plan = read_plan(SCENARIO)
    standings = Standings(plan.cases)
    keys = dict.fromkeys(standings._lines, 1)
    running = [RunningCase(name, 0.5, 0.0) for name in NAMES]
    snapshot = Snapshot(len(NAMES), 0, running, 0.0, 0.0, None, standings, keys)
    screen = io.StringIO()
    reporter = live.TerminalReporter()
    reporter._console.file = screen
    reporter._console.size = (200, 100)
    reporter.start("results in [/x]/:bug:", len(NAMES))
    reporter.close(["[/x] is not known"])
    reporter._console.print(live.View(snapshot))
    printed = screen.getvalue()
    assert "results in [/x]/:bug:" in printed
    assert "[/x] is not known" in printed
    for name in NAMES:
        assert len(re.findall(rf"(^| ){re.escape(name)}( |$)", printed, re.MULTILINE)) >= 2, name
    shown = notebook.NotebookReporter()._html(snapshot)
    assert ">TCP [fast]</td>" in shown
    assert ">&lt;b&gt;&amp;amp;</td>" in shown


@pytest.mark.usefixtures("wide")
def test_claims_and_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    claim = claims.Claim("X1", "\\[a] is [/x]", "[b]", ":bug:", (), lambda results: [claims.Measured("[red]", 1.0)])
    claims.print_findings([claims.judge(claim, {})])
    row = Row(id="T", what="[/x]", source="\\[b]", expected=(1, 1), measured=2, band=(1, 1), rule="[red]", why="[/y]")
    print_rows("[/title]", "theirs", [row])
    printed = capsys.readouterr().out
    for text in ("\\[a] is [/x]", " [b] ", ":bug:", "[red] 1", "[/title]", "[/x]", "\\[b]", "[red]", "T: [/y]"):
        assert text in printed, text


@pytest.mark.parametrize("figure", ["slowdown-by-load", "fct-cdf"])
def test_figures(figure: str, results: Results, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = plot(figure, results)
        save_figure(figure, results, tmp_path / "figure.svg", {})
    legend = axes.get_legend()  # dots have their names beside them instead
    texts = axes.get_yticklabels() if legend is None else legend.get_texts()
    # What matplotlib draws of an escaped dollar is a dollar.
    assert [text.get_text().replace(r"\$", "$").strip() for text in texts] == NAMES
    assert not any(text.get_text().startswith("_") for text in texts)


def test_the_report(results: Results) -> None:
    page = report_page([results]).render()
    assert ">TCP [fast]</td>" in page
    assert ">&lt;b&gt;&amp;amp;</td>" in page
    data = page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert [scheme["label"] for scheme in json.loads(data)["schemes"]] == NAMES


def test_exported_files_stay_in_their_folder(results: Results, tmp_path: Path) -> None:
    files = export(results, "fct-hpcc", tmp_path / "out")
    assert len(set(files)) == len(NAMES)
    assert {file.parent for file in files} == {tmp_path / "out"}
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+-]*\.txt", file.name) for file in files)


def test_long_names_are_cut_in_files(tmp_path: Path) -> None:
    named = [{**SCENARIO["scheme"][0], "name": letters * 200} for letters in ("x", "…")]  # type: ignore[index]
    results = packetloom.run({**SCENARIO, "scheme": named}, tmp_path / "in", progress=False)
    files = export(results, "flow-monitor", tmp_path / "out")
    assert len({file.name for file in files if file.is_file()}) == 2
    assert all(len(file.name.encode()) <= 255 for file in files)


def test_no_table_is_printed_past_the_one_console() -> None:
    """Any other would take names for markup."""
    for file in Path(packetloom.__file__).parent.rglob("*.py"):
        assert "Console(" not in file.read_text() or file.name == "terminal.py", file


DRAWN = """
const axis = { title: "load" }, values = { title: "slowdown" }, look = { colour: "red", marker: 0, dash: 0 };
const theme = { text: "black", faint: "grey", line: "grey", ground: "white" };
const panel = (mark) => ({ title: "", x: axis, y: values, marks: [mark] });
const dots = (label) => panel({ kind: "dots", label, look, x: [label], y: [2] });
console.log(JSON.stringify(names.map((label) => drawPanel(dots(label), 2000, theme).body)));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_figures_in_a_browser_take_no_name_for_html() -> None:
    script = (Path(packetloom.__file__).parent / "pages" / "assets" / "draw.js").read_text()
    code = f"{script}\nconst names = {json.dumps(NAMES)};\n{DRAWN}"
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, drawn in zip(NAMES, json.loads(done.stdout), strict=True):
        (shown,) = re.findall(r'class="y-tick">([^<]*)</text>', drawn)
        assert html.unescape(shown) == name
        assert ">" not in shown
