"""The command line. Each command loads what it needs when it runs, so that `--help` comes at once."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperGroup

from packetloom import start
from packetloom.cli import completion
from packetloom.common.arguments import MOST_WORKERS, with_values
from packetloom.errors import Interrupted, InvariantError, PacketloomError, harmless
from packetloom.start import INTERRUPTED

if TYPE_CHECKING:
    from packetloom.store.results import Results

MISTAKE = 2
STALLED = 3
INVARIANT_VIOLATED = 4


class Against(StrEnum):
    """What `validate` compares with."""

    THEORY = "theory"
    PEERS = "peers"
    KERNEL = "kernel"


class Commands(TyperGroup):
    """The commands. One that is interrupted before it can say what was kept still ends with a message."""

    def invoke(self, ctx: Any) -> Any:
        start.loaded()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("stopped. Run the same command to resume.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


def _can_be_written(file: Path | None) -> Path | None:
    """Checked before the work, which may take hours."""
    if file and (file.is_dir() or not file.parent.is_dir()):
        raise typer.BadParameter(f"{file} is a folder" if file.is_dir() else f"there is no folder {file.parent}")
    if file:
        from packetloom.store.targets import check_target

        check_target(file)
    return file


app = typer.Typer(
    name="packetloom",
    cls=Commands,
    help="Simulate datacenter networks packet by packet and compare how they serve real workloads.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ScenarioArgument = Annotated[
    Path, typer.Argument(metavar="SCENARIO", help="A scenario file, or a results folder to run again.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key, for example scheme.DCTCP.queue.capacity=100KB."),
]
WorkersOption = Annotated[
    int | None, typer.Option(help="Cases to run at a time; every core if not given.", min=1, max=MOST_WORKERS)
]
ShardOption = Annotated[
    str | None, typer.Option(metavar="I/N", help="Run only the I-th of N shares, counted from 1; see `combine`.")
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Recompute every case, even if an earlier run has its result.")
]
RayOption = Annotated[
    str | None,
    typer.Option(metavar="[HOST:PORT]", help="Run on a Ray cluster; without an address, on Ray on this machine."),
]
AuditOption = Annotated[
    bool, typer.Option("--audit", help="Check the invariants of every simulation as it runs; recomputes every case.")
]
KeepOlderOption = Annotated[
    bool, typer.Option("--keep-older", help="Keep finished cases that another build of packetloom computed.")
]
FoldersArgument = Annotated[list[Path], typer.Argument(metavar="DIR", help="Results folders.")]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the outcome as JSON, too.", callback=_can_be_written),
]


def main() -> None:
    """Runs the command line; a user's mistake is a message and exit code 2."""
    _print_what_it_can()
    try:
        try:
            app(with_values(sys.argv[1:]), prog_name="packetloom")
        finally:
            _flush()
    except PacketloomError as error:
        from packetloom.common import stale_engine

        # An old engine does not know what newer scenarios may say.
        lines = [f"error: {line}" for line in str(error).splitlines()]
        _end([*lines, *(f"note: {note}" for note in [stale_engine.note()] if note)], _code(error))
    except OSError as error:
        _fail(f"{error.filename or 'standard output, or a file that was open'}: {error.strerror or error}", MISTAKE)
    except MemoryError:
        _fail("there is not enough memory for this", MISTAKE)


