"""The last column of docs/schemes.md: how many rows of each simulator and of theory a scheme is held to, and how many
hold.

A cell names simulators, theory, the newest Linux, and papers. All but papers and their counts are written here, from
the rows of `validation/rows.json`; what else a cell has stays. A row counts for each scheme that its scenario has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from packetloom.validate.kernel.deviations import LINUX_PREFIX

HEADER = "Held to"
SIMULATORS = {
    "htsim": "htsim",
    "omnet": "OMNeT++",
    "ns3": "ns-3",
    "abm_ns3": "ABM's authors",
    "reverie_ns3": "Reverie's authors",
    "hpcc_ns3": "HPCC's ns-3",
    "powertcp_ns3": "PowerTCP's ns-3",
    "bfc_ns3": "BFC's ns-3",
    "sird_ns2": "SIRD's ns-2",
    "dcpim": "dcPIM's simulator",
    "expresspass_ns2": "ExpressPass's ns-2",
    "conweave_ns3": "ConWeave's ns-3",
    "homa_ns3": "Homa's ns-3",
    "ns2": "ns-2",
    "yaps": "YAPS",
    "astra_sim": "ASTRA-sim",
    "loggopsim": "LogGOPSim",
}
"""As a cell calls them, by their folders of `validation/`."""
COUNTED = SIMULATORS | {"theory": "theory"}
"""What has rows in `validation/rows.json`, each with its schemes."""
_IS_COUNTED = re.compile(rf"({'|'.join(map(re.escape, COUNTED.values()))}|{LINUX_PREFIX}[\d.]+)( \d+/\d+( \(.*\))?)?")
_NAMES = re.compile(r"`([a-z0-9-]+)`")

Counts = Mapping[str, Mapping[str, Counter[str]]]
"""By scheme and simulator: how many rows have each verdict."""


def with_counts(text: str, kept: Mapping[str, Any]) -> str:
    """The page with the simulators of its table and their counts as the rows have them."""
    counts = counts_of(kept)
    lines = text.split("\n")
    start = next(place for place, line in enumerate(lines) if line.endswith(f"| {HEADER} |")) + 2
    for place in range(start, len(lines)):
        if not lines[place].startswith("| "):
            break
        before, _, last = lines[place].removesuffix("|").rpartition("| ")
        scheme = before.removeprefix("| ").partition(" | ")[0]
        cell = _cell(last.strip(), schemes_named(scheme), counts, _counted_of(kept))
        lines[place] = f"{before}| {cell} |" if cell else f"{before}| |"
    return "\n".join(lines)


def counts_of(kept: Mapping[str, Any]) -> Counts:
    """How many rows of each simulator each scheme has, by verdict."""
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for folder in _counted_of(kept):
        for row in kept.get(folder, {}).get("rows", ()):
            for scheme in row.get("schemes", ()):
                found[scheme][folder][row["verdict"]] += 1
    return found


def newest_linux(kept: Mapping[str, Any]) -> str | None:
    """The newest version of Linux of which there are rows, with the prefix."""
    numbers = {name: name.removeprefix(LINUX_PREFIX).split(".") for name in kept if name.startswith(LINUX_PREFIX)}
    return max(numbers, key=lambda name: [int(number) for number in numbers[name]], default=None)


def _counted_of(kept: Mapping[str, Any]) -> Mapping[str, str]:
    """What counts, as cells call it: the newest version of Linux, too."""
    newest = newest_linux(kept)
    return COUNTED | ({newest: newest} if newest else {})


def schemes_named(cell: str) -> list[str]:
    """The schemes that a table's first cell names: `routing `letflow`, `conga`` are two."""
    section = cell.partition(" ")[0]
    if section.startswith("`"):
        return [cell.replace("`", "")]
    return [f"{section} {name}" for name in _NAMES.findall(cell)]


def _cell(cell: str, schemes: Sequence[str], counts: Counts, counted: Mapping[str, str]) -> str:
    held = [
        _counted(name, sum((counts.get(scheme, {}).get(folder, Counter()) for scheme in schemes), Counter()))
        for folder, name in counted.items()
    ]
    others = [one for one in cell.split("; ") if one and not _IS_COUNTED.fullmatch(one)]
    return "; ".join([*filter(None, held), *others])


def _counted(name: str, verdicts: Counter[str]) -> str:
    """Such as `htsim 40/48 (3 known)`: of 48 rows 40 hold, 3 differ as known; nothing where there are no rows."""
    if not verdicts:
        return ""
    known, differ = verdicts["differs as known"], verdicts["differs"]
    more = ", ".join([f"{known} known"] * bool(known) + [f"{differ} differ"] * bool(differ))
    return f"{name} {verdicts['holds']}/{verdicts.total()}" + (f" ({more})" if more else "")
