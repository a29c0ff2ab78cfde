"""`packetloom validate`: others' measurements, repeated."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packetloom.campaign import run_plan
from packetloom.claims import Claim, judge, print_findings, write_findings
from packetloom.errors import PacketloomError
from packetloom.progress import reporter_for
from packetloom.scenario import ScenarioSource, read_plan


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scenarios to run by name, and what others measured of them."""

    scenarios: dict[str, ScenarioSource]
    claims: tuple[Claim, ...]


COMPARISONS: list[Comparison] = []


def run_validation(
    json_file: Path | None, workers: int | None, comparisons: Sequence[Comparison] | None = None
) -> bool:
    """Runs every comparison, prints and writes the table; whether all agree."""
    chosen = COMPARISONS if comparisons is None else comparisons
    if not chosen:
        raise PacketloomError("there is nothing to validate against yet")
    findings = []
    for comparison in chosen:
        folder = Path("results") / "validate"
        results = {
            name: run_plan(read_plan(scenario), folder / name, workers, reporter_for(sys.stderr))
            for name, scenario in comparison.scenarios.items()
        }
        findings += [judge(claim, results) for claim in comparison.claims]
    print_findings(findings)
    if json_file:
        write_findings(findings, json_file)
    return all(finding.verdict != "differs" for finding in findings)
