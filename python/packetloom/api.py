"""`packetloom.run`: the same power as the command line."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packetloom.campaign import run_plan
from packetloom.progress import Reporter, SilentReporter, reporter_for
from packetloom.results import Results
from packetloom.scenario import ScenarioSource, read_plan


def run(
    scenario: ScenarioSource,
    output: str | Path | None = None,
    *,
    workers: int | None = None,
    overrides: Sequence[str] = (),
    progress: bool = True,
) -> Results:
    """Runs a scenario (a file, a dict, a `Scenario`, or a results folder) and gives its results.

    Without `output` the results go to a new temporary folder. Into a folder that holds part of them, only the
    rest is run. `overrides` are `key=value` texts, as for `packetloom run --set`.
    """
    plan = read_plan(scenario, overrides)
    folder = Path(output) if output is not None else Path(tempfile.mkdtemp(prefix="packetloom-"))
    reporter: Reporter = reporter_for(sys.stderr) if progress else SilentReporter()
    return run_plan(plan, folder, workers, reporter)
