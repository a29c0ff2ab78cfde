"""The summary and figures of docs/hardware.md, from the rows of a run, which are kept beside the measurements.

`packetloom validate hardware --json FILE` writes rows. `python -m packetloom.validate.hardware.page FILE` keeps them in
`validation/hardware/results.json`, draws the figures, writes the page's parts, and each figure's numbers into
`docs/hardware/figures.csv`; sets that the file has not stay as they are.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from packetloom.common import markdown
from packetloom.common.build import this_build
from packetloom.common.files import write_json, write_text
from packetloom.common.markdown import table_row
from packetloom.errors import PacketloomError
from packetloom.validate.hardware.catalogue import SETS
from packetloom.validate.hardware.comparisons import PREFIX
from packetloom.validate.hardware.drawing import draw, over_of
from packetloom.validate.hardware.measurements import SHIPPED, file_of
from packetloom.validate.hardware.tables import RowDict, summary_cells

BEGIN = (
    "<!-- {0}: written by `python -m packetloom.validate.hardware.page`; what is between these lines is replaced -->"
)
END = "<!-- end of {0} -->"
RESULTS = SHIPPED / "results.json"
FIGURE_COLUMNS = ("ranks", "operation", "size_bytes", "measured", "simulated", "unit", "ratio", "judged")
PAGE = SHIPPED.parents[1] / "docs" / "hardware.md"
PICTURES = PAGE.parent / "hardware"
FIGURES = PICTURES / "figures.csv"
COLUMNS = 120
SUMMARY = ("Set", "Figures judged", "Asked: median", "Median error", "Worst", "Verdict")


def kept(rows: Sequence[RowDict], before: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept after a run, by id, in the sets' order."""
    run = {"build": str(this_build()), "date": date.today().isoformat()}
    own = [row for row in rows if row["id"].startswith(PREFIX)]
    found = {**before, **{row["id"]: run | _publishable(row) for row in own}}
    order = [f"{PREFIX}{one.name}{suffix}" for one in SETS for suffix in ("", "-most")]
    return {name: found[name] for name in order if name in found}


def _publishable(row: RowDict) -> dict[str, Any]:
    """A row without the figures of measurements that are not shipped."""
    return {**row, "figures": []} if "set" in row and not file_of(row["set"]).is_file() else dict(row)


def tables(results: Mapping[str, Any]) -> dict[str, str]:
    """The page's parts: what the sets come to, and the source and figure of each that is shipped."""
    rows = [row for row in results.values() if "summary" in row]
    return {"summary": _summary(rows), "figures": _figures(_by_file(rows))}


def figures_csv(results: Mapping[str, Any]) -> str:
    """Measured, simulated and ratio of every figure; whether it counts for the verdict."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["set", "by", *FIGURE_COLUMNS])
    for row in results.values():
        for figure in row.get("figures", ()):
            own = figure | {name: f"{figure[name]:.7g}" for name in ("measured", "simulated", "ratio")}
            writer.writerow([row["set"], row["by"], *(own[column] for column in FIGURE_COLUMNS)])
    return text.getvalue()


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """The page with other parts between their marks."""
    for name, part in parts.items():
        marks = (BEGIN.format(name), END.format(name))
        text = markdown.with_part(text, f"\n\n{part}\n\n", marks, PAGE, f"its {name}")
    return text


def draw_all(results: Mapping[str, Any]) -> None:
    """A figure for each file."""
    PICTURES.mkdir(exist_ok=True)
    for own in _by_file([row for row in results.values() if row.get("figures")]):
        draw(own, PICTURES / f"{own[0]['set']}.png")


def _by_file(rows: Sequence[RowDict]) -> list[list[RowDict]]:
    found: dict[str, list[RowDict]] = {}
    for row in rows:
        found.setdefault(row["set"], []).append(row)
    return list(found.values())


def _summary(rows: Sequence[RowDict]) -> str:
    lines = [
        table_row(SUMMARY),
        "|---|" + "---:|" * 4 + "---|",
        *(table_row(summary_cells(row)) for row in rows),
    ]
    days = sorted({row["date"] for row in rows})
    return "\n".join([*lines, "", f"Run on {' and '.join(days)}."])


def _figures(files: Sequence[Sequence[RowDict]]) -> str:
    shown = [rows for rows in files if any(row["figures"] for row in rows)]
    others = [f"`{rows[0]['set']}`" for rows in files if rows not in shown]
    names = [_prose(f"Not shipped, so without figures: {', '.join(others)}.")] if others else []
    return "\n\n".join([*names, *map(_of_file, shown)])


def _of_file(rows: Sequence[RowDict]) -> str:
    """A set's source and figure, and why it is missed where it is."""
    source = rows[0]["figures"][0]
    place = str(source["source"]).partition(": ")[0]
    name = place.removeprefix("https://github.com/")
    parts = [
        f"### {rows[0]['set']}",
        f"Measured: [{name}]({place}) ({source['licence']}).",
        f"![measured and simulated over {over_of(rows)}](hardware/{rows[0]['set']}.png)",
        *(_prose(f"**Missed** by {row['by']}. {_why(row)}.") for row in rows if row["verdict"] != "holds"),
    ]
    return "\n\n".join(parts)


def _prose(text: str) -> str:
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)


def _why(row: RowDict) -> str:
    reason = str(row.get("reason") or "it is not known why")
    return reason[:1].upper() + reason[1:]


def main() -> None:
    """Keeps the rows of files, draws figures and writes the page's parts; without a file the parts alone."""
    try:
        results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        for file in sys.argv[1:]:
            results = kept(json.loads(Path(file).read_text(encoding="utf-8")), results)
        if sys.argv[1:]:
            write_json(RESULTS, results, "the rows")
            draw_all(results)
        write_text(FIGURES, figures_csv(results))
        write_text(PAGE, with_parts(PAGE.read_text(encoding="utf-8"), tables(results)))
        print(PAGE)
    except (OSError, ValueError, PacketloomError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
