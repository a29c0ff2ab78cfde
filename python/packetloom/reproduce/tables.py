"""The tables of papers/*/README.md, written from the claims that are committed.

`packetloom reproduce PAPER --accept` writes a paper's. `python -m packetloom.reproduce.tables` writes all of them anew,
after the claims' texts have changed: it puts these into the verdicts' files as well.
"""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import get_args

from packetloom.common import markdown
from packetloom.common.files import write_text
from packetloom.errors import PacketloomError
from packetloom.reproduce import PAPERS, PAPERS_FOLDER, Scale, find_paper
from packetloom.reproduce.claims import tally
from packetloom.reproduce.verdicts import ClaimRow, Committed, committed_file, renew_texts

BEGIN = "<!-- claims: written by `packetloom reproduce --accept`; what stands between these lines is replaced -->"
END = "<!-- end of claims -->"

# Up to this many numbers are listed one by one; of more, those whose names differ in a number are given as a range.
FEW = 12
# What lets a table of five columns fit a page; and what docs/style.py allows in a line.
CHARACTERS_OF_A_CELL = 120
COLUMNS_OF_A_LINE = 120
NUMBER_IN_NAME = re.compile(r"(?<![\w.:])\d+(?:\.\d+)?(?!\w|[.:]\d)")

# A number's value and its interval, as the JSON has them.
Number = tuple[float, "tuple[float, float] | None"]


def readme_of(paper: str) -> Path:
    """A paper's README in the source tree; an installed package has none."""
    return PAPERS_FOLDER.parents[2] / "papers" / paper / "README.md"


def write_readme(paper: str) -> Path:
    """Puts the table of the committed claims into the paper's README."""
    text = readme_with_table(paper)
    write_text(readme_of(paper), text)
    return readme_of(paper)


def readme_with_table(paper: str) -> str:
    """The paper's README as it should be."""
    path = readme_of(paper)
    if not path.is_file():
        raise PacketloomError(f"{path}: there is no such file: verdicts are committed in packetloom's source tree")
    by_scale = {scale: committed_file(paper, scale) for scale in get_args(Scale)}
    choices = {claim.id: claim.choices for claim in find_paper(paper).claims}
    table = claims_table({scale: one for scale, one in by_scale.items() if one is not None}, choices)
    return with_table(path.read_text(encoding="utf-8"), table, path)


def with_table(text: str, table: str, path: Path) -> str:
    """The README's text with another table between the two marks."""
    return markdown.with_part(text, f"\n{table}\n", (BEGIN, END), path, "the claims")


def claims_table(by_scale: Mapping[str, Committed], choices: Mapping[str, str] | None = None) -> str:
    """How many claims hold; each with what was measured, in Markdown; and why those differ that do.

    What we chose in a claim is no reason: it stays in the verdicts' files.
    """
    if not by_scale:
        return "No verdicts are committed."
    # What a stale file measured is of other code: its numbers stay in the file.
    shown = {scale: one for scale, one in by_scale.items() if not one.stale} or dict(by_scale)
    found = {scale: {row["id"]: row for row in one.claims} for scale, one in by_scale.items()}
    largest = list(shown)[-1]
    header = ["", "Claim", "Paper", f"Measured, {largest}", "Verdict"]
    lines = [_line(header), "|" + "---|" * len(header)]
    reasons: list[tuple[str, str]] = []
    for id, row in found[largest].items():
        here = {scale: rows[id] for scale, rows in found.items() if id in rows}
        lines.append(_line([id, row["claim"], row["paper"], numbers_text(row), verdict_text(here, largest)]))
        if reason := reason_text({scale: here[scale] for scale in shown if scale in here}):
            reasons.append((id, reason.removesuffix((choices or {}).get(id, "")).rstrip()))
    items = reason_lines(reasons)
    return "\n".join([*tally_lines(by_scale, shown), "", *lines, *(["", *items] if items else [])])


