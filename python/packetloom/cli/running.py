"""Commands that write a scenario or run it: new, run, search, tune, fidelity, combine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from packetloom.cli import completion
from packetloom.cli.app import (
    AuditOption,
    FoldersArgument,
    JsonOption,
    KeepOlderOption,
    NoCacheOption,
    RayOption,
    ScenarioArgument,
    SetOption,
    ShardOption,
    WorkersOption,
    app,
)
from packetloom.cli.endings import exit_if_stalled, interruptible, print_results_of
from packetloom.start import INTERRUPTED

if TYPE_CHECKING:
    pass


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The scenario to write.")] = Path("scenario.toml"),
    fabric: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="leaf-spine, rail-optimised ... or a file of HPCC's or htsim's simulator.",
            autocompletion=completion.fabrics,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A distribution of flow sizes, a file of your own sizes, incast, all-reduce, training ...",
            autocompletion=completion.workloads,
        ),
    ] = None,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Transports to compare, each with a queue and a routing that suit it; or FILE.py:CLASS.",
            autocompletion=completion.schemes,
        ),
    ] = None,
    load: Annotated[
        list[str] | None, typer.Option(metavar="LOAD,...", help="Fractions of the hosts' link, such as 0.3,0.6.")
    ] = None,
    flows: Annotated[int | None, typer.Option(help="How many flows a case has.", min=1, max=10_000_000)] = None,
    seeds: Annotated[int | None, typer.Option(help="How often each case is repeated.", min=1, max=1000)] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help="Of every link, such as 10Gbps.")] = None,
    oversubscription: Annotated[
        list[str] | None, typer.Option(metavar="RATIO,...", help="What hosts can send over what uplinks carry.")
    ] = None,
    failed_link: Annotated[
        bool, typer.Option("--failed-link", help="Compare the whole fabric with one that lacks an uplink.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Write a commented scenario that runs as it is. In a terminal, without options, it asks a few questions."""
    from packetloom.new import choices
    from packetloom.new.command import check_can_write, write_scenario
    from packetloom.new.text import Answers

    check_can_write(file, force)
    given: dict[str, Any] = {"fabric": fabric, "workload": workload, "rate": rate, "flows": flows, "seeds": seeds}
    given["schemes"] = choices.schemes("--scheme", scheme) if scheme else None
    given["loads"] = choices.loads("--load", load) if load else None
    given["oversubscription"] = choices.ratios("--oversubscription", oversubscription) if oversubscription else None
    given["failed_link"] = failed_link or None
    given = {name: value for name, value in given.items() if value is not None}
    if not given and sys.stdin.isatty():
        from packetloom.new.questions import ask_all

        try:
            answers = ask_all()
        except (EOFError, KeyboardInterrupt):
            print("\nstopped; nothing was written", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
    else:
        answers = Answers(**given)
    for line in write_scenario(file, answers):
        print(line)


@app.command()
def run(
    scenario: ScenarioArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Results folder; results/NAME if not given.")
    ] = None,
    workers: WorkersOption = None,
    settings: SetOption = None,
    shard: ShardOption = None,
    no_cache: NoCacheOption = False,
    ray: RayOption = None,
    audit: AuditOption = False,
    keep_older: KeepOlderOption = False,
) -> None:
    """Run a scenario. If it is stopped or killed, the same command resumes it."""
    from packetloom.campaign.progress import reporter_for
    from packetloom.campaign.runner import run_plan
    from packetloom.campaign.schedule import Shard
    from packetloom.scenario.facts import slow_alone
    from packetloom.scenario.plan import read_plan

    share = None if shard is None else Shard.parse(shard)
    plan = read_plan(scenario, settings or ())
    for warning in (*plan.warnings, *slow_alone(plan.cases)):
        print(f"warning: {warning}", file=sys.stderr)
    folder = output or (scenario if scenario.is_dir() and not settings else plan.default_folder())
    if share and not output and not scenario.is_dir():
        folder = folder.with_name(f"{folder.name}-{share}")
    with interruptible():
        reporter = reporter_for(sys.stderr)
        results = run_plan(
            plan,
            folder,
            workers,
            reporter,
            shard=share,
            cache=not no_cache,
            ray=ray,
            audit=audit,
            keep_older=keep_older,
        )
    print_results_of(results)
    print(f"\nresults in {folder}; figures: packetloom report {folder}")
    exit_if_stalled(results)


