"""`packetloom.run`, and `packetloom.estimate`: the same power as the command line."""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path

from packetloom.campaign.forecast import RUNGS, Rung
from packetloom.campaign.progress import reporter_asked
from packetloom.campaign.runner import run_plan
from packetloom.campaign.schedule import Shard
from packetloom.common import arguments
from packetloom.common.warned import warn
from packetloom.scenario.facts import slow_alone
from packetloom.scenario.override_texts import Overrides, texts
from packetloom.scenario.plan import ScenarioSource, read_plan
from packetloom.store.results import Results


def run(
    scenario: ScenarioSource,
    output: str | Path | None = None,
    *,
    workers: int | None = None,
    overrides: Overrides = (),
    progress: bool = True,
    shard: str | None = None,
    cache: bool = True,
    ray: str | None = None,
    audit: bool = False,
    keep_older: bool = False,
) -> Results:
    """Runs a scenario (a file, a dict, a `Scenario`, or a results folder) and gives its results.

    Without `output` the results go to a temporary folder, which goes with the returned object. Into a folder that
    holds part of them, only the rest is run. `overrides` are texts as for `packetloom run --set`, or values by key:
    `{"run.seeds": 5}`. `shard` is one such as `"2/8"`: only that share of the cases is run. Without `cache` even cases
    with results from earlier runs are recomputed. `ray` is a Ray cluster's `"HOST:PORT"`, or `"local"` to start Ray on
    this machine. With `audit` the invariants of every simulation are checked as it runs, and `InvariantError` is raised
    if one is violated. Finished cases that another build of packetloom computed are computed again, unless
    `keep_older`. What `packetloom check` warns of is a `ScenarioWarning`.

    A mistake in the scenario raises `ScenarioError` with its key, one in an argument `ArgumentError`, and anything else
    that a user can correct `PacketloomError`; each says what to write.

    Examples:
        >>> results = packetloom.run(scenario, overrides={"run.seeds": 1, "run.loads": [0.2]}, progress=False)
        >>> results.to_polars("flows").group_by("scheme", maintain_order=True).len().rows()
        [('TCP', 50), ('DCTCP', 50)]
    """
    text = "a text such as"
    share = None if shard is None else Shard.parse(arguments.instance("shard", shard, str, f'{text} "2/8"'))
    address = None if ray is None else arguments.instance("ray", ray, str, f'{text} "local"')
    given = None if output is None else arguments.path("output", output)
    limit = arguments.workers(workers)
    keep, checked = arguments.flag("cache", cache), arguments.flag("audit", audit)
    reporter = reporter_asked(progress)
    plan = read_plan(scenario, overrides)
    warn([*plan.warnings, *slow_alone(plan.cases)])
    folder = arguments.folder(given)
    older = arguments.flag("keep_older", keep_older)
    results = run_plan(
        plan, folder, limit, reporter, shard=share, cache=keep, ray=address, audit=checked, keep_older=older
    )
    if given is None:
        weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results


def estimate(
    scenario: ScenarioSource,
    rung: Rung = "flows",
    output: str | Path | None = None,
    *,
    workers: int | None = None,
    overrides: Overrides = (),
    progress: bool = True,
) -> Results:
    """Estimates a scenario below packets: `run` with `run.fidelity` set to the rung (docs/fidelity.md).

    `ScenarioError` where the rung does not hold for a scheme. `packetloom.fidelity` measures what it costs in accuracy.

    Examples:
        >>> less = ["run.loads=[0.2]", "measure.queues=false"]
        >>> results = packetloom.estimate(scenario, overrides=less, progress=False)
        >>> results.table("flows", ["slowdown"]).num_rows
        200
    """
    if rung not in RUNGS:
        raise arguments.wrong("rung", rung, f"one of {', '.join(RUNGS)}")
    settings = (*texts(overrides), f'run.fidelity="{rung}"')
    return run(scenario, output, workers=workers, overrides=settings, progress=progress)
