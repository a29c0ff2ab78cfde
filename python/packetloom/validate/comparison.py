"""What is compared with what, the run, and the table of what holds."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packetloom.campaign.progress import reporter_for
from packetloom.campaign.runner import run_plan
from packetloom.common.files import write_json
from packetloom.scenario.plan import ScenarioSource, read_plan
from packetloom.stats.verdict import COLOURS, Verdict, lies_in
from packetloom.store.case_rows import MARKER
from packetloom.store.results import Results
from packetloom.validate.draws import LEVEL, Draws, Span

FOLDER = Path("results") / "validate"

VERDICTS: tuple[Verdict, ...] = ("holds", "differs as known", "undecided", "differs")
"""Those that a row can have."""


@dataclass(frozen=True, slots=True)
class Known:
    """Why a row is known to differ, and the `band` that it lies in then; `rule` says in words how that was made.

    What is known `always` differs; where it is not, as on another machine's kernel, the row may hold as well.
    """

    reason: str
    band: Span
    rule: str
    always: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure that somebody else says (`expected`, a number or from where to where), and what we measure.

    It holds if the measured value lies in the `band`; `rule` says in words how the band was made. Where it is `known`
    to differ, it lies in another band, or something has changed. `why` is what can be said of a row that nothing is
    known of, and excuses nothing.

    Where chance decides, `draws` has both sides' runs: the row holds if all that the difference may be lies in the
    band, differs if none of it does or the two are not of one distribution, and is undecided otherwise.
    """

    id: str
    what: str
    source: str
    expected: Span
    measured: float
    interval: Span | None = None
    band: Span
    rule: str
    known: Known | None = None
    why: str = ""
    draws: Draws | None = None
    schemes: tuple[str, ...] = ()
    """What it is about, by the names that scenarios have: "transport ndp"."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else JSON has of it."""

    @property
    def verdict(self) -> Verdict:
        """Whether the measured value lies in the band, or in the one of what is known."""
        outcome = self._by_value() if self.draws is None else self._by_draws(self.draws)
        if outcome == "differs" and self.known and lies_in(self.known.band, self.measured):
            return "differs as known"
        return outcome

    def _by_value(self) -> Verdict:
        return "holds" if lies_in(self.band, self.measured) else "differs"

    def _by_draws(self, draws: Draws) -> Verdict:
        low, high = draws.reach
        if not math.isfinite(self.measured) or high < self.band[0] or low > self.band[1]:
            return "differs"
        if self.band[0] <= low and high <= self.band[1]:
            return "holds"
        return "differs" if draws.p < LEVEL else "undecided"

    @property
    def known_no_longer(self) -> bool:
        """Whether it holds, against what is known: that can be deleted then."""
        return self.known is not None and self.known.always and self.verdict == "holds"

    @property
    def reason(self) -> str:
        """What is known or can be said of why it does not hold."""
        if self.draws and self.verdict == "undecided":
            return f"{self.draws.text()}: the difference may lie within the bound or beyond it"
        if self.known and self.verdict == "differs":
            return f"beyond {span_text(self.known.band)}, which would be known: {self.known.reason}"
        return self.known.reason if self.known else self.why

    def to_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        low, high = self.expected
        return {
            "id": self.id,
            "what": self.what,
            "source": self.source,
            **({"schemes": list(self.schemes)} if self.schemes else {}),
            "expected": low if low == high else [low, high],
            "measured": self.measured,
            "interval": None if self.interval is None else list(self.interval),
            "band": list(self.band),
            "rule": self.rule,
            "verdict": self.verdict,
            **({"draws": {"theirs": len(self.draws.theirs), "ours": len(self.draws.ours)}} if self.draws else {}),
            **({"known": {"band": list(self.known.band), "rule": self.known.rule}} if self.known else {}),
            **({"reason": self.reason} if self.verdict != "holds" and self.reason else {}),
            **self.more,
        }


@dataclass(frozen=True, slots=True)
class Check:
    """Scenarios to run, by name, and the rows that come of their results.

    `scenarios` gets a folder for files that scenarios need. A `quick` one takes seconds.
    """

    name: str
    scenarios: Callable[[Path], Mapping[str, ScenarioSource]]
    rows: Callable[[Mapping[str, Results]], Sequence[Row]]
    quick: bool = field(default=False, kw_only=True)


def run_comparisons(chosen: Sequence[Check], workers: int | None = None, folder: Path = FOLDER) -> list[Row]:
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
    from rich.table import Table
    from rich.text import Text

    from packetloom.common.terminal import console

    screen = console()
    table = Table(title=title, title_justify="left", header_style="bold", show_lines=True)
    for heading in ("what", theirs, "measured", "interval", "holds if", "holds?"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        cells = [f"{row.what}\n{row.source}", span_text(row.expected), f"{row.measured:.4g}"]
        known = f"; known: {span_text(row.known.band)} ({row.known.rule})" if row.known else ""
        cells += ["" if row.interval is None else span_text(row.interval), row.rule + known]
        table.add_row(*cells, Text(row.verdict, style=COLOURS[row.verdict]))
    screen.print(table)
    counts = Counter(row.verdict for row in rows)
    counted = [f"{counts['holds']} of {len(rows)} hold"]
    counted += [f"{counts[verdict]} {_plural(verdict, counts[verdict])}" for verdict in VERDICTS[1:] if counts[verdict]]
    screen.print(", ".join(counted))
    differing = [row for row in rows if row.verdict != "holds"]
    for reason in dict.fromkeys(row.reason for row in differing):
        ids = ", ".join(row.id for row in differing if row.reason == reason)
        screen.print(f"{ids}: {reason or 'differs, and it is not known why'}")
    for row in rows:
        if row.known_no_longer:
            screen.print(f"{row.id}: holds now; what was known of it can be deleted: {row.reason}")


def _plural(verdict: Verdict, count: int) -> str:
    return verdict if count == 1 else verdict.replace("differs", "differ", 1)


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