@app.command()
def search(
    scenario: ScenarioArgument,
    vary: Annotated[
        str,
        typer.Option(
            metavar="KEY=LOW..HIGH", help="What to raise, and how far, for example workload.0.pattern.fan_in=1..80."
        ),
    ],
    hold: Annotated[float, typer.Option(help="The share of the deadlines that must be met.")] = 0.99,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Results folder; results/NAME-search if not given."),
    ] = None,
    workers: WorkersOption = None,
    settings: SetOption = None,
    json_file: JsonOption = None,
    keep_older: KeepOlderOption = False,
) -> None:
    """Find, by bisection, how far a key can be raised while deadlines are still met. Resumes like `run`."""
    from packetloom.campaign.progress import reporter_for
    from packetloom.campaign.search import Range, held_values, print_held, run_search, write_held
    from packetloom.scenario.plan import read_plan
    from packetloom.store.targets import check_target

    check_target(json_file, scenario)
    range = Range.parse(vary)
    plan = read_plan(scenario, settings or ())
    for warning in plan.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    default = plan.default_folder()
    folder = output or default.with_name(f"{default.name}-search")
    with interruptible():
        results = run_search(
            scenario,
            range,
            share=hold,
            overrides=settings or (),
            workers=workers,
            output=folder,
            reporter=reporter_for(sys.stderr),
            keep_older=keep_older,
        )
    found = held_values(results, range, hold)
    print_held(found, range, hold, results.build_note())
    if json_file:
        write_held(found, json_file)
    print(f"\nevery run in {folder}; their table: packetloom report {folder}")
    exit_if_stalled(results)


@app.command()
def tune(
    scenario: ScenarioArgument,
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=LOW..HIGH[:log]",
            help="What may vary, such as scheme.DCTCP.queue.mark_above=10KB..400KB:log, or KEY=ONE|OTHER.",
        ),
    ],
    minimise: Annotated[
        str | None,
        typer.Option(
            "--minimise",
            "--minimize",
            metavar="STATISTIC",
            help="What is to be small: TABLE.COLUMN.STATISTIC, such as flows.slowdown.p99.",
            autocompletion=completion.statistics,
        ),
    ] = None,
    maximise: Annotated[
        str | None,
        typer.Option(
            "--maximise",
            "--maximize",
            metavar="STATISTIC",
            help="What is to be large, such as flows.goodput_gbps.mean.",
            autocompletion=completion.statistics,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="STATISTIC<=NUMBER", help="What must hold in every run, such as cases.drops<=0."),
    ] = None,
    trials: Annotated[int, typer.Option(help="How many points are tried.", min=1, max=100_000)] = 64,
    together: Annotated[
        int, typer.Option(help="Points proposed at a time; what is proposed depends on it.", min=1, max=10_000)
    ] = 8,
    held_out: Annotated[
        int, typer.Option("--held-out", help="Seeds on which the best point is judged.", min=2, max=1000)
    ] = 10,
    sampler_seed: Annotated[
        int, typer.Option("--sampler-seed", help="Another one proposes other points.", min=0, max=2**32 - 1)
    ] = 1,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Results folder; results/NAME-tune if not given."),
    ] = None,
    workers: WorkersOption = None,
    settings: SetOption = None,
    ray: RayOption = None,
    json_file: JsonOption = None,
    keep_older: KeepOlderOption = False,
) -> None:
    """Find the values of a few keys that serve best, what of them mattered, and whether it holds on other seeds.

    It needs Optuna: pip install 'optuna>=4'. If it is stopped or killed, the same command resumes it.
    """
    from packetloom.common.files import write_json
    from packetloom.pages.tuned import drift, tuning_page
    from packetloom.store.targets import check_target
    from packetloom.tuning.api import run_tuning
    from packetloom.tuning.goal import goal_of
    from packetloom.tuning.loop import Running
    from packetloom.tuning.ranges import parse_all
    from packetloom.tuning.rounds import Rounds
    from packetloom.tuning.space import read_space
    from packetloom.tuning.telling import print_tuning

    check_target(json_file, scenario)
    goal = goal_of(minimise, maximise, require or ())
    space = read_space(scenario, tuple(settings or ()), parse_all(vary))
    for warning in space.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    default = space.plan.default_folder()
    folder = output or default.with_name(f"{default.name}-tune")
    with interruptible():
        found = run_tuning(
            space,
            goal,
            folder,
            Running(workers, ray, keep_older),
            Rounds(sys.stderr),
            trials=trials,
            together=together,
            held_out=held_out,
            sampler_seed=sampler_seed,
        )
    drifts = drift(found)
    if drifts:
        print(f"warning: {drifts}", file=sys.stderr)
    print_tuning(found, space.dimensions)
    page = folder / "tuning.html"
    tuning_page(found, space.dimensions, space.plan.name, drifts).write(page)
    if json_file:
        write_json(json_file, found.to_dict(), "what was found")
    print(f"\nevery point in {folder}; what was held out: packetloom report {found.held_out or folder}; page: {page}")


