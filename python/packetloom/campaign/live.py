"""The live view on a terminal: how far the campaign is, what runs, and the table as it fills in."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from packetloom.campaign.interim_table import table_of
from packetloom.campaign.progress import Snapshot, outcome_text
from packetloom.common import terminal
from packetloom.store.case_rows import CaseRow, row_label

FEWEST_LINES = 6
FRAME_LINES = 9
"""The lines around the table and the running cases: the bar, headings, empty lines."""


class TerminalReporter:
    """A live view that goes away when the campaign ends."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or terminal.console(stderr=True)
        self._live = Live(console=self._console, transient=True, auto_refresh=False)

    def start(self, opening: str, total: int) -> None:
        self._console.print(opening)
        self._live.start()

    def update(self, snapshot: Snapshot) -> None:
        self._live.update(View(snapshot), refresh=True)

    def finished(self, row: CaseRow) -> None:
        if row.warnings:
            self._console.print(f"{row_label(row.parameters)}: {outcome_text(row)}")

    def close(self, notes: Sequence[str]) -> None:
        self._live.stop()
        for note in notes:
            self._console.print(note)


class View:
    """A snapshot, made to fit the terminal."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = max(FEWEST_LINES, (options.max_height or console.height) - FRAME_LINES)
        yield Group(self._bar(), self._running(lines // 3), "", self._table(lines - lines // 3))

    def _bar(self) -> Table:
        snapshot = self._snapshot
        line = Table.grid(padding=(0, 1))
        line.add_row(ProgressBar(total=max(1, snapshot.total), completed=snapshot.done, width=24), snapshot.text)
        return line

    def _running(self, most: int) -> Table:
        lines = Table.grid(padding=(0, 1))
        running = self._snapshot.running
        for one in running[:most]:
            lines.add_row(ProgressBar(total=1.0, completed=one.fraction, width=24), one.text)
        if len(running) > most:
            lines.add_row("", f"and {len(running) - most} more", style="dim")
        return lines

    def _table(self, most: int) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        shown = self._snapshot.standings.lines(self._snapshot.seeds_asked, most)
        header, texts = table_of(shown)
        for place, heading in enumerate(header):
            table.add_column(heading, justify="right" if place else "left")
        for (line, _), cells in zip(shown, texts, strict=True):
            table.add_row(*cells, style=None if line.seeds else "dim")
        return table
