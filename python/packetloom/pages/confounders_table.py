"""The page's table of what schemes differ in beside themselves, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from packetloom.pages.html import Cell, Page
from packetloom.scenario.confounders import unequal_as_stored
from packetloom.store.results import Results


def write_footing(page: Page, several: Sequence[Results]) -> None:
    """A line for each thing, a column for each scheme; what belongs to no scheme first."""
    for one in several:
        found = sorted(unequal_as_stored(one.plan_lines()), key=lambda thing: not thing.is_foreign)
        if not found:
            continue
        page.heading("What else differs" + (f" in {one.name}" if len(several) > 1 else ""))
        schemes = list(dict.fromkeys(scheme for thing in found for scheme, _ in thing.values))
        rows: list[list[str | Cell]] = []
        for thing in found:
            has = dict(thing.values)
            rows.append(
                [thing.what, *(has.get(scheme, "–") for scheme in schemes), "no" if thing.is_foreign else "yes"]
            )
        page.table(["", *schemes, "the schemes'\nown"], rows, text_columns=len(schemes) + 2)
        page.text(
            "What is not the schemes' own may decide between them: a comparison is of the schemes alone where all have "
            "the same. `packetloom check` says what to set.",
            note=True,
        )