@app.command()
def fidelity(
    scenario: ScenarioArgument,
    flows: Annotated[
        int | None, typer.Option(help="Flows of each case; if not given, as many as take about a minute.", min=1)
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds of each case.", min=1, max=1_000)] = 3,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Results folder; results/NAME-fidelity if not given."),
    ] = None,
    workers: WorkersOption = None,
    settings: SetOption = None,
    json_file: JsonOption = None,
    no_cache: NoCacheOption = False,
    keep_older: KeepOlderOption = False,
) -> None:
    """Measure what estimates (run.fidelity) cost in accuracy and save in time, on a shortened version of a scenario."""
    from packetloom.campaign.fidelity import measured, planned, printed, run_fidelity
    from packetloom.campaign.progress import reporter_for
    from packetloom.common.files import write_json
    from packetloom.store.targets import check_target

    check_target(json_file, scenario)
    asked = planned(scenario, flows=flows, seeds=seeds, overrides=settings or ())
    plan = asked.plan
    for warning in [*plan.warnings, *asked.refusals]:
        print(f"warning: {warning}", file=sys.stderr)
    folder = output or Path("results") / f"{plan.name}-fidelity"
    with interruptible("The same command goes on from there."):
        results = run_fidelity(
            plan,
            folder,
            workers=workers,
            reporter=reporter_for(sys.stderr),
            cache=not no_cache,
            keep_older=keep_older,
            axes=asked.axes,
        )
    errors = measured(results, asked.axes)
    printed(errors, asked.smaller)
    if json_file:
        write_json(json_file, errors.to_dicts(), "what was found")
    print(f"\nresults in {folder}; beside estimates: packetloom report ESTIMATES --errors {folder}/fidelity.json")
    exit_if_stalled(results)


@app.command("combine")
def combine_command(
    folders: FoldersArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder that gets all of them.")],
) -> None:
    """Merge results folders, such as those of a campaign's shards, into one."""
    from packetloom.campaign.combine import combine

    results, missing = combine(folders, output)
    print_results_of(results)
    print(f"\n{len(results.rows())} cases in {output}; figures: packetloom report {output}")
    if missing:
        print(f"{missing} cases are missing: packetloom run {output} runs them", file=sys.stderr)
