"""The part of docs/validation.md that counts is what `validation/rows.json` has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from packetloom.errors import PacketloomError
from packetloom.validate import held_to, page
from packetloom.validate.draws import Draws
from packetloom.validate.kernel.cases import CASES, MANAGED_CASES
from packetloom.validate.kernel.comparisons import kernel_name
from packetloom.validate.kernel.comparisons import schemes_of as schemes_of_case
from packetloom.validate.kernel.deviations import DROPS, THROUGHPUT
from packetloom.validate.peers.agreement import agreement, drawn
from packetloom.validate.peers.schemes import schemes_of
from packetloom.validate.theory import schemes as theory_schemes

HOLDS = agreement("a", "a flow alone", "htsim/figures.toml", 10.0, 10.0, 0.0)
NEAR = agreement("b", "a mean", "hpcc_ns3/cfg/x.txt", 10.0, 10.1, 0.03)
CHANCE = drawn("c", "what | varies", "validation/ns2/x.tsv", Draws((10.0,), (9.0, 11.0, 10.3)), 0.03)
OTHER = drawn("d", "what | varies, alone: p99", "validation/ns2/x.tsv", Draws((10.0, 10.0), (9.0, 11.0)), 0.03)
OFF = agreement("e", "a median", "validation/ns2/x.tsv", 10.0, 12.0, 0.03)
ROWS = [row.to_dict() for row in (HOLDS, NEAR, CHANCE, OTHER, OFF)]


def test_the_page_is_what_the_rows_say() -> None:
    kept = json.loads(page.ROWS.read_text())
    text = page.PAGE.read_text()
    assert text == page.page_with(text, kept, page.PAGE), "python -m packetloom.validate.page"


def test_the_page_of_schemes_counts_the_rows_of_each() -> None:
    text = page.SCHEMES.read_text()
    assert text == held_to.with_counts(text, json.loads(page.ROWS.read_text())), "python -m packetloom.validate.page"


def test_the_readme_counts_the_rows_as_the_page_does() -> None:
    kept = json.loads(page.ROWS.read_text())
    verdicts = Counter(row["verdict"] for folder in held_to.SIMULATORS for row in kept[folder]["rows"])
    text = " ".join((page.PAGE.parents[1] / "README.md").read_text().split())
    assert f"of {verdicts.total():,} rows {verdicts['holds']:,} agree" in text
    assert f"{verdicts['differs as known']} differ by known" in text
    assert f"{verdicts['undecided']} are undecided" in text
    newest = held_to.newest_linux(kept)
    verdicts = Counter(row["verdict"] for row in kept[newest]["rows"])
    assert f"Of {verdicts.total()} with TCP, AQMs and BBR of {newest} {verdicts['holds']} agree" in text
    differ = verdicts["differs"] + verdicts["differs as known"]
    assert f"{verdicts['undecided']} are undecided, and {differ} differ" in text


def test_every_row_that_is_kept_names_schemes_that_the_page_has() -> None:
    kept = json.loads(page.ROWS.read_text())
    theory = kept["theory"]["rows"]
    assert [row["id"] for row in theory if tuple(row.get("schemes", ())) != theory_schemes.schemes_of(row["id"])] == []
    assert {row["id"].split("-")[1] for row in theory if "schemes" not in row} == {"greedy"}
    of_linux = {case.title: schemes_of_case(case) for case in (*CASES, *MANAGED_CASES)}
    linux = [row for name in kept if page.is_linux(name) for row in kept[name]["rows"]]
    wrong = [row["id"] for row in linux if tuple(row["schemes"]) != of_linux[row["what"].partition(": ")[0][7:]]]
    assert wrong == []
    rows = [row for folder in held_to.SIMULATORS for row in kept[folder]["rows"]]
    assert [row["id"] for row in rows if tuple(row["schemes"]) != schemes_of(row["source"], row["what"])] == []
    cells = [line.split(" | ")[0].removeprefix("| ") for line in page.SCHEMES.read_text().splitlines()]
    listed = {scheme for cell in cells for scheme in held_to.schemes_named(cell)}
    assert {scheme for row in rows + theory + linux for scheme in row.get("schemes", ())} <= listed


def test_a_cell_has_the_simulators_of_the_rows_and_keeps_what_else_it_names() -> None:
    before = "YAPS 1/2; htsim; theory; machines"
    table = f"| In a scenario | {held_to.HEADER} |\n|---|---|\n| queue `a`, `b` | {before} |\n"
    verdicts = ["holds", "differs as known", "undecided", "differs"]
    rows = [{"schemes": ["queue a"], "verdict": verdict} for verdict in verdicts]
    kept = {"htsim": {"rows": [*rows, {"schemes": ["queue b"], "verdict": "holds"}, {"verdict": "holds"}]}}
    assert "| queue `a`, `b` | htsim 2/5 (1 known, 1 differ); machines |" in held_to.with_counts(table, kept)
    assert "| queue `a`, `b` | machines |" in held_to.with_counts(table, {})


def test_rows_are_counted_by_what_they_are_against_and_shown_where_they_do_not_hold() -> None:
    part = page.page_part(page.kept_rows(ROWS, {}))
    lines = [line.split(" | ") for line in part.splitlines()]
    counts = {line[0].removeprefix("| "): line[1:6] for line in lines if len(line) == 8}
    assert counts["htsim: NDP, RoCE, Swift, EQDS, Ultra Ethernet"] == ["1", "1", "0", "0", "0"]
    assert counts["HPCC's ns-3"] == ["1", "1", "0", "0", "0"]
    assert counts["ns-2: pFabric, DCTCP, TCP"] == ["3", "0", "0", "2 (1.00 to 1.01)", "1"]
    assert counts["all simulators"] == ["5", "2", "0", "2 (1.00 to 1.01)", "1"]
    assert "\nRows that differ, those of one cause together:\n\n| What |" in part
    assert "differs as known:" not in part
    assert "| a median | 1 | 1.200 |" in part
    assert "what \\| varies" not in part
    assert "a flow alone" not in part


def test_rows_are_counted_by_bound() -> None:
    part = page.page_part(page.kept_rows(ROWS, {}))
    bounds = {line.split(" | ")[0]: line.split(" | ")[7] for line in part.splitlines() if line.count(" | ") == 7}
    assert bounds["| htsim: NDP, RoCE, Swift, EQDS, Ultra Ethernet"] == "equal (1) |"
    assert bounds["| ns-2: pFabric, DCTCP, TCP"] == "3 % (3) |"
    theory: dict[str, Any] = {"id": "theory-md1", "source": "x", "verdict": "holds"}
    rules = ["in the interval, and that within ± 2.0%", "every draw within", "within 3%", "up to 2 %", "to the bit"]
    rows = [theory | {"rule": rule} for rule in rules]
    found = "| interval (1), every draw (1), 3 % (1), 2 % (1), to the bit (1) |"
    assert found in page.page_part(page.kept_rows(rows, {}))


def test_rows_of_one_cause_are_one_line() -> None:
    known = {"verdict": "differs as known", "source": "validation/ns2/x.tsv", "id": "f", "rule": "within 3 %"}
    zero = known | {"what": "a, b: apart", "expected": 0.0, "measured": 2322.4, "interval": None, "reason": "one"}
    ranged = known | {"what": "a, b: apart, at most", "expected": [1.0, 2.0], "measured": 24400.0, "reason": "two"}
    ratios = [
        known | {"what": f"a, c: {of}", "expected": 2.0, "measured": found, "reason": "three"}
        for of, found in (("mean", 2.2), ("p99", 3.0))
    ]
    part = page.page_part(page.kept_rows([zero, ranged, *ratios], {}))
    assert "| a, b: apart | 1 | 2,322 for 0 |" in part
    assert "| a, b: apart, at most | 1 | 24,400 for 1 to 2 |" in part
    assert "| a, c | 2 | 1.100 to 1.500 |" in part


def test_what_was_not_run_again_stays() -> None:
    kept = page.kept_rows(ROWS, {"yaps": {"build": "old", "date": "2026-01-01", "rows": []}, "htsim": {}})
    assert kept["yaps"]["date"] == "2026-01-01"
    assert len(kept["htsim"]["rows"]) == 1


def test_a_theorem_and_the_kernel_are_no_folders() -> None:
    row: dict[str, Any] = {"id": "theory-md1", "source": "Pollaczek and Khinchine"}
    assert page.against(row) == "theory"
    assert page.against(row | {"id": "reno", "source": "Linux 6.18, mean of 9 trials"}) == "Linux 6.18"


def of_linux(version: str, figure: str, theirs: Sequence[float], ours: Sequence[float]) -> dict[str, Any]:
    what = f"Linux, TCP Reno, one flow of 10 MB over PIE: {figure}"
    source = f"{kernel_name(version)}, mean of {len(theirs)} trials"
    row = drawn(what, what, source, Draws(tuple(theirs), tuple(ours)), 0.1)
    return replace(row, schemes=("transport tcp", "aqm in egress")).to_dict()


def test_each_version_of_linux_has_rows_of_its_own_and_the_newest_a_table_of_its_queues() -> None:
    rows = [
        of_linux("6.1.0-54-amd64", THROUGHPUT, [10.0, 10.0, 10.0], [10.1, 10.1, 10.1]),
        of_linux("6.1.0-54-amd64", DROPS, [10.0, 11.0, 10.0], [30.0, 31.0, 30.0]),
        of_linux("6.18.44", DROPS, [0.0, 0.0], [3.0, 3.0]),
    ]
    kept = page.kept_rows(rows, {})
    assert list(kept) == ["Linux 6.1", "Linux 6.18"]
    assert "| Linux 6.1 | 2 | 1 | 0 | 0 | 1 |" in page.page_part(kept)
    assert "| all simulators | 0 |" in page.page_part(kept), "Linux is none"
    table = page.queues_part(kept).splitlines()[2:]
    assert table == ["| 6.18 | TCP Reno, one flow of 10 MB over PIE |  |  | 3 for 0 |  |"]
    of_one = {"Linux 6.1": kept["Linux 6.1"]}
    table = page.queues_part(of_one).splitlines()[2:]
    assert table == ["| 6.1 | TCP Reno, one flow of 10 MB over PIE | +1.0 |  | **+194 ± 13** |  |"]
    cell = f"| In a scenario | {held_to.HEADER} |\n|---|---|\n| transport `tcp` | Linux 6.0 1/1; [x](y) |\n"
    assert "| transport `tcp` | Linux 6.18 0/1 (1 differ); [x](y) |" in held_to.with_counts(cell, kept)
    assert "| transport `tcp` | Linux 6.1 1/2 (1 differ); [x](y) |" in held_to.with_counts(cell, of_one)


def test_a_page_needs_both_marks() -> None:
    with pytest.raises(PacketloomError, match="put these two lines"):
        page.with_part(f"{page.END} {page.BEGIN}", "x", Path("validation.md"))