def tally_lines(by_scale: Mapping[str, Committed], shown: Mapping[str, Committed]) -> list[str]:
    """How many claims hold at each scale, what is stale, and where all numbers are."""
    counts = [
        f"At `--scale {scale}` {tally([row['verdict'] for row in one.claims])} ({'stale' if one.stale else one.date})."
        for scale, one in by_scale.items()
    ]
    stale = [f"**`{scale}` is stale.** {one.stale}" for scale, one in by_scale.items() if one.stale]
    files = " and ".join(f"`verdicts/{scale}.json`" for scale in shown)
    text = [
        *counts,
        *stale,
        "Numbers are means with 95 % intervals over seeds, **bold** outside the band.",
        f"Bands, further numbers, and how each claim is read: {files}.",
    ]
    return _wrapped(" ".join(text))


def verdict_text(by_scale: Mapping[str, ClaimRow], shown: str) -> str:
    """The verdict at the scale whose numbers are shown, and those at others where they differ from it."""
    verdict = str(by_scale[shown]["verdict"])
    others = {scale: row["verdict"] for scale, row in by_scale.items() if row["verdict"] != verdict}
    return verdict + "".join(f" ({scale}: {of})" for scale, of in others.items())


def reason_text(by_scale: Mapping[str, ClaimRow]) -> str:
    """Why a claim does not hold at the largest scale at which it does not; empty where it holds."""
    off = [scale for scale, row in by_scale.items() if row["verdict"] != "holds" and "reason" in row]
    if not off:
        return ""
    reason = str(by_scale[off[-1]]["reason"])
    return reason if off[-1] == list(by_scale)[-1] else f"At `{off[-1]}`: {reason}"


def reason_lines(reasons: Sequence[tuple[str, str]]) -> list[str]:
    """An item of a list for each reason; one for claims in a row that have the same."""
    lines: list[str] = []
    for reason, alike in groupby(reasons, key=itemgetter(1)):
        ids = [id for id, _ in alike]
        name = ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"
        lines += _wrapped(f"- **{name}.** {reason}", "  ")
    return lines


def numbers_text(row: ClaimRow) -> str:
    """The numbers that decide: all, or ranges of them, or those outside, whichever fits a cell first."""
    # One number alone has no name; it is what the verdict says.
    outside = frozenset(row.get("outside", [""] if row["verdict"] == "differs" else []))
    numbers = _deciding(row)
    for most in (FEW, 1):
        if len(text := _joined(numbers, outside, most)) <= CHARACTERS_OF_A_CELL:
            return text
    if not outside:
        return f"all {len(numbers)} in their bands"
    count = f"{len(numbers) - len(outside)} of {len(numbers)} in their bands"
    known = {what: numbers[what] for what in numbers if what in outside}
    if "; **" in (text := _cut([count, *_joined(known, outside, FEW).split("; ")])) or ": **" in text:
        return text
    return _cut([count, *(_bold(one, outside=True) for one in _joined(known, frozenset(), 1).split("; "))])


def _cut(parts: Sequence[str]) -> str:
    """As many of the parts as fit a cell, and how many more there are."""
    for kept in range(len(parts), 0, -1):
        more = [f"and {len(parts) - kept} more"] if kept < len(parts) else []
        text = "; ".join([*parts[:kept], *more])
        if len(text) <= CHARACTERS_OF_A_CELL:
            break
    return text


