"""The parts of docs/validation.md that count: written from the rows of a run, which lie beside the peers' figures.

`packetloom validate theory peers kernel --json FILE` writes rows, `python -m packetloom.validate.page FILE` keeps them
in `validation/rows.json` and writes the page's parts, and what docs/schemes.md counts (`held_to`); kinds of which the
file has none, and other versions of Linux, stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import takewhile
from pathlib import Path
from typing import Any

from packetloom.common import markdown
from packetloom.common.build import this_build
from packetloom.common.files import write_json, write_text
from packetloom.common.markdown import table_row
from packetloom.errors import PacketloomError
from packetloom.stats.verdict import Verdict
from packetloom.validate.comparison import VERDICTS
from packetloom.validate.hardware.comparisons import PREFIX as HARDWARE
from packetloom.validate.held_to import newest_linux, with_counts
from packetloom.validate.kernel.cases import MANAGED_CASES
from packetloom.validate.kernel.deviations import DROPS, LINUX_PREFIX, SETTLED, SOJOURN, THROUGHPUT
from packetloom.validate.peers.agreement import PEERS_FOLDER

BEGIN = "<!-- rows: written by `python -m packetloom.validate.page`; what stands between these lines is replaced -->"
END = "<!-- end of rows -->"
BEGIN_QUEUES = "<!-- rows of Linux's queues: written like those above -->"
ROWS = PEERS_FOLDER / "rows.json"
PAGE = PEERS_FOLDER.parent / "docs" / "validation.md"
SCHEMES = PEERS_FOLDER.parent / "docs" / "schemes.md"
UNDECIDED: Verdict = "undecided"
THEORY = "theory"
QUEUES = {"Throughput": THROUGHPUT, "Time in queue": SOJOURN, "Drops": DROPS, "Step": SETTLED}
PEERS = {
    "htsim": "htsim: NDP, RoCE, Swift, EQDS, Ultra Ethernet",
    "omnet": "OMNeT++: NDP",
    "ns3": "ns-3: DCTCP",
    "abm_ns3": "ABM's authors: ABM, dynamic thresholds",
    "reverie_ns3": "Reverie's authors: Reverie",
    "hpcc_ns3": "HPCC's ns-3",
    "powertcp_ns3": "PowerTCP's ns-3: PowerTCP, theta-PowerTCP, HPCC",
    "bfc_ns3": "BFC's ns-3",
    "sird_ns2": "SIRD's ns-2",
    "dcpim": "dcPIM's simulator",
    "expresspass_ns2": "ExpressPass's ns-2",
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
    """What a row compares with: a folder of `validation/`, a version of Linux, or theory."""
    folder = str(row["source"]).removeprefix("validation/").partition("/")[0]
    if (PEERS_FOLDER / folder).is_dir():
        return folder
    return str(row["source"]).partition(",")[0] if is_linux(str(row["source"])) else THEORY


def is_linux(name: str) -> bool:
    """Whether that is a version of Linux."""
    return name.startswith(LINUX_PREFIX)


def kept_rows(rows: Sequence[RowDict], before: Mapping[str, Any]) -> dict[str, Any]:
    """What `validation/rows.json` has after a run: for each that was compared with, the run and its rows."""
    found: dict[str, list[RowDict]] = {}
    for row in rows:
        if not row["id"].startswith(HARDWARE):  # machines have a page of their own
            found.setdefault(against(row), []).append(row)
    run = {"build": str(this_build()), "date": date.today().isoformat()}
    return {**before, **{name: {**run, "rows": of_it} for name, of_it in found.items()}}


def page_part(kept: Mapping[str, Any]) -> str:
    """The table of what was compared, with rows by bound and the ratios of undecided ones; and what differs."""
    order = [THEORY, *PEERS]
    names = sorted(kept, key=lambda name: (order.index(name) if name in order else len(order), name))
    rows = [row for name in names for row in kept[name]["rows"]]
    return "\n".join([*_summary(kept, names), *_differing(rows)])


def _summary(kept: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    header = ["Against", "Rows", "Hold", *VERDICTS[1:], "Run on", "Rows by bound"]
    lines = [
        table_row([header[0], *(one.capitalize() for one in header[1:])]),
        "|---|" + "---:|" * (len(header) - 3) + "---|---|",
    ]
    simulated: list[RowDict] = []
    for name in names:
        rows = kept[name]["rows"]
        simulated += [] if name == THEORY or is_linux(name) else rows
        lines.append(table_row([PEERS.get(name, name), *_numbers(rows), kept[name]["date"], _bounds(rows)]))
    return [*lines, table_row(["all simulators", *_numbers(simulated), "", ""])]


def queues_part(kept: Mapping[str, Any]) -> str:
    """The table of queues that Linux's AQMs manage, and of BBR: how far off we are, in % of the newest Linux."""
    header = ["Linux", "Flows and queue", *QUEUES]
    lines = [table_row(header), "|---|---|" + "---:|" * len(QUEUES)]
    if name := newest_linux(kept):
        rows = {row["what"]: row for row in kept[name]["rows"]}
        for case in MANAGED_CASES:
            found = [rows.get(f"Linux, {case.title}: {figure}") for figure in QUEUES.values()]
            if any(found):
                lines.append(table_row([name.removeprefix(LINUX_PREFIX), case.title, *map(_off, found)]))
    return "\n".join(lines)


