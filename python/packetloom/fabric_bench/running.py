"""Running tests: each part is a campaign of its own in the bench's folder, resumed and cached like every other."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from packetloom.campaign.progress import reporter_for
from packetloom.errors import PacketloomError
from packetloom.fabric_bench.catalogue import Part, Scale, Test
from packetloom.fabric_bench.tables import made
from packetloom.scenario.plan import Plan, read_plan
from packetloom.store.case_rows import MARKER
from packetloom.store.results import Results

PRECISE_PERCENT = 1.0
INTERVAL = "interval (±%)"


def plan_of(part: Part, scale: Scale, settings: Sequence[str] = ()) -> Plan | None:
    """A part's cases at a scale; nothing if it is not run there."""
    own = part.settings(scale)
    if own is None:
        return None
    if not part.file.is_file():
        raise PacketloomError(f"{part.file}: there is no such file; it is part of packetloom: install it again")
    return read_plan(part.file, (*own, *settings))


def run_test(
    test: Test,
    scale: Scale,
    folder: Path,
    *,
    workers: int | None = None,
    cache: bool = True,
    keep_older: bool = False,
    settings: Sequence[str] = (),
    said: Callable[[str], None] = lambda _: None,
) -> dict[str, Results]:
    """Runs what is left of a test's parts, and adds seeds where the test wants its lead to be known well."""
    runs: dict[str, Results] = {}

    def run(more: Sequence[str]) -> None:
        for part in test.parts:
            plan = plan_of(part, scale, (*settings, *more))
            if plan is None:
                continue
            said(f"{test.id}: {part.name}, {len(plan.cases)} cases")
            output = folder / test.id / part.name
            reporter = reporter_for(sys.stderr)
            from packetloom.campaign.runner import run_plan

            runs[part.name] = run_plan(plan, output, workers, reporter, cache=cache, keep_older=keep_older)

    run(())
    if scale == "full" and test.most_seeds and not any(_says_seeds(setting) for setting in settings):
        seeds = _seeds(runs)
        while seeds < test.most_seeds and widest_interval(test, runs) > PRECISE_PERCENT:
            seeds = min(2 * seeds, test.most_seeds)
            run((f"run.seeds={seeds}",))
    return runs


def _says_seeds(setting: str) -> bool:
    """Whether a setting is of the seeds: then the user has said how many there are."""
    return setting.partition("=")[0].strip() == "run.seeds"


def _seeds(runs: Mapping[str, Results]) -> int:
    return max(len({row.seed for row in results.rows()}) for results in runs.values())


def widest_interval(test: Test, runs: Mapping[str, Results]) -> float:
    """The widest 95 % interval of the first table's lead, as ± percent of the mean; endless where it is not known."""
    (first, *_) = made(test, runs)
    if INTERVAL not in first.frame.columns:  # nothing was run more than once
        return math.inf
    widths = first.frame[INTERVAL].fill_null(math.inf)
    return float(widths.max())  # type: ignore[arg-type]


def finished_runs(test: Test, folder: Path) -> dict[str, Results]:
    """The parts that have results in a folder."""
    places = {part.name: folder / test.id / part.name for part in test.parts}
    return {name: Results(place) for name, place in places.items() if (place / MARKER).is_file()}