def _print_what_it_can() -> None:
    """A letter that a terminal's encoding does not have is written as its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Now, while a failure to write the output can still be reported: a full disk, or a reader that has left."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again as it ends
        if not isinstance(error, BrokenPipeError):
            _fail(f"standard output: {error.strerror}", MISTAKE)


def _code(error: PacketloomError) -> int:
    return INVARIANT_VIOLATED if isinstance(error, InvariantError) else MISTAKE


def _fail(message: str, code: int) -> NoReturn:
    _end([f"error: {line}" for line in message.splitlines()], code)


def _end(lines: Iterable[str], code: int) -> NoReturn:
    for line in lines:
        print(harmless(line), file=sys.stderr)
    sys.exit(code)


def _version(asked: bool) -> None:
    if asked:
        from packetloom import _core

        print(f"packetloom {_core.version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
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
    from packetloom.scenario.plan import read_plan

    share = None if shard is None else Shard.parse(shard)
    plan = read_plan(scenario, settings or ())
    for warning in plan.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    folder = output or (scenario if scenario.is_dir() and not settings else plan.default_folder())
    if share and not output and not scenario.is_dir():
        folder = folder.with_name(f"{folder.name}-{share}")
    try:
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
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. Run the same command to resume.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    _print_results(results)
    print(f"\nresults in {folder}; figures: packetloom report {folder}")
    _exit_if_stalled(results)


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
    try:
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
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. Run the same command to resume.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    found = held_values(results, range, hold)
    print_held(found, range, hold, results.build_note())
    if json_file:
        write_held(found, json_file)
    print(f"\nevery run in {folder}; their table: packetloom report {folder}")
    _exit_if_stalled(results)


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
    from packetloom.campaign.fidelity import fidelity_errors, fidelity_plan, print_fidelity, run_fidelity
    from packetloom.campaign.progress import reporter_for
    from packetloom.common.files import write_json
    from packetloom.store.targets import check_target

    check_target(json_file, scenario)
    plan, refusals = fidelity_plan(scenario, flows=flows, seeds=seeds, overrides=settings or ())
    for warning in plan.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for refusal in refusals:
        print(f"warning: {refusal}", file=sys.stderr)
    folder = output or Path("results") / f"{plan.name}-fidelity"
    try:
        results = run_fidelity(
            plan,
            folder,
            workers=workers,
            reporter=reporter_for(sys.stderr),
            cache=not no_cache,
            keep_older=keep_older,
        )
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. The same command goes on from there.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    errors = fidelity_errors(results)
    print_fidelity(errors)
    if json_file:
        write_json(json_file, errors.to_dicts(), "what was found")
    print(f"\nresults in {folder}; beside estimates: packetloom report ESTIMATES --errors {folder}/fidelity.json")
    _exit_if_stalled(results)


@app.command("combine")
def combine_command(
    folders: FoldersArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder that gets all of them.")],
) -> None:
    """Merge results folders, such as those of a campaign's shards, into one."""
    from packetloom.campaign.combine import combine

    results, missing = combine(folders, output)
    _print_results(results)
    print(f"\n{len(results.rows())} cases in {output}; figures: packetloom report {output}")
    if missing:
        print(f"{missing} cases are missing: packetloom run {output} runs them", file=sys.stderr)


@app.command()
def report(
    folders: FoldersArgument,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The page; report.html in the first DIR.")
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `fidelity` measured, to be shown beside estimates; if not given, fidelity.json in each DIR.",
        ),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--pdf", metavar="FILE", help="What came out on one sheet of paper, too.", callback=_can_be_written
        ),
    ] = None,
) -> None:
    """Write one HTML page with the results table, all figures and the fabric: nothing is fetched from elsewhere."""
    from packetloom.report.report import write_report
    from packetloom.stats.estimates import FILE
    from packetloom.store.results import Results
    from packetloom.store.targets import check_target

    check_target(output, errors, *(folder / FILE for folder in folders))
    several = [Results(folder) for folder in folders]
    page = write_report(several, output or folders[0] / "report.html", errors=errors)
    print(f"wrote {page}")
    if sheet is not None:
        from packetloom.report.one_page import write_one_page

        print(f"wrote {write_one_page(several, sheet)}")


