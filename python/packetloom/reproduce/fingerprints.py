"""What a paper's code and scenarios amount to, told in seconds: a digest of each experiment at a tiny scale.

A verdict is of the code that made it. Its file names a digest of each experiment: of the scenario, of what the scale
sets, and of what comes of the scenario in its first moments, one seed at its highest load. While these are the same,
so are the numbers; where one is another, the verdicts are stale. `python -m packetloom.reproduce.fingerprints` names
those that are; with `--mark` their files and tables say so from then on.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

from packetloom import _core
from packetloom.common.text_files import read_text
from packetloom.errors import PacketloomError
from packetloom.reproduce import PAPERS, Experiment, Scale, find_paper, needed_experiments, paper_folder
from packetloom.scenario.plan import plan_from_text

# At most so many flows of one seed: a list of a hundred thousand is drawn before the first one starts.
MOST_FLOWS = 500
# Beside the flows' records: what claims are made of, and no measure of the machine's work.
COUNTED = ("packet_hops", "drops", "marks", "trims", "returns", "lost", "pauses", "packets_sent", "simulated_ns")
MOST_BYTES = 10**6


def fingerprints(name: str, scale: Scale) -> dict[str, str]:
    """Those of all experiments that a paper's claims and figures need."""
    paper = find_paper(name)
    needed = needed_experiments(paper.claims, paper.figures)
    return {one.name: _fingerprint(name, one, scale) for one in paper.experiments if one.name in needed}


def _fingerprint(paper: str, experiment: Experiment, scale: Scale) -> str:
    settings = experiment.quick if scale == "quick" else experiment.full
    path = paper_folder(paper) / "scenarios" / experiment.scenario
    parts = [settings, str(experiment.search), *_first_moments(path, experiment.tiny)]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


@cache
def _first_moments(path: Path, until: str) -> list[object]:
    """A scenario, and what comes of its first moments; the same at every scale."""
    text = read_text(path, MOST_BYTES, "there is no such file; it is part of packetloom: install it again")
    scenario = tomllib.loads(text)
    plan = plan_from_text(json.dumps(tiny(scenario, until)), "json", str(path), ())
    return [scenario, *map(_outcome, plan.cases)]


def tiny(scenario: Mapping[str, Any], until: str) -> dict[str, Any]:
    """A scenario's first moments: one seed, the highest load, few flows, nothing left out as warm-up."""
    run = {key: value for key, value in scenario["run"].items() if key not in ("warm_up", "precision")}
    run |= {"seeds": 1, "max_time": until}
    if "duration" in run:
        run["duration"] = until
    if "loads" in run:
        run["loads"] = [max(run["loads"])]
    if "flows" in run:
        run["flows"] = min(run["flows"], MOST_FLOWS)
    return {**scenario, "run": run}


def _outcome(case: _core.Case) -> list[object]:
    outcome = _core.Simulation(case).run(1)
    counters = outcome.counters
    return [outcome.fingerprint, *(counters[name] for name in COUNTED)]


def main() -> None:
    """Names what is stale of the papers that were named, or of all, or has it said in their files and tables.

    The exit code is 1 if a file is stale and does not say so.
    """
    arguments = sys.argv[1:]
    marks = "--mark" in arguments
    try:
        silent = [_check(paper, marks=marks) for paper in [one for one in arguments if one != "--mark"] or PAPERS]
    except PacketloomError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(any(silent))


def _check(paper: str, *, marks: bool) -> bool:
    """Whether a file of the paper is stale in silence."""
    from packetloom.reproduce.tables import write_readme
    from packetloom.reproduce.verdicts import committed_file, mark_stale, stale

    find_paper(paper)
    silent = False
    for scale in get_args(Scale):
        committed = committed_file(paper, scale)
        if committed is None:
            continue
        names = stale(committed, fingerprints(paper, scale))
        said = f"stale: {', '.join(names)}" if names else f"of this code ({committed.date})"
        print(f"{paper}, {scale}: {said}" + (", as its file says" if names and committed.stale else ""))
        if names and marks and not committed.stale:
            mark_stale(paper, scale, names)
            print(f"marked: {write_readme(paper)}")
        silent |= bool(names) and not (committed.stale or marks)
    return silent


if __name__ == "__main__":
    main()
