"""The first screen of a page as one sheet of paper: the sentences, the figure of what they say, and its numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from packetloom import _core
from packetloom.common.build import build_text, this_build
from packetloom.errors import PacketloomError
from packetloom.pages.first_screen import lead_panels, looks_of, table_lines
from packetloom.pages.measures import question_of
from packetloom.pages.panels import Panel
from packetloom.pages.plots import PRINT, draw, literal
from packetloom.pages.ranking import Answer
from packetloom.pages.sentences import sentences
from packetloom.pages.setup import setting_text
from packetloom.store.results import Results, Snapshot

A4_INCHES = (8.27, 11.69)
LETTERS = 104
LINE_INCHES = 0.165
MOST_PANELS = 6
COLUMNS = 3
PANEL_INCHES = 2.3
MOST_ROWS = 24
LONGEST_CELL = 40


def write_one_page(several: Sequence[Results], output: Path) -> Path:
    """Writes the sheet; the file's ending says the format, such as .pdf."""
    several = [Snapshot(one) for one in several]
    question = question_of(several)
    if question is None:
        raise PacketloomError("nothing is finished that could be told: no flow of these results has ended")
    answer = Answer(question)
    told = [one.text for one in sentences(answer, setting_text(several, question.flows))]
    panels, _ = lead_panels(question, looks_of(question, several))
    shown = panels[-MOST_PANELS:]
    with mpl.rc_context(PRINT):
        figure = plt.figure(figsize=A4_INCHES)
        try:
            title = " and ".join(dict.fromkeys(one.name for one in several))
            top = _text(figure, title, list(_lines(told)))
            top = _panels(figure, shown, top, len(panels) - len(shown))
            _table(figure, answer, top)
            footer = f"{build_text(_core.version(), this_build().digest)}"
            figure.text(0.08, 0.03, footer, fontsize=6, color="#666666")
            figure.savefig(output, metadata={"CreationDate": None} if output.suffix.lower() == ".pdf" else None)
        except (OSError, ValueError) as error:
            raise PacketloomError(f"{output}: cannot write the sheet: {error}") from None
        finally:
            plt.close(figure)
    return output


def _lines(told: Sequence[str]) -> Iterator[str]:
    for sentence in told:
        yield from textwrap.wrap(sentence, LETTERS)
        yield ""


def _text(figure: Figure, title: str, lines: Sequence[str]) -> float:
    """The sentences from the top; gives how far down they reach, in inches from the bottom."""
    top = A4_INCHES[1] - 0.7
    figure.text(0.08, top / A4_INCHES[1], literal(title), fontsize=13, fontweight="bold", va="top")
    top -= 0.4
    for line in lines:
        figure.text(0.08, top / A4_INCHES[1], literal(line), fontsize=8.5, va="top")
        top -= LINE_INCHES if line else LINE_INCHES / 2
    return top


def _panels(figure: Figure, panels: Sequence[Panel], top: float, left_out: int) -> float:
    if not panels:
        return top
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    height = rows * PANEL_INCHES + 0.4
    part = figure.add_gridspec(
        rows,
        columns,
        left=0.16 if columns == 1 else 0.1,
        right=0.95,
        top=(top - 0.35) / A4_INCHES[1],
        bottom=(top - height + 0.25) / A4_INCHES[1],
        hspace=0.7,
        wspace=0.4,
    )
    axes = [figure.add_subplot(part[place // columns, place % columns]) for place in range(len(panels))]
    for panel, ax in zip(panels, axes, strict=True):
        draw(panel, ax)
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handles:
        place = (0.08, (top - 0.02) / A4_INCHES[1])
        figure.legend(
            handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=place, ncols=4, fontsize=7, frameon=False
        )
    if left_out:
        figure.text(0.08, (top - height + 0.02) / A4_INCHES[1], f"{left_out} more panels are on the page.", fontsize=7)
    return top - height - 0.45


def _table(figure: Figure, answer: Answer, top: float) -> None:
    header, rows = table_lines(answer, answer.question.lead)
    room = max(0, int((top - 0.6) / LINE_INCHES) - 2)
    shown = rows[: min(MOST_ROWS, room)]
    if not shown:
        return
    widths = [
        max(len(part) for text in [head, *(row[place] for row in shown)] for part in text.split("\n"))
        for place, head in enumerate(header)
    ]
    places, at = [], 0.08
    for width in widths:
        places.append(at)
        at += 0.0092 * min(width, LONGEST_CELL) + 0.02
    for place, head in zip(places, header, strict=True):
        figure.text(place, (top + 0.06) / A4_INCHES[1], head, fontsize=7, va="bottom", fontweight="bold")
    for nth, row in enumerate(shown):
        y = (top - nth * LINE_INCHES) / A4_INCHES[1]
        for place, text in zip(places, row, strict=True):
            cell = textwrap.shorten(text, LONGEST_CELL, placeholder=" ...")
            figure.text(place, y, literal(cell), fontsize=7, va="top")
    if len(shown) < len(rows):
        y = (top - len(shown) * LINE_INCHES) / A4_INCHES[1]
        figure.text(0.08, y, f"and {len(rows) - len(shown)} more lines on the page", fontsize=7, va="top")
