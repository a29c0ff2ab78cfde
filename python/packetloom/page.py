"""A page in one file: styles, scripts and figures inside, nothing fetched from elsewhere."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.storage import write_text

SCRIPTS = ("charts.js", "fabric.js", "report.js")


class Page:
    """A page to which headings, text, tables and figures are added from top to bottom."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._charts: list[dict[str, Any]] = []
        self._data: dict[str, Any] = {}

    def heading(self, text: str) -> None:
        """A section's heading."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str, *, note: bool = False) -> None:
        """A paragraph; a note is set small."""
        self._parts.append(f'<p class="note">{html.escape(text)}</p>' if note else f"<p>{html.escape(text)}</p>")

    def list(self, lines: Iterable[str]) -> None:
        """A bulleted list."""
        items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
        if items:
            self._parts.append(f"<ul>{items}</ul>")

    def table(
        self, header: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1, prose: bool = False
    ) -> None:
        """A table; all but the first columns are set as numbers. Prose breaks lines where others widen the page."""
        style = ' class="prose"' if prose else ""
        kinds = ["text" if place < text_columns else "number" for place in range(len(header))]
        head = "".join(f'<th class="{kind}">{html.escape(cell)}</th>' for kind, cell in zip(kinds, header, strict=True))
        body = "".join(f"<tr>{self._cells(row, kinds)}</tr>" for row in rows)
        self._parts.append(
            f'<div class="wide" tabindex="0"><table{style}><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )

    @staticmethod
    def _cells(row: Sequence[str], kinds: Sequence[str]) -> str:
        cells = zip(kinds, row, strict=True)
        return "".join(f'<td class="{kind}">{html.escape(cell)}</td>' for kind, cell in cells)

    def folded(self, summary: str, text: str) -> None:
        """Preformatted text that opens on a click."""
        self._parts.append(
            f"<details><summary>{html.escape(summary)}</summary><pre>{html.escape(text)}</pre></details>"
        )

    def chart(self, chart: dict[str, Any]) -> None:
        """A figure: its panels, or its series with what can be chosen among them, as `charts` writes them."""
        self._parts.append(f'<section data-chart="{len(self._charts)}"></section>')
        self._charts.append(chart)

    def place(self, name: str, kind: str) -> None:
        """Where a script puts something of its own."""
        self._parts.append(f'<section id="{name}" class="{kind}"></section>')

    @contextmanager
    def group(self) -> Iterator[None]:
        """What is added meanwhile belongs together: what sticks to the top of the window does so beside it only."""
        self._parts.append("<div>")
        yield
        self._parts.append("</div>")

    def put_first(self, other: Page) -> None:
        """Puts another page's headings, text and tables before all else."""
        self._parts[:0] = other._parts

    def give(self, **data: Any) -> None:
        """Data for the page's scripts."""
        self._data |= data

    def render(self) -> str:
        """The page's text."""
        from plotly.offline import get_plotlyjs

        assets = resources.files("packetloom").joinpath("assets")
        template, style, *scripts = (
            assets.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)
        )
        # "<" could end the script's element
        data = json.dumps({**self._data, "charts": self._charts}, allow_nan=False).replace("<", "\\u003c")
        return Template(template).substitute(
            title=html.escape(self._title),
            style=style,
            body="\n".join(self._parts),
            data=data,
            plotly=get_plotlyjs(),
            script="\n".join(scripts),
        )

    def write(self, output: Path) -> None:
        """Writes the page, whole or not at all."""
        try:
            write_text(output, self.render())
        except OSError as error:
            raise PacketloomError(f"{output}: cannot write the page: {error.strerror}") from None
