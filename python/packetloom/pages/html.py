"""A page in one file: styles, scripts and figures inside, nothing fetched from elsewhere.

`Page` collects parts as they are said; `templates/page.html` makes a page of them, `templates/parts.html` has the HTML
of each kind of part and escapes what it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from packetloom.common.files import write_text
from packetloom.common.templates import render
from packetloom.errors import PacketloomError
from packetloom.pages.sentences import Name, Number, Row, Sentence

SCRIPTS = ("draw.js", "charts.js", "fabric.js", "ranks.js", "report.js")

Part = Mapping[str, Any]
"""Its `kind`, which is a macro of `templates/parts.html`, and what that wants."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell that is the best of its column, or not."""

    text: str
    is_best: bool = False


class Page:
    """A page to which headings, text, tables and figures are added from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[Part | Sentence] = []
        self._charts: list[dict[str, Any]] = []
        self._data: dict[str, Any] = {}
        self._contents: list[Part] = []
        self._places: dict[Row, str] = {}

    def heading(self, text: str, level: int = 2, name: str = "") -> None:
        """A section's heading, which the contents list has too. Level 3: within the section before it."""
        heading = {"kind": "heading", "place": self._new_place(name or text), "text": text, "level": level}
        self._contents.append(heading)
        self._parts.append(heading)

    def text(self, text: str, *, note: bool = False) -> None:
        """A paragraph; a note is set small."""
        self._add("text", text=text, note=note)

    def list(self, lines: Iterable[str]) -> None:
        """A bulleted list."""
        if items := [*lines]:
            self._add("list", lines=items)

    def sentence(self, sentence: Sentence) -> None:
        """A sentence of what came out; its numbers lead to their tables, which may come later."""
        self._parts.append(sentence)

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[str | Cell]],
        *,
        text_columns: int = 1,
        prose: bool = False,
        holds: Sequence[Row | None] = (),
    ) -> None:
        """A table; all but the first columns are set as numbers. Prose breaks lines where others widen the page.

        `holds` says of each row which number of a sentence it has, if any.
        """
        kinds = ["text" if place < text_columns else "number" for place in range(len(header))]
        lines = []
        for nth, row in enumerate(rows):
            place = ""
            if holds and (held := holds[nth]):
                self._places[held] = place = f"row-{len(self._places)}"
            lines.append({"place": place, "cells": _cells(row, kinds)})
        self._add("table", head=_cells(header, kinds), rows=lines, prose=prose)

    def folded(self, summary: str, text: str) -> None:
        """Preformatted text that opens on a click."""
        with self.fold(summary):
            self._add("preformatted", text=text)

    @contextmanager
    def fold(self, summary: str) -> Iterator[None]:
        """What is added meanwhile opens on a click."""
        self._add("fold", summary=summary)
        yield
        self._add("end_of_fold")

    def chart(self, chart: dict[str, Any], *, heading: str = "", note: str = "") -> None:
        """A figure: its panels, or its series with what can be chosen among them, as `charts` writes them."""
        self._add("chart", number=len(self._charts))
        if heading:
            self.heading(heading, 3, str(chart["name"]))
        if note:
            self.text(note, note=True)
        self._add("end_of_chart")
        self._charts.append(chart)

    @property
    def charts(self) -> Sequence[dict[str, Any]]:
        """The figures so far."""
        return self._charts

    def place(self, name: str, kind: str) -> None:
        """Where a script puts something of its own."""
        self._add("place", name=name, of=kind)

    @contextmanager
    def group(self, kind: str) -> Iterator[None]:
        """What is added meanwhile belongs together."""
        self._add("group", of=kind)
        yield
        self._add("end_of_group")

    def put_first(self, other: Page) -> None:
        """Puts another page's headings, text and tables before all else."""
        self._parts[:0] = other._parts
        self._contents[:0] = other._contents

    def give(self, **data: Any) -> None:
        """Data for the page's scripts."""
        self._data |= data

    def render(self) -> str:
        """The page's text."""
        from markupsafe import Markup

        assets = resources.files("packetloom.pages").joinpath("assets")
        # Our own files, which are no text to be escaped.
        style, *scripts = (Markup(assets.joinpath(name).read_text(encoding="utf-8")) for name in ("page.css", *SCRIPTS))
        return render(
            "pages",
            "page.html",
            title=self._title,
            style=style,
            contents=self._contents,
            body=[_told(part, self._places) if isinstance(part, Sentence) else part for part in self._parts],
            data={**self._data, "charts": self._charts},
            script=Markup("\n").join(scripts),
        )

    def write(self, output: Path) -> None:
        """Writes the page, whole or not at all."""
        try:
            write_text(output, self.render())
        except OSError as error:
            raise PacketloomError(f"{output}: cannot write the page: {error.strerror}") from None

    def _add(self, kind: str, **given: Any) -> None:
        self._parts.append({"kind": kind, **given})

    def _new_place(self, text: str) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
        taken = sum(one["place"] == slug or one["place"].startswith(f"{slug}--") for one in self._contents)
        return f"{slug}--{taken}" if taken else slug


def _told(sentence: Sentence, places: Mapping[Row, str]) -> Part:
    """A sentence whose numbers have found their rows."""
    words = [_word(part, places) for part in sentence.parts]
    return {"kind": "sentence", "answers": sentence.answers, "words": words}


def _word(part: str | Number | Name, places: Mapping[Row, str]) -> Part:
    if isinstance(part, str):
        return {"kind": "text", "text": part, "place": ""}
    if isinstance(part, Name):
        return {"kind": "name", "text": part.text, "place": ""}
    kind = "number interval" if part.is_interval else "number"
    return {"kind": kind, "text": part.text, "place": places.get(part.row, "")}


def _cells(row: Sequence[str | Cell], kinds: Sequence[str]) -> list[Part]:
    cells = [(kind, cell if isinstance(cell, Cell) else Cell(cell)) for kind, cell in zip(kinds, row, strict=True)]
    return [{"kind": f"{kind} best" if cell.is_best else kind, "text": cell.text} for kind, cell in cells]
