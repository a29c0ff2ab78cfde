"""In a notebook: the tutorial runs, shows its progress, and results are tables."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import packetloom

pytestmark = pytest.mark.unaudited

DOCS = Path(__file__).parents[2] / "docs"
FLOWS = 1000
"""Those of the notebooks' scenarios."""


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The tutorial's cells, executed."""
    return executed("tutorial", tmp_path_factory, flows=400)


def executed(name: str, tmp_path_factory: pytest.TempPathFactory, flows: int = FLOWS) -> list[Any]:
    """A notebook's cells, executed in a new kernel, with fewer flows where another number is given."""
    notebook = nbformat.read(DOCS / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "commit it without outputs"
    scenarios = [cell for cell in notebook.cells if f'"flows": {FLOWS}' in cell.source]
    assert scenarios
    for cell in scenarios:
        cell.source = cell.source.replace(f'"flows": {FLOWS}', f'"flows": {flows}')
    folder = tmp_path_factory.mktemp(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PACKETLOOM_CACHE", str(folder / "cache"))
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any, kind: str) -> list[str]:
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def test_running_shows_how_far_it_is_and_results_are_a_table(tutorial: list[Any]) -> None:
    progress, table = shown(tutorial[1], "text/html")
    assert "12 cases; results in" in progress
    rows = re.findall(r"<tr><td[^>]*>([\d.]+)</td><td[^>]*>(\w+)</td><td[^>]*>([\d.]+)±", table)
    assert [(load, scheme) for load, scheme, _ in rows] == [
        ("0.3", "TCP"),
        ("0.3", "pFabric"),
        ("0.6", "TCP"),
        ("0.6", "pFabric"),
    ]
    means = {(load, scheme): float(mean) for load, scheme, mean in rows}
    assert means["0.6", "TCP"] > 2 * means["0.6", "pFabric"]


def test_figures_are_drawn(tutorial: list[Any]) -> None:
    assert all(len(shown(cell, "image/png")) == 1 for cell in tutorial[2:4])


def test_what_the_tutorial_says_of_queues_and_seeds_holds(tutorial: list[Any]) -> None:
    (queues,) = shown(tutorial[4], "text/plain")
    means = {(row[0], row[1]): float(row[2]) for row in re.findall(r"│ (\w+)\s+┆ ([\d.]+)\s+┆ ([\d.]+)", queues)}
    assert means["TCP", "0.6"] > 2 * means["pFabric", "0.6"]
    *_, seeds = shown(tutorial[5], "text/plain")
    counts = re.findall(r"│ \w+\s+┆ (\d+)\s+┆", seeds)
    assert len(counts) == 2
    assert all(3 <= int(count) <= 8 for count in counts)
    assert "6 cases, 6 known from earlier runs" in shown(tutorial[5], "text/html")[0]


def test_progress_comes_as_a_bar_with_the_table(scenario: Path, tmp_path: Path) -> None:
    code = f"""
import IPython.display
from packetloom import run
from packetloom.pages import notebook
shown = []
handle = type("Handle", (), {{"update": lambda self, html: shown.append(html.data)}})
IPython.display.display = lambda html, display_id: handle()
notebook.UPDATE_PERIOD_S = 0.0
run({str(scenario)!r}, {str(tmp_path / "out")!r}, overrides=["run.flows=500"])
bars = [text for text in shown if "<progress" in text]
assert bars and "waiting" in bars[0] and "<table>" in bars[0], shown
assert "<progress" not in shown[-1]
"""
    cell = nbformat.v4.new_code_cell(code)  # type: ignore[no-untyped-call]
    NotebookClient(nbformat.v4.new_notebook(cells=[cell]), timeout=120).execute()  # type: ignore[no-untyped-call]


def test_an_unfinished_folder_has_a_representation(tmp_path: Path, out: Path) -> None:
    results = packetloom.Results(out)
    assert "8 of 8 cases finished" in results._repr_html_()
    for file in tmp_path.glob("out/*.parquet/*"):
        file.unlink()
    assert results._repr_html_() == f"<p>Results(&#39;{tmp_path}/out&#39;, 0 of 8 cases finished)</p>"


def test_a_scheme_written_in_a_cell_runs_and_is_changed(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("numba")
    cells = executed("own-scheme", tmp_path_factory, flows=200)
    (windows,) = shown(cells[1], "text/plain")
    *slow_start, marked, grown, lost = (float(window) for window in windows.strip("[]").split(", "))
    assert slow_start == [20.0, 40.0]
    assert marked == 20.0
    assert lost == int(grown) / 2
    assert "9 cases; results in" in shown(cells[2], "text/html")[0]
    assert len(shown(cells[3], "image/png")) == 1
    progress, table = shown(cells[5], "text/html")
    assert "12 cases, 9 known from earlier runs" in progress
    assert {"DCTCP", "Impatient"} <= set(re.findall(r"<td[^>]*>([\w. =]+)</td>", table))