@app.command()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A results folder, or DIR:SCHEME for one scheme of it.")],
    b: Annotated[
        str | None, typer.Argument(metavar="[B]", help="The same; :SCHEME is another scheme of A's folder.")
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS", help="Instead of B: what the values of an axis of A's grid cost, such as oversubscription."
        ),
    ] = None,
    base: Annotated[
        str | None, typer.Option("--from", metavar="VALUE", help="With --along: what to begin at, if not the first.")
    ] = None,
    worse_than: Annotated[
        float | None,
        typer.Option(
            "--worse-than", metavar="TIMES", min=1.0, help="Exit with 1 if B is more than so many times as bad as A."
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="STATISTIC", help="What decides, if not what the scenario is about.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Say how two schemes, two folders, or the values of an axis differ, seed by seed, and how sure that is.

    Two folders may be of two builds. The exit code is 1 if --worse-than is given and B is worse by more anywhere, or
    has no value where A has one.
    """
    from packetloom.cli.compare import Comparison, Side, as_json, print_along, print_comparison, times_said
    from packetloom.common.files import write_json
    from packetloom.common.terminal import console

    if (b is None) == (along is None):
        raise PacketloomError("write B, or --along AXIS: one of the two is compared with A")
    names: dict[str, str] = {}
    if along is not None:
        from packetloom.report.grid_costs import along as values_along
        from packetloom.store.results import Results, Snapshot

        rows, lacking = print_along(values_along(Snapshot(Results(a)), along, base), console(), by)
    else:
        if base is not None:
            raise PacketloomError("--from goes with --along")
        one = Side.parse(a)
        comparison = Comparison(one, Side.parse(str(b), one))
        rows = print_comparison(comparison, console(), by)
        lacking, names = comparison.lacking(comparison.measure(by)), comparison.names
    if json_file:
        write_json(json_file, as_json(rows, lacking), "the comparison")
    if worse_than is None:
        return
    worse = [row for row in rows if row.times_as_bad is not None and row.times_as_bad > worse_than]
    for row in worse:
        at = f" at {row.condition}" if row.condition else ""
        print(f"worse: {row.b}{at} is {times_said(row.times_as_bad)} as bad as {row.a}", file=sys.stderr)
    for one_lacking in lacking:
        print(f"lacking: {one_lacking.text(names)}", file=sys.stderr)
    if worse or lacking:
        raise typer.Exit(1)
    print(
        "B is nowhere worse than A" if worse_than == 1 else f"B is nowhere more than {worse_than:g} times as bad as A"
    )


@app.command()
def view(
    folders: FoldersArgument,
    port: Annotated[int, typer.Option(help="Where it listens on this machine; 0 takes any that is free.")] = 8437,
) -> None:
    """Show the report in a browser, and follow a run in progress."""
    from packetloom.report.server import serve
    from packetloom.store.results import Results

    serve([Results(folder) for folder in folders], port)


@app.command()
def plot(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE", help="A figure that `packetloom list figures` names.", autocompletion=completion.figures
        ),
    ],
    folders: FoldersArgument,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Its extension sets the format.")],
    load: Annotated[float | None, typer.Option(help="The load to show, in figures of one load.")] = None,
    statistic: Annotated[str | None, typer.Option(help="mean, p99, ...; for queues mean, p99, max.")] = None,
    bin: Annotated[str | None, typer.Option(help="For figures by load: a size bin, like '(0, 100KB]'.")] = None,
    axis: Annotated[str | None, typer.Option(help="For `along`: the axis of the grid.")] = None,
    operation: Annotated[str | None, typer.Option(help="For figures of jobs: the kind of operation.")] = None,
    scheme: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this scheme; may be given several times.")
    ] = None,
    columns: Annotated[int, typer.Option(help="Of a paper in two columns: how many it is wide.", min=1, max=2)] = 1,
    width: Annotated[float | None, typer.Option(help="Instead: how many inches it is wide.", min=1, max=50)] = None,
    font: Annotated[str | None, typer.Option(help="A font's name, such as 'Times New Roman', or serif.")] = None,
    font_size: Annotated[float, typer.Option(help="In points.", min=3, max=40)] = 8.0,
) -> None:
    """Draw one figure for print, as wide as a paper's column (.pdf, .pgf, .png, .svg)."""
    from packetloom.report.plots import Sheet, save_figure
    from packetloom.store.results import Results
    from packetloom.store.targets import check_target

    check_target(output)
    options = {"load": load, "statistic": statistic, "bin": bin, "axis": axis, "operation": operation}
    given = {name: value for name, value in options.items() if value is not None}
    sheet = Sheet(columns, width, font, font_size, tuple(scheme or ()))
    save_figure(figure, [Results(folder) for folder in folders], output, given, sheet)
    print(f"wrote {output}")


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")],
    format: Annotated[
        str, typer.Option(help="fct-hpcc, fct-conweave, flow-monitor, pcapng, chrome-trace or chakra.")
    ] = "fct-hpcc",
) -> None:
    """Write every case's flows, or its captured packets, in another tool's format."""
    from packetloom.exchange import export as write
    from packetloom.store.results import Results
    from packetloom.store.targets import check_target_folder

    if not output.strip():
        raise PacketloomError('-o "": name the folder that the files go to, or . for this one')
    check_target_folder(Path(output))
    for file in write(Results(folder), format, Path(output)):
        print(f"wrote {file}")


@app.command("list")
def list_command(
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="[SECTION]",
            help="transport, queue, figures ...; all if not given.",
            autocompletion=completion.sections,
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option("-s", "--search", metavar="TEXT", help="Only what has this in its name or description."),
    ] = None,
) -> None:
    """List what a scenario can name, and the figures, papers and benchmarks there are."""
    from packetloom.cli.catalogue import print_catalogue

    print_catalogue(section, search)


@app.command()
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A component or section of scenarios, or FILE.py:CLASS; see `list`.",
            autocompletion=completion.components,
        ),
    ],
) -> None:
    """Explain a component: its parameters, their units, defaults and sources."""
    from packetloom.cli.catalogue import print_explanation

    print_explanation(name)


