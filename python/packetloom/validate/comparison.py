"""What is compared with what, the run, and the table of what holds."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from packetloom.campaign import run_plan
from packetloom.progress import reporter_for
from packetloom.results import MARKER, Results
from packetloom.scenario import ScenarioSource, read_plan
from packetloom.storage import write_json

FOLDER = Path("results") / "validate"

Span = tuple[float, float]
Verdict = Literal["holds", "differs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure that somebody else says (`expected`, a number or from where to where), and what we measure.

    It holds if the measured value lies in the `band`; `rule` says in words how the band was made. `why` says what is
    known of why it does not hold.
    """

    id: str
    what: str
    source: str
    expected: Span
    measured: float
    interval: Span | None = None
    band: Span
    rule: str
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether the measured value lies in the band."""
        return "holds" if self.band[0] <= self.measured <= self.band[1] else "differs"

    @property
    def accounted_for(self) -> bool:
        """Whether it holds, or it is known why not."""
        return self.verdict == "holds" or bool(self.why)

    def to_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        low, high = self.expected
        return {
            "id": self.id,
            "what": self.what,
            "source": self.source,
            "expected": low if low == high else [low, high],
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "rule": self.rule,
            "verdict": self.verdict,
            **({"reason": self.why} if self.verdict == "differs" and self.why else {}),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scenarios to run, by name, and the rows that come of their results.

    `scenarios` gets a folder for files that scenarios need. A `quick` one takes seconds.
    """

    name: str
    scenarios: Callable[[Path], Mapping[str, ScenarioSource]]
    rows: Callable[[Mapping[str, Results]], Sequence[Row]]
    quick: bool = field(default=False, kw_only=True)


def run_comparisons(chosen: Sequence[Comparison], workers: int | None = None, folder: Path = FOLDER) -> list[Row]:
    """Runs every comparison."""
    rows: list[Row] = []
    for comparison in chosen:
        place = folder / comparison.name
        scenarios = comparison.scenarios(place)
        results = {name: _run_anew(scenario, place / name, workers) for name, scenario in scenarios.items()}
        rows += comparison.rows(results)
    return rows


def print_rows(title: str, theirs: str, rows: Sequence[Row]) -> None:
    """The table in the terminal; `theirs` says what `expected` is."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(title=title, title_justify="left", header_style="bold", show_lines=True)
    for heading in ("what", theirs, "measured", "interval", "holds if", "holds?"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        cells = [f"{row.what}\n{row.source}", span_text(row.expected), f"{row.measured:.4g}"]
        cells += ["" if row.interval is None else span_text(row.interval), row.rule]
        mark = "[green]holds[/]" if row.verdict == "holds" else "[red]differs[/]"
        table.add_row(*(cell.replace("[", "\\[") for cell in cells), mark)
    console.print(table)
    console.print(f"{sum(row.verdict == 'holds' for row in rows)} of {len(rows)} hold")
    for row in rows:
        if row.verdict == "differs":
            console.print(f"{row.id}: {row.why or 'differs, and it is not known why'}", markup=False)


def span_text(span: Span) -> str:
    """A number, or from where to where."""
    low, high = span
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """The rows as a JSON list."""
    write_json(path, [row.to_dict() for row in rows], "the comparisons")


def _run_anew(scenario: ScenarioSource, folder: Path, workers: int | None) -> Results:
    """What an earlier build computed proves nothing about this one."""
    if (folder / MARKER).exists():
        shutil.rmtree(folder)
    return run_plan(read_plan(scenario), folder, workers, reporter_for(sys.stderr))
