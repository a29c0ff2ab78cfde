"""A page in one file: styles, scripts and figures inside, nothing fetched from elsewhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from packetloom.common.files import write_text
from packetloom.errors import PacketloomError
from packetloom.report.sentences import Name, Number, Row, Sentence

SCRIPTS = ("draw.js", "charts.js", "fabric.js", "ranks.js", "report.js")


@dataclass(frozen=True, slots=True)
class Cell:
    """A table's cell that is the best of its column, or not."""

    text: str
    is_best: bool = False


class Page:
    """A page to which headings, text, tables and figures are added from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str | _Told] = []
        self._charts: list[dict[str, Any]] = []
        self._data: dict[str, Any] = {}
        self._contents: list[tuple[str, str, int]] = []
        self._places: dict[Row, str] = {}

    def heading(self, text: str, level: int = 2, name: str = "") -> None:
        """A section's heading, which the contents list has too. Level 3: within the section before it."""
        place = self._new_place(name or text)
        self._contents.append((place, text, level))
        self._parts.append(f'<h{level} id="{place}">{html.escape(text)}</h{level}>')

    def text(self, text: str, *, note: bool = False) -> None:
        """A paragraph; a note is set small."""
        self._parts.append(f'<p class="note">{html.escape(text)}</p>' if note else f"<p>{html.escape(text)}</p>")

    def list(self, lines: Iterable[str]) -> None:
        """A bulleted list."""
        items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
        if items:
            self._parts.append(f"<ul>{items}</ul>")

    def sentence(self, sentence: Sentence) -> None:
        """A sentence of what came out; its numbers lead to their tables, which may come later."""
        self._parts.append(_Told(sentence))

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
        style = ' class="prose"' if prose else ""
        kinds = ["text" if place < text_columns else "number" for place in range(len(header))]
        head = "".join(f'<th class="{kind}">{html.escape(cell)}</th>' for kind, cell in zip(kinds, header, strict=True))
        lines = []
        for place, row in enumerate(rows):
            own = ""
            if holds and (held := holds[place]):
                self._places[held] = f"row-{len(self._places)}"
                own = f' id="{self._places[held]}"'
            lines.append(f"<tr{own}>{_cells(row, kinds)}</tr>")
        self._parts.append(
            f'<div class="wide" tabindex="0"><table{style}><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div>"
        )

    def folded(self, summary: str, text: str) -> None:
        """Preformatted text that opens on a click."""
        with self.fold(summary):
            self._parts.append(f"<pre>{html.escape(text)}</pre>")

    @contextmanager
    def fold(self, summary: str) -> Iterator[None]:
        """What is added meanwhile opens on a click."""
        self._parts.append(f"<details><summary>{html.escape(summary)}</summary>")
        yield
        self._parts.append("</details>")

    def chart(self, chart: dict[str, Any], *, heading: str = "", note: str = "") -> None:
        """A figure: its panels, or its series with what can be chosen among them, as `charts` writes them."""
        self._parts.append(f'<section data-chart="{len(self._charts)}">')
        if heading:
            self.heading(heading, 3, str(chart["name"]))
        if note:
            self.text(note, note=True)
        self._parts.append("</section>")
        self._charts.append(chart)

    @property
    def charts(self) -> Sequence[dict[str, Any]]:
        """The figures so far."""
        return self._charts

    def place(self, name: str, kind: str) -> None:
        """Where a script puts something of its own."""
        self._parts.append(f'<section id="{name}" class="{kind}"></section>')

    @contextmanager
    def group(self, kind: str) -> Iterator[None]:
        """What is added meanwhile belongs together."""
        self._parts.append(f'<div class="{kind}">')
        yield
        self._parts.append("</div>")

    def put_first(self, other: Page) -> None:
        """Puts another page's headings, text and tables before all else."""
        self._parts[:0] = other._parts
        self._contents[:0] = other._contents

    def give(self, **data: Any) -> None:
        """Data for the page's scripts."""
        self._data |= data

    def render(self) -> str:
        """The page's text."""
        assets = resources.files("packetloom.report").joinpath("assets")
        template, style, *scripts = (
            assets.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)
        )
        # "<" could end the script's element
        data = json.dumps({**self._data, "charts": self._charts}, allow_nan=False).replace("<", "\\u003c")
        return Template(template).substitute(
            title=html.escape(self._title),
            style=style,
            contents=self._contents_list(),
            body="\n".join(part.html(self._places) if isinstance(part, _Told) else part for part in self._parts),
            data=data,
            script="\n".join(scripts),
        )

    def write(self, output: Path) -> None:
        """Writes the page, whole or not at all."""
        try:
            write_text(output, self.render())
        except OSError as error:
            raise PacketloomError(f"{output}: cannot write the page: {error.strerror}") from None

    def _new_place(self, text: str) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
        taken = sum(place == slug or place.startswith(f"{slug}--") for place, _, _ in self._contents)
        return f"{slug}--{taken}" if taken else slug

    def _contents_list(self) -> str:
        lines = [
            f'<li class="level-{level}"><a href="#{place}">{html.escape(text)}</a></li>'
            for place, text, level in self._contents
        ]
        return f"<ul>{''.join(lines)}</ul>" if lines else ""


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence whose numbers find their rows when the page is rendered."""

    sentence: Sentence

    def html(self, places: dict[Row, str]) -> str:
        parts = "".join(self._part(part, places) for part in self.sentence.parts)
        answers = self.sentence.answers
        return f'<p class="told {answers}" data-answer="{answers}">{parts}</p>'

    @staticmethod
    def _part(part: str | Number | Name, places: dict[Row, str]) -> str:
        if isinstance(part, str):
            return html.escape(part)
        text = html.escape(part.text)
        if isinstance(part, Name):
            return f"<b>{text}</b>"
        kind = "number interval" if part.is_interval else "number"
        return f'<a class="{kind}" href="#{places[part.row]}">{text}</a>' if part.row in places else text


def _cells(row: Sequence[str | Cell], kinds: Sequence[str]) -> str:
    cells = [(kind, cell if isinstance(cell, Cell) else Cell(cell)) for kind, cell in zip(kinds, row, strict=True)]
    return "".join(
        f'<td class="{kind}{" best" if cell.is_best else ""}">{html.escape(cell.text)}</td>' for kind, cell in cells
    )
