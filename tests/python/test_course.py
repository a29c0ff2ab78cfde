"""The course: checkers know right answers from wrong ones, and what the notebooks say is what their runs show."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from course_solutions import CLAIMS, MISTAKES, SOLUTIONS
from packetloom.course.marks import NO_ANSWER, Mark
from packetloom.course.sliders import Picture, Sliders

COURSE = Path(__file__).parents[2] / "docs" / "course"
EXERCISES = [(notebook, cell) for notebook, cells in SOLUTIONS.items() for cell in cells]
MODULES = ("queues", "control", "scheduling", "fabrics", "rdma", "lab")
"""Of `packetloom.course`, in the notebooks' order."""
LAB = "6-lab"
"""The notebook whose pictures are stored."""
MOST_BYTES = 1_500_000


def notebook(name: str) -> Any:
    return nbformat.read(COURSE / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]


def check_line(name: str, cell: str) -> str:
    """The last line of an exercise's cell, which calls the checker."""
    (source,) = (one.source for one in notebook(name).cells if one.id == cell)
    line: str = source.splitlines()[-1]
    return line


def verdict(name: str, cell: str, answer: str) -> Mark:
    """What the checker says of an answer, without a notebook."""
    module = MODULES[int(name[0]) - 1]
    names: dict[str, Any] = {module: importlib.import_module(f"packetloom.course.{module}")}
    exec(answer, names)
    said = eval(check_line(name, cell), names)
    assert isinstance(said, Mark)
    return said


@pytest.mark.parametrize(("name", "cell"), EXERCISES)
def test_the_solution_is_right(name: str, cell: str) -> None:
    said = verdict(name, cell, SOLUTIONS[name][cell])
    assert said.right, said
    assert repr(said).startswith("Right.")


@pytest.mark.parametrize(("name", "cell"), EXERCISES)
def test_mistakes_are_noticed(name: str, cell: str) -> None:
    for mistake in MISTAKES[name][cell]:
        said = verdict(name, cell, mistake)
        assert not said.right, mistake
        assert repr(said).startswith("Not yet. ")


@pytest.mark.parametrize(("name", "cell"), EXERCISES)
def test_an_exercise_begins_without_an_answer(name: str, cell: str) -> None:
    (source,) = (one.source for one in notebook(name).cells if one.id == cell)
    answer = source[: source.rindex("\n")]
    said = verdict(name, cell, "\n".join(line for line in answer.splitlines() if "import" not in line))
    assert (said.right, said.text) == (False, NO_ANSWER)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_every_exercise_has_a_solution_and_no_output_is_stored_but_the_labs(name: str) -> None:
    cells = [cell for cell in notebook(name).cells if cell.cell_type == "code"]
    asked = [cell.id for cell in cells if "..." in cell.source and ".check_" in cell.source]
    assert asked == list(SOLUTIONS[name]) == list(MISTAKES[name])
    assert len(asked) >= 4
    assert all(cell.execution_count is None for cell in cells)
    assert all(not cell.outputs or (name == LAB and cell.id not in asked) for cell in cells)
    text = "\n".join(cell.source for cell in notebook(name).cells if cell.cell_type == "markdown")
    assert text.count("**Exercise") == len(asked)


def stored_sliders(book: Any) -> dict[str, str]:
    """The HTML of the cells that show sliders."""
    return {
        cell.id: output.data["text/html"]
        for cell in book.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    }


def test_the_lab_has_its_pictures_stored_and_needs_nothing_from_elsewhere() -> None:
    assert (COURSE / f"{LAB}.ipynb").stat().st_size < MOST_BYTES
    sliders = stored_sliders(notebook(LAB))
    assert list(sliders) == ["incast", "buffers", "ecn", "balancing"]
    for html in sliders.values():
        assert not re.search(r"\b(src|href|import|fetch|url)\b|https?:", html)
        pictures, sentences = (re.findall(rf"<{tag} data-at=.([\d-]+)", html) for tag in ("g", "p"))
        assert pictures == sentences
        assert len(pictures) == len(set(pictures)) >= 18


def test_sliders_want_a_picture_for_each_of_their_places() -> None:
    some = {("a", 1): Picture({"one": [(0.0, 1.0), (3.0, 4.0)]}, "first"), ("a", 2): Picture({}, "second & last")}
    shown = Sliders({"letter": ["a"], "number": [1, 2]}, some, x="time", y="size").html()
    assert "second &amp; last" in shown
    assert shown.count("display:none") == 2, "the other picture and its sentence"
    with pytest.raises(ValueError, match=r"no picture, for \('b', 1\)"):
        Sliders({"letter": ["a", "b"], "number": [1, 2]}, some, x="time", y="size")


def test_every_checker_is_used() -> None:
    used = "\n".join(path.read_text() for path in COURSE.glob("*.ipynb"))
    for module in MODULES:
        checkers = [
            name for name in dir(importlib.import_module(f"packetloom.course.{module}")) if name.startswith("check_")
        ]
        assert [name for name in checkers if f"{module}.{name}(" not in used] == []


def test_an_error_in_an_answer_is_told() -> None:
    said = verdict("1-queues", "waiting", "def waiting(load, mean, second_moment): return 1 / 0")
    assert repr(said) == "Not yet. waiting(0.5, 12, 144) raised ZeroDivisionError: division by zero"
    said = verdict("1-queues", "waiting", "def waiting(load, mean, second_moment): return 'three'")
    assert "gives 'three', which is not a number" in repr(said)


@pytest.mark.slow
def test_pytest_checks_a_students_answers(tmp_path: Path) -> None:
    book = (COURSE / "5-rdma.ipynb").read_text()
    book = book.replace("innocent_gbps = ...", "innocent_gbps = 25").replace(
        "rate_after_three = ...", "rate_after_three = 80"
    )
    (tmp_path / "5-rdma.ipynb").write_text(book)
    (tmp_path / "test_answers.py").write_text((COURSE / "test_answers.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 3 skipped" in done.stdout, done.stdout + done.stderr
    assert "Not yet. 80 is too large." in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_solved_notebook_shows_what_it_says(name: str, tmp_path: Path) -> None:
    book = notebook(name)
    for cell in book.cells:
        if cell.id in SOLUTIONS[name]:
            imports = [line for line in cell.source.splitlines() if line.startswith("from ")]
            cell.source = "\n".join([*imports, SOLUTIONS[name][cell.id], check_line(name, cell.id)])
    book.cells.append(nbformat.v4.new_code_cell(CLAIMS[name]))  # type: ignore[no-untyped-call]
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    if name == LAB:
        assert stored_sliders(book) == stored_sliders(notebook(LAB))
    for cell in book.cells:
        if cell.id in SOLUTIONS[name]:
            assert next(output.data["text/plain"] for output in cell.outputs).startswith("Right."), cell.source
    errors = [output for cell in book.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"]
    assert not errors, json.dumps(errors)
