"""`pytest docs/course` checks the answers in these notebooks: an exercise without one is skipped.

`pytest docs/course -k rdma` checks one notebook.
"""

import functools
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from packetloom.course.marks import NO_ANSWER

HERE = Path(__file__).parent
BOOKS = {path.stem: nbformat.read(path, as_version=4) for path in sorted(HERE.glob("*.ipynb"))}
EXERCISES = [(book, cell.id) for book, content in BOOKS.items() for cell in content.cells if ".check_" in cell.source]


@functools.cache
def verdicts(book: str) -> dict[str, str]:
    """What the checkers say, by cell, when the notebook is run as it is."""
    content = BOOKS[book]
    NotebookClient(content, timeout=600, allow_errors=True, resources={"metadata": {"path": str(HERE)}}).execute()
    return {cell.id: "\n".join(map(said, cell.outputs)) for cell in content.cells if ".check_" in cell.source}


def said(output: nbformat.NotebookNode) -> str:
    """The text of a cell's output, or of the error that its answer raised."""
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.get("data", {}).get("text/plain", ""))


@pytest.mark.parametrize(("book", "exercise"), EXERCISES)
def test_answer(book: str, exercise: str) -> None:
    text = verdicts(book)[exercise]
    if text == NO_ANSWER:
        pytest.skip("not answered yet")
    assert text.startswith("Right."), text