def _off(row: RowDict | None) -> str:
    """How far ours is from theirs, in per cent of it, with the interval; bold where the row differs."""
    if row is None:
        return ""
    theirs, ours, interval = row["expected"], row["measured"], row["interval"]
    if not theirs:
        return f"{ours:g} for 0"
    half = (interval[1] - interval[0]) / 2 / theirs * 100 if interval else 0.0
    off = (ours / theirs - 1) * 100
    places = 1 if max(abs(off), half) < 2 else 0
    text = f"{off:+.{places}f}" + (f" ± {half:.{places}f}" if half else "")
    return f"**{text}**" if row["verdict"] == "differs" else text


def _differing(rows: Sequence[RowDict]) -> list[str]:
    lines = []
    for verdict in (one for one in VERDICTS if one not in ("holds", UNDECIDED)):
        groups: dict[tuple[str, str], list[RowDict]] = {}
        for row in rows:
            if row["verdict"] == verdict:
                groups.setdefault((against(row), str(row.get("reason", ""))), []).append(row)
        if groups:
            lines += ["", f"Rows that {verdict.replace('differs', 'differ')}, those of one cause together:", ""]
            lines += [table_row(["What", "Rows", "Here over theirs"]), "|---|---:|---:|"]
            lines += [table_row([_common(group), str(len(group)), _ratios(group)]) for group in groups.values()]
    return lines


def _common(rows: Sequence[RowDict]) -> str:
    """What rows have in common of what they compare: whole parts, between commas and colons."""
    parts = [re.split(r"(?<=[,:]) ", row["what"]) for row in rows]
    same = [ones[0] for ones in takewhile(lambda ones: len(set(ones)) == 1, zip(*parts, strict=False))]
    # LogGOPS's parameters are in the rows.
    return re.sub(r", L=[^:]*", "", " ".join(same).rstrip(",:") or str(rows[0]["what"]))


def _ratios(rows: Sequence[RowDict]) -> str:
    """The ratios, from the least to the greatest; both figures where there is none."""
    ratios = [
        row["measured"] / row["expected"] for row in rows if not isinstance(row["expected"], list) and row["expected"]
    ]
    if len(ratios) < len(rows):
        return "; ".join(_both(row) for row in rows)
    least, greatest = (f"{of(ratios):.3f}" for of in (min, max))
    return least if least == greatest else f"{least} to {greatest}"


def _both(row: RowDict) -> str:
    expected = row["expected"]
    theirs = " to ".join(map(_figure, expected)) if isinstance(expected, list) else _figure(expected)
    return f"{_figure(row['measured'])} for {theirs}"


def with_part(text: str, part: str, path: Path) -> str:
    """The page with another part between its two marks."""
    return markdown.with_part(text, f"\n\n{part}\n\n", (BEGIN, END), path, "the rows")


def page_with(text: str, kept: Mapping[str, Any], path: Path) -> str:
    """The page as the rows have it."""
    text = with_part(text, page_part(kept), path)
    part = f"\n\n{queues_part(kept)}\n\n"
    return markdown.with_part(text, part, (BEGIN_QUEUES, END), path, "the rows of Linux's queues")


def _numbers(rows: Sequence[RowDict]) -> list[str]:
    """How many rows there are, and how many have each verdict; of undecided ones measured over expected, too."""
    counts = Counter(row["verdict"] for row in rows)
    ratios = [row["measured"] / row["expected"] for row in rows if row["verdict"] == UNDECIDED]
    more = {UNDECIDED: f" ({min(ratios):.2f} to {max(ratios):.2f})"} if ratios else {}
    return [str(len(rows)), *(f"{counts[name]}{more.get(name, '')}" for name in ("holds", *VERDICTS[1:]))]


def _bounds(rows: Sequence[RowDict]) -> str:
    """How many rows have which bound, the commonest first."""
    counts = Counter(_bound(str(row["rule"])) for row in rows)
    return ", ".join(f"{bound} ({number})" for bound, number in counts.most_common())


def _bound(rule: str) -> str:
    """A rule as the table has it: in a word or two, or its first number with the unit."""
    shorter = {"within 0 %": "equal", "the same nanoseconds": "equal", "every draw within": "every draw"}
    if rule in shorter:
        return shorter[rule]
    if rule.startswith("in the interval"):
        return "interval"
    found = re.match(r"(?:within|up to) ([\d.]+) ?(%|points)", rule)
    return f"{found[1]} {found[2]}" if found else rule


def _figure(number: float) -> str:
    """With four digits that count; in whole numbers from 1000 on."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def main() -> None:
    """Keeps the rows of a file and writes the page's part; without a file the part alone."""
    try:
        kept: dict[str, Any] = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.exists() else {}
        for file in sys.argv[1:]:
            kept = kept_rows(json.loads(Path(file).read_text(encoding="utf-8")), kept)
        if sys.argv[1:]:
            write_json(ROWS, kept, "the rows")
        write_text(PAGE, page_with(PAGE.read_text(encoding="utf-8"), kept, PAGE))
        write_text(SCHEMES, with_counts(SCHEMES.read_text(encoding="utf-8"), kept))
        print(PAGE, SCHEMES, sep="\n")
    except (OSError, ValueError, PacketloomError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
