"""What a Jupyter notebook shows: a progress bar with the table filling in, and results as tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from packetloom.campaign.interim_table import table_of
from packetloom.campaign.progress import Snapshot, outcome_text
from packetloom.common.templates import render_macro
from packetloom.store.case_rows import CaseRow, row_label

if TYPE_CHECKING:
    from IPython.core.display_functions import DisplayHandle

    from packetloom.store.results import Results

UPDATE_PERIOD_S = 0.5
MOST_LINES = 30
MOST_SENTENCES = 4
NUMBERS = "text-align: right"
WORDS = "text-align: left"


class NotebookReporter:
    """A bar below the cell that runs the campaign. It stays, as a record of what was run."""

    def __init__(self) -> None:
        self._opening = ""
        self._warnings: list[str] = []
        self._handle: DisplayHandle | None = None
        self._shown_at = 0.0

    def start(self, opening: str, total: int) -> None:
        from IPython.display import HTML, display

        self._opening = opening
        self._handle = display(HTML(self._html(None)), display_id=True)

    def update(self, snapshot: Snapshot) -> None:
        if time.monotonic() - self._shown_at >= UPDATE_PERIOD_S:
            self._shown_at = time.monotonic()
            self._show(self._html(snapshot))

    def finished(self, row: CaseRow) -> None:
        if row.warnings:
            self._warnings.append(f"{row_label(row.parameters)}: {outcome_text(row)}")

    def close(self, notes: Sequence[str]) -> None:
        self._show("".join(paragraph(line) for line in [self._opening, *self._warnings, *notes]))

    def _show(self, text: str) -> None:
        from IPython.display import HTML

        if self._handle:
            self._handle.update(HTML(text))

    def _html(self, snapshot: Snapshot | None) -> str:
        parts = [paragraph(line) for line in [self._opening, *self._warnings]]
        if snapshot:
            parts.append(_shown("progress", snapshot.total, f"{snapshot.done:.2f}", snapshot.text))
            lines = snapshot.standings.lines(snapshot.seeds_asked, MOST_LINES)
            parts.append(table(*table_of(lines)))
        return "".join(parts)


def results_html(results: Results) -> str:
    """A results folder as a notebook shows it: the terminal's tables, and below them what they come to."""
    from packetloom.pages import requests
    from packetloom.pages.sentences import told_briefly
    from packetloom.pages.waits.speeds import has_only_jobs, notes_of, speeds, table_of
    from packetloom.stats.serving import serving

    text = paragraph(repr(results))
    if not results.rows():
        return text
    jobs = speeds(results)
    if jobs:
        text += table(*table_of(jobs)) + "".join(map(paragraph, notes_of(jobs)))
    if not (served := serving(results)).is_empty():
        text += table(*requests.table_of(served)) + paragraph(requests.NOTE)
    elif not jobs or not has_only_jobs([results]):
        text += _slowdowns(results)
    told = "".join(_shown("told", line) for line in told_briefly(results)[:MOST_SENTENCES])
    return text + told + "".join(map(paragraph, filter(None, [results.build_note()])))


def _slowdowns(results: Results) -> str:
    from packetloom.pages.results_table import marks, results_columns, results_lines
    from packetloom.stats.summary import summary

    statistics = summary(results)
    columns = results_columns(statistics)
    header = ["load", "scheme", *(column.heading.replace("\n", " ").strip() for column in columns)]
    lines = results_lines(statistics, columns)
    rows = [["" if line.load is None else f"{line.load:g}", line.label, *line.cells] for line in lines]
    note = "slowdown = completion time / that of the flow alone on an empty network; ± 95 % confidence over seeds"
    if said := marks(lines):
        note += f"; {said}"
    return table(header, rows, text_columns=2) + paragraph(note)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> str:
    """An HTML table; all but the first columns are set as numbers."""
    styles = [WORDS if place < text_columns else NUMBERS for place in range(len(header))]
    return _shown("table", styles, header, list(rows))


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return _shown("paragraph", text)


def _shown(macro: str, *given: object) -> str:
    """What a macro of `templates/notebook.html` makes of it, which escapes text."""
    return render_macro("pages", "notebook.html", macro, *given)