def number_text(value: float, interval: Sequence[float] | None = None) -> str:
    """A number to the digits that its interval supports, at most four: "1.05 ± 0.06"; lopsided, "2 (1.9 to 4)"."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    low, high = interval or (value, value)
    half = (high - low) / 2
    places = min(_places(value, 4), _places(half, 1))
    middle = f"{round(value, places):.{max(places, 0)}f}"
    if round(half, places) == 0 or not math.isfinite(half):
        return f"{value:.4g}"
    if abs(high + low - 2 * value) > half / 5:
        return f"{middle} ({number_text(low)} to {number_text(high)})"
    return f"{middle} ± {round(half, places):.{max(places, 0)}f}"


def _deciding(row: ClaimRow) -> dict[str, Number]:
    measured, interval = row["measured"], row["interval"]
    if measured is None:
        return {}
    if isinstance(measured, Mapping):
        return {what: (value, interval[what]) for what, value in measured.items()}
    return {"": (measured, interval)}


def _joined(numbers: Mapping[str, Number], outside: frozenset[str], most: int) -> str:
    """All of them: those whose names differ in one number together; more than `most` from lowest to highest."""
    few = len(numbers) <= most
    groups: dict[str, list[str]] = {}
    for what in numbers:
        alone = not few and what in outside
        groups.setdefault(what if alone else NUMBER_IN_NAME.sub("…", what), []).append(what)
    return "; ".join(
        text
        for names in groups.values()
        for text in (_listed(names, numbers, outside) if few or len(names) == 1 else [_range_text(names, numbers)])
    )


def _listed(names: Sequence[str], numbers: Mapping[str, Number], outside: frozenset[str]) -> list[str]:
    """ "load 0.2, 0.5: 1.1 ± 0.1, 2.3 ± 0.2"; where names differ in more than one number, each has its own."""
    values = [_bold(number_text(*numbers[name]), name in outside) for name in names]
    together = _merged(names, ", ".join)
    if together is None:
        return [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
    return [f"{together}: {', '.join(values)}" if together else values[0]]


def _bold(text: str, outside: bool) -> str:
    return f"**{text}**" if outside else text


def _range_text(names: Sequence[str], numbers: Mapping[str, Number]) -> str:
    """ "load 0.2 to 0.8: 1.1 to 2.3 (± 0.2 at most)"."""
    values = [numbers[name][0] for name in names]
    halves = [(high - low) / 2 for low, high in (numbers[name][1] or (0, 0) for name in names)]
    places = min(_places(max(values, key=abs), 3), _places(max(halves), 1))
    low, high = (f"{round(value, places):.{max(places, 0)}f}" for value in (min(values), max(values)))
    span = low if low == high else f"{low} to {high}"
    most = round(max(halves), places)
    name = _merged(names, lambda texts: f"{min(texts, key=float)} to {max(texts, key=float)}", at_most=99)
    return f"{name}: {span}" + (f" (± {most:.{max(places, 0)}f} at most)" if most else "")


def _merged(names: Sequence[str], range_of: Callable[[list[str]], str], at_most: int = 1) -> str | None:
    """One name for several that differ in numbers; none if in more of them than `at_most`."""
    columns = [list(dict.fromkeys(column)) for column in zip(*map(NUMBER_IN_NAME.findall, names), strict=True)]
    if sum(len(column) > 1 for column in columns) > at_most:
        return None
    texts = iter([column[0] if len(column) == 1 else range_of(column) for column in columns])
    return NUMBER_IN_NAME.sub(lambda _: next(texts), names[0])


def _places(value: float, digits: int) -> int:
    """Decimal places that show so many digits; one more where the first is 1 and only one was asked for."""
    if not value or not math.isfinite(value):
        return 12
    exponent = math.floor(math.log10(abs(value)))
    leading = int(abs(value) / 10**exponent + 1e-9)
    return digits - 1 - exponent + (digits == 1 and leading == 1)


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, COLUMNS_OF_A_LINE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _line(cells: Sequence[str]) -> str:
    return markdown.table_row(" ".join(cell.split()) for cell in cells)


def main() -> None:
    """Writes the tables of the papers that were named, or of all."""
    try:
        for paper in sys.argv[1:] or PAPERS:
            for scale in get_args(Scale):
                renew_texts(paper, scale, find_paper(paper).claims)
            print(write_readme(paper))
    except PacketloomError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