@app.command()
def doctor(
    control: Annotated[
        str, typer.Argument(metavar="FILE.py[:CLASS]", help="A congestion control in Python; see your-own-scheme.md.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="The page; NAME-doctor.html if not given.", callback=_can_be_written
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the class, for example g=0.5."),
    ] = None,
) -> None:
    """Run a congestion control of your own through a fixed set of situations, beside DCTCP and TCP.

    It prints a table and writes a page. The exit code is 1 if the class does not survive a situation.
    """
    from packetloom.doctor.command import run_doctor
    from packetloom.schemes.named import named_class
    from packetloom.store.targets import check_target

    check_target(output, named_class(control)[0])
    try:
        survived = run_doctor(control, output, settings or ())
    except KeyboardInterrupt:
        print("stopped. The same command starts over.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(0 if survived else 1)


@app.command()
def check(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO", help="A scenario file, or a results folder: then its files, too.")
    ],
    settings: SetOption = None,
) -> None:
    """Check a scenario without running it: its cases, what they imply and cost, and warnings. Of a folder: its files,
    too."""
    from packetloom.campaign.forecast import forecast, told
    from packetloom.scenario import confounders
    from packetloom.scenario.plan import doubts, facts, read_plan
    from packetloom.scenario.run_lengths import first_round, said_of_more

    if scenario.is_dir():
        from packetloom.store.integrity import check_folder

        print(f"{scenario}: {check_folder(scenario)} finished cases, and all files are as they were written")
    plan = read_plan(scenario, settings or ())
    found = [*plan.warnings, *doubts(plan.cases)]
    for warning in found:
        print(f"warning: {warning}")
    first = first_round(plan)
    cost = [*told(forecast(first), plan), *said_of_more(plan)]
    for line in (*facts(plan.cases), *confounders.lines(confounders.unequal(plan.cases)), *cost):
        print(line)
    begin = " to begin with" if len(first) < len(plan.cases) else ""
    print(f"{scenario}: {len(first)} case{'s' if len(first) != 1 else ''}{begin}, no mistakes")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the scenario format, for editors that complete and check."""
    from packetloom import _core

    print(_core.schema())


@app.command()
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER", help="A paper that `packetloom list papers` names.", autocompletion=completion.papers
        ),
    ],
    figure: Annotated[str | None, typer.Option(metavar="N", help="Only this figure and the claims it shows.")] = None,
    scale: Annotated[
        Literal["quick", "full"], typer.Option(help="quick takes minutes; full has enough flows for every tail.")
    ] = "quick",
    json_file: JsonOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where the runs and the page go.")
    ] = None,
    workers: WorkersOption = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Commit this run's verdicts: the list and the paper's README.")
    ] = False,
    keep_older: KeepOlderOption = False,
) -> None:
    """Redo a paper's experiments and check its claims one by one.

    The exit code is 1 if a verdict is another than the committed one.
    """
    from packetloom.reproduce import check_acceptable, check_verdicts, reproduce_paper

    if accept:
        if keep_older:
            raise PacketloomError("--accept commits what this build computes: leave --keep-older out")
        check_acceptable(paper, figure)
    try:
        findings = reproduce_paper(paper, figure, scale, json_file, output, workers, keep_older)
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. Run the same command to resume.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if not check_verdicts(paper, figure, scale, findings, accept=accept):
        raise typer.Exit(1)


@app.command()
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="All if not given.")] = None,
    json_file: JsonOption = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="PYTHON", help="Compare with the build that this Python has, in pairs of runs."),
    ] = None,
    pairs: Annotated[int, typer.Option(help="With --against: how many.", min=1)] = 5,
) -> None:
    """Measure the simulator's speed and memory."""
    from packetloom.store.targets import check_target

    check_target(json_file, against)
    if against:
        from packetloom.bench.comparison import compare_builds

        compare_builds(names or [], against, pairs, json_file)
    else:
        from packetloom.bench.benchmarks import run_benchmarks

        run_benchmarks(names or [], json_file)


fabric_bench = typer.Typer(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
app.add_typer(fabric_bench, name="fabric-bench")

ScaleOption = Annotated[
    Literal["quick", "full"],
    typer.Option(help="quick takes minutes; full is the drafts' matrix as far as packets can."),
]


@fabric_bench.callback(invoke_without_command=True)
def fabric_bench_command(context: typer.Context) -> None:
    """Run the IETF drafts' tests of AI fabrics: training and inference. Without a command: run all, quick."""
    if context.invoked_subcommand is None:
        fabric_bench_run()


@fabric_bench.command("list")
def fabric_bench_list(scale: ScaleOption = "quick") -> None:
    """List the tests, the sections of the drafts that they are of, and their scenarios."""
    from packetloom.fabric_bench.command import print_tests

    print_tests(scale)


@fabric_bench.command("run")
def fabric_bench_run(
    tests: Annotated[
        list[str] | None, typer.Argument(metavar="TEST", help="Tests that `list` names, or training, inference.")
    ] = None,
    scale: ScaleOption = "quick",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="results/fabric-bench-SCALE if not given.")
    ] = None,
    transports: Annotated[
        str | None, typer.Option(metavar="KIND,...", help="Only schemes with these transports: roce, dcqcn, uec ...")
    ] = None,
    workers: WorkersOption = None,
    settings: SetOption = None,
    json_file: JsonOption = None,
    no_cache: NoCacheOption = False,
    keep_older: KeepOlderOption = False,
) -> None:
    """Run tests and write their tables and a page. If it is stopped or killed, the same command resumes it."""
    from packetloom.fabric_bench.command import run_bench

    try:
        run_bench(
            tests or (),
            scale,
            output,
            workers=workers,
            cache=not no_cache,
            keep_older=keep_older,
            settings=settings or (),
            transports=[one.strip() for one in transports.split(",")] if transports else (),
            json_file=json_file,
        )
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. Run the same command to resume.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


