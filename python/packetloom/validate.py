"""`packetloom validate`: others' measurements, repeated."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packetloom.campaign import run_plan
from packetloom.claims import Claim, judge, print_findings, write_findings
from packetloom.errors import PacketloomError
from packetloom.progress import reporter_for
from packetloom.results import MARKER, Results
from packetloom.scenario import ScenarioSource, read_plan

FOLDER = Path("results") / "validate"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scenarios to run by name, and what others measured of them.

    `prepare` gets a folder for files that the scenarios need, and gives the scenarios.
    """

    prepare: Callable[[Path], Mapping[str, ScenarioSource]]
    claims: tuple[Claim, ...]


def comparisons() -> list[Comparison]:
    """All there are."""
    from packetloom.peers import peer_comparisons

    return peer_comparisons()


def run_validation(json_file: Path | None, workers: int | None, chosen: Sequence[Comparison] | None = None) -> bool:
    """Runs every comparison, prints and writes the table; whether all agree, or it is known why not."""
    chosen = comparisons() if chosen is None else chosen
    if not chosen:
        raise PacketloomError("there is nothing to validate against")
    findings = []
    for comparison in chosen:
        scenarios = comparison.prepare(FOLDER)
        results = {name: _run_anew(scenario, FOLDER / name, workers) for name, scenario in scenarios.items()}
        findings += [judge(claim, results) for claim in comparison.claims]
    print_findings(findings)
    if json_file:
        write_findings(findings, json_file)
    return all(finding.verdict != "differs" or finding.why for finding in findings)


def _run_anew(scenario: ScenarioSource, folder: Path, workers: int | None) -> Results:
    """What an earlier build computed proves nothing about this one."""
    if (folder / MARKER).exists():
        shutil.rmtree(folder)
    return run_plan(read_plan(scenario), folder, workers, reporter_for(sys.stderr))
