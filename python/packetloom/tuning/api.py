"""`packetloom.tune`: the same as the command."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from packetloom.common import arguments
from packetloom.common.warned import warn
from packetloom.errors import ArgumentError
from packetloom.scenario.override_texts import Overrides, texts
from packetloom.scenario.plan import ScenarioSource
from packetloom.tuning import outcome, record
from packetloom.tuning.goal import Goal, goal_of
from packetloom.tuning.loop import OWN, Running, Tuner, held_out_folder
from packetloom.tuning.outcome import Tuning
from packetloom.tuning.ranges import parse_all
from packetloom.tuning.rounds import Rounds
from packetloom.tuning.sampler import Sampler
from packetloom.tuning.space import Space, read_space

TRIALS = 64
TOGETHER = 8
HELD_OUT = 10
MOST_TRIALS = 100_000
MOST_SEEDS = 1000


def tune(
    scenario: ScenarioSource,
    vary: Mapping[str, str] | Sequence[str],
    *,
    minimise: str | None = None,
    maximise: str | None = None,
    require: Sequence[str] = (),
    trials: int = TRIALS,
    together: int = TOGETHER,
    held_out: int = HELD_OUT,
    sampler_seed: int = 1,
    overrides: Overrides = (),
    workers: int | None = None,
    output: str | Path | None = None,
    progress: bool = True,
    ray: str | None = None,
    keep_older: bool = False,
) -> Tuning:
    """Searches for the values of a few keys that serve best, and judges the best on seeds that it never saw.

    `vary` has the range of each key: `{"scheme.DCTCP.queue.mark_above": "10KB..400KB:log"}`, or texts as for
    `packetloom tune --vary`. `minimise` or `maximise` names a statistic of the result tables, such as
    `flows.slowdown.p99`; `require` has conditions such as `cases.drops<=0`. `trials` points are run, `together` of them
    proposed at a time: what is proposed depends on that, on `sampler_seed` and on results alone. `held_out` is the
    number of seeds on which the best point is judged. Into a folder that holds part of it, only the rest is run.

    Needs Optuna (`pip install 'optuna>=4'`). `PacketloomError` for a range, a statistic or a key that there is not.

    Examples:
        >>> ranges = {"scheme.DCTCP.queue.mark_above": "5KB..90KB"}
        >>> tuning = packetloom.tune(scenario, ranges, minimise="flows.fct_ns.mean", trials=2, held_out=2,
        ...                          overrides=["run.loads=[0.2]"], progress=False)
        >>> len(tuning.points), len(tuning.judged)
        (2, 1)
    """
    if not isinstance(vary, Mapping | Sequence) or isinstance(vary, str):
        raise arguments.wrong("vary", vary, 'a dict such as {"run.flows": "10..100"}, or a list of texts KEY=RANGE')
    ranges = [f"{key}={range}" for key, range in vary.items()] if isinstance(vary, Mapping) else list(vary)
    for name, one in (("minimise", minimise), ("maximise", maximise), ("ray", ray)):
        if one is not None:
            arguments.instance(name, one, str, "a text, or None")
    if isinstance(require, str) or not all(isinstance(one, str) for one in (*require, *ranges)):
        raise ArgumentError("vary and require hold texts; give lists of them")
    goal = goal_of(minimise, maximise, require)
    space = read_space(scenario, texts(overrides), parse_all(ranges))
    warn(space.warnings)
    given = None if output is None else arguments.path("output", output)
    return run_tuning(
        space,
        goal,
        arguments.folder(given),
        Running(arguments.workers(workers), ray, arguments.flag("keep_older", keep_older)),
        Rounds(sys.stderr if arguments.flag("progress", progress) else None),
        trials=arguments.whole("trials", trials, 1, MOST_TRIALS),
        together=arguments.whole("together", together, 1, MOST_TRIALS),
        held_out=arguments.whole("held_out", held_out, 2, MOST_SEEDS),
        sampler_seed=arguments.whole("sampler_seed", sampler_seed, 0, 2**32 - 1),
    )


def run_tuning(
    space: Space,
    goal: Goal,
    folder: Path,
    running: Running,
    rounds: Rounds,
    *,
    trials: int,
    together: int,
    held_out: int,
    sampler_seed: int,
) -> Tuning:
    """Runs what is not finished yet, and says what came of it."""
    seeds = space.held_out(held_out)
    sampler = Sampler(space.dimensions, sampler_seed)
    now = record.about(space, goal, seed=sampler_seed, together=together, optuna=sampler.version)
    written = record.open_record(folder, now)
    tuner = Tuner(space, goal, folder, running, rounds)
    tuner.read(written)
    left = tuner.cases_left(written, trials=trials, held_out=held_out)
    rounds.foretell(list(tuner.cases[OWN].values()), left, running.workers)
    points = tuner.tune(sampler, written, trials=trials, together=together)
    best = outcome.best_of(points)
    judged: tuple[outcome.Judged, ...] = ()
    violated = 0
    if best:
        own, tuned = tuner.held_out(best.settings, seeds)
        judged = outcome.judge(goal, own, tuned, space.plan.alike)
        violated = sum(bool(one.violation) for one in tuned.values())
    return Tuning(
        folder=folder,
        goal=goal.text,
        points=tuple(points),
        importances=outcome.corrected(sampler.importances(sampler_seed)),
        best=best.settings if best else None,
        held_out_seeds=tuple(seeds),
        judged=judged,
        violated=violated,
        held_out=held_out_folder(folder, best.settings, seeds) if best else None,
    )