@fabric_bench.command("report")
def fabric_bench_report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of `fabric-bench run`.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The page; index.html in DIR.", callback=_can_be_written),
    ] = None,
) -> None:
    """Print and write the tables and the page of what a folder has."""
    from packetloom.fabric_bench.command import report_bench

    print(f"\nwrote {report_bench(folder, output)}")


@app.command("bench-control")
def bench_control(json_file: JsonOption = None) -> None:
    """Measure the algorithms of central controllers on one core."""
    from packetloom.bench.control import run_control_benchmarks

    run_control_benchmarks(json_file)


@app.command()
def validate(
    against: Annotated[
        list[Against] | None,
        typer.Argument(metavar="theory|peers|kernel", help="What to compare with; theory and peers if not given."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only comparisons that take seconds.")] = False,
    json_file: JsonOption = None,
    workers: WorkersOption = None,
    virtual_kernel: Annotated[
        Path | None,
        typer.Option(
            "--vm",
            metavar="KERNEL",
            exists=True,
            dir_okay=False,
            help="With kernel: not the one that runs here, but this one (/boot/vmlinuz-...) in a virtual machine.",
        ),
    ] = None,
    configs: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="With peers: only this config.txt of HPCC's simulator, in a folder cfg beside topo, flows and out.",
        ),
    ] = None,
) -> None:
    """Compare with theory, other simulators, Linux's TCP. Exits with 1 if something differs beyond what is known."""
    from packetloom.store.targets import check_target
    from packetloom.validate.command import run_validation

    check_target(json_file, virtual_kernel, *(configs or ()))
    try:
        agreed = run_validation(
            against or [Against.THEORY, Against.PEERS],
            json_file,
            workers,
            quick=quick,
            virtual_kernel=virtual_kernel,
            configs=configs or (),
        )
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. The same command starts over.", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(0 if agreed else 1)


def _exit_if_stalled(results: Results) -> None:
    """A stalled case is no success: what its flows wait for is reported, and the exit code is 3."""
    from packetloom.report.case_warnings import stalls_said

    stalls = stalls_said(results.rows())
    for line in stalls:
        print(f"stalled: {line}", file=sys.stderr)
    if stalls:
        raise typer.Exit(STALLED)


def _print_results(results: Results) -> None:
    from packetloom.common.terminal import console
    from packetloom.report.results_table import print_results
    from packetloom.report.sentences import told_briefly
    from packetloom.report.waits.speeds import has_only_jobs, print_jobs, speeds
    from packetloom.stats.curves import all_summaries
    from packetloom.store.results import Snapshot

    snapshot = Snapshot(results)
    if not snapshot.rows():
        print("no case is finished")
        return
    jobs = speeds(snapshot)
    if jobs:
        print_jobs(jobs, console())
    if not jobs or not has_only_jobs([snapshot]):
        print_results(all_summaries(snapshot), console())
    for sentence in told_briefly(snapshot):
        console().print(sentence)
    if note := results.build_note():
        print(note)
