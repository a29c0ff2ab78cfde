"""The part of docs/validation.md that counts: written from the rows of a run, which lie beside the peers' figures.

`packetloom validate theory peers kernel --json FILE` writes rows, `python -m packetloom.validate.page FILE` keeps them
in `validation/rows.json` and writes the page's part; kinds of which the file has none stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from packetloom.common import markdown
from packetloom.common.build import this_build
from packetloom.common.files import write_json, write_text
from packetloom.common.markdown import table_row
from packetloom.errors import PacketloomError
from packetloom.validate.comparison import VERDICTS, Verdict, span_text
from packetloom.validate.hardware.comparisons import PREFIX as HARDWARE
from packetloom.validate.peers.agreement import PEERS_FOLDER

BEGIN = "<!-- rows: written by `python -m packetloom.validate.page`; what stands between these lines is replaced -->"
END = "<!-- end of rows -->"
ROWS = PEERS_FOLDER / "rows.json"
PAGE = PEERS_FOLDER.parent / "docs" / "validation.md"
UNDECIDED: Verdict = "undecided"
KINDS = {"theory": "theory", "kernel": "Linux's own TCP"}
PEERS = {
    "htsim": "htsim: NDP, RoCE, Swift, EQDS, Ultra Ethernet",
    "omnet": "OMNeT++: NDP",
    "ns3": "ns-3: DCTCP",
    "abm_ns3": "ABM's authors: ABM, dynamic thresholds",
    "hpcc_ns3": "HPCC's ns-3",
    "conweave_ns3": "ConWeave's ns-3",
    "homa_ns3": "Homa's ns-3",
    "ns2": "ns-2: pFabric, DCTCP, TCP",
    "yaps": "YAPS: pFabric, Fastpass, pHost",
    "astra_sim": "ASTRA-sim: jobs",
    "loggopsim": "LogGOPSim, ATLAHS: jobs",
}

# One row, as `--json` writes it.
RowDict = dict[str, Any]


def against(row: RowDict) -> str:
    """What a row compares with: a folder of `validation/`, theory, or the kernel."""
    folder = str(row["source"]).removeprefix("validation/").partition("/")[0]
    if (PEERS_FOLDER / folder).is_dir():
        return folder
    return "theory" if row["id"].startswith("theory-") else "kernel"


def kept_rows(rows: Sequence[RowDict], before: Mapping[str, Any]) -> dict[str, Any]:
    """What `validation/rows.json` has after a run: for each that was compared with, the run and its rows."""
    found: dict[str, list[RowDict]] = {}
    for row in rows:
        if not row["id"].startswith(HARDWARE):  # machines have a page of their own
            found.setdefault(against(row), []).append(row)
    run = {"build": str(this_build()), "date": date.today().isoformat()}
    return {**before, **{name: {**run, "rows": of_it} for name, of_it in found.items()}}


def page_part(kept: Mapping[str, Any]) -> str:
    """The table of what was compared, each row that differs, and how many are undecided, by scheme."""
    header = ["Against", "Rows", "The same", "Hold", *VERDICTS[1:], "Run on"]
    lines = [
        table_row([header[0], *(one.capitalize() for one in header[1:])]),
        "|---|" + "---:|" * (len(header) - 2) + "---|",
    ]
    total: Counter[str] = Counter()
    order = [*KINDS, *PEERS]
    for name in sorted(kept, key=lambda name: order.index(name) if name in order else len(order)):
        counts = _counts(kept[name]["rows"])
        total += counts
        lines.append(table_row([(KINDS | PEERS).get(name, name), *_numbers(counts), kept[name]["date"]]))
    lines.append(table_row(["all", *_numbers(total), ""]))
    rows = [row for one in kept.values() for row in one["rows"]]
    undecided = [row for row in rows if row["verdict"] == UNDECIDED]
    differs = [row for row in rows if row["verdict"] not in ("holds", UNDECIDED)]
    lines += ["", "Every row that differs:", "", table_row(["What", "Theirs", "Here", "Bound", "Verdict"])]
    lines += ["|---|---:|---:|---:|---|", *(table_row(_cells(row)) for row in differs)]
    lines += ["", "The undecided rows ([rows.json](../validation/rows.json) has each one):", ""]
    lines += [table_row(["Scheme", "Rows", "Draws there", "Draws here", "Here over theirs"]), "|---|" + "---:|" * 4]
    lines += [table_row(_cells_of_scheme(name, of_it)) for name, of_it in _by_scheme(undecided).items()]
    return "\n".join(lines)


def with_part(text: str, part: str, path: Path) -> str:
    """The page with another part between its two marks."""
    return markdown.with_part(text, f"\n\n{part}\n\n", (BEGIN, END), path, "the rows")


def _counts(rows: Sequence[RowDict]) -> Counter[str]:
    counts = Counter(row["verdict"] for row in rows)
    counts["rows"] = len(rows)
    counts["same"] = sum(row["verdict"] == "holds" and row["band"][0] == row["band"][1] for row in rows)
    return counts


def _numbers(counts: Counter[str]) -> list[str]:
    return [str(counts[name]) for name in ("rows", "same", "holds", *VERDICTS[1:])]


def _cells(row: RowDict) -> list[str]:
    theirs = row["expected"]
    interval = row["interval"]
    here = f"{row['measured']:.4g}" + (f" ({span_text(tuple(interval))})" if interval else "")
    bound = span_text(tuple(row["band"]))
    return [
        row["what"],
        span_text(tuple(theirs)) if isinstance(theirs, list) else f"{theirs:.4g}",
        here,
        bound,
        row["verdict"],
    ]


def _by_scheme(rows: Sequence[RowDict]) -> dict[str, list[RowDict]]:
    """Rows by simulator and scheme: the first two parts of what was run."""
    found: dict[str, list[RowDict]] = {}
    for row in rows:
        found.setdefault(", ".join(str(row["what"]).partition(":")[0].split(", ")[:2]), []).append(row)
    return found


def _cells_of_scheme(scheme: str, rows: Sequence[RowDict]) -> list[str]:
    """How many rows, of how many draws, and what was measured over what was expected; the least and the greatest."""
    draws = [_least_to_greatest([row["draws"][side] for row in rows], "d") for side in ("theirs", "ours")]
    ratios = _least_to_greatest([row["measured"] / row["expected"] for row in rows], ".2f")
    return [scheme, str(len(rows)), *draws, ratios]


def _least_to_greatest(numbers: Sequence[float], form: str) -> str:
    return " to ".join(dict.fromkeys(f"{number:{form}}" for number in (min(numbers), max(numbers))))


def main() -> None:
    """Keeps the rows of a file and writes the page's part; without a file the part alone."""
    try:
        kept: dict[str, Any] = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}
        for file in sys.argv[1:]:
            kept = kept_rows(json.loads(Path(file).read_text(encoding="utf-8")), kept)
        if sys.argv[1:]:
            write_json(ROWS, kept, "the rows")
        write_text(PAGE, with_part(PAGE.read_text(encoding="utf-8"), page_part(kept), PAGE))
        print(PAGE)
    except (OSError, ValueError, PacketloomError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
