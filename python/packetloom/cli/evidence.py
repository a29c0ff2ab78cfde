"""Commands that measure packetloom itself: reproduce, bench, fabric-bench, bench-control, validate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from packetloom.cli import completion
from packetloom.cli.app import (
    Commands,
    JsonOption,
    KeepOlderOption,
    NoCacheOption,
    SetOption,
    WorkersOption,
    app,
    can_be_written,
)
from packetloom.cli.endings import interruptible
from packetloom.errors import PacketloomError


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
    with interruptible():
        findings = reproduce_paper(paper, figure, scale, json_file, output, workers, keep_older)
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
    threads_model: Annotated[
        bool,
        typer.Option(
            "--threads-model", help="Say instead what 2 to 64 threads would gain, from what one takes for each share."
        ),
    ] = False,
) -> None:
    """Measure the simulator's speed and memory."""
    from packetloom.store.targets import check_target

    check_target(json_file, against)
    if threads_model and against:
        raise PacketloomError("--threads-model is of this build alone: leave --against out")
    if threads_model:
        from packetloom.bench.threads_model import print_model

        print_model(names or [], json_file)
    elif against:
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

    with interruptible():
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


@fabric_bench.command("report")
def fabric_bench_report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of `fabric-bench run`.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The page; index.html in DIR.", callback=can_be_written),
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
        list[str] | None,
        typer.Argument(
            metavar="theory|peers|kernel|hardware [SET]",
            help="What to compare with; theory and peers if not given. After hardware, only these sets.",
            autocompletion=completion.comparisons,
        ),
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
    measurements: Annotated[
        Path | None,
        typer.Option(
            "--measurements",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="With hardware: the files of measurements here, SET.csv, and not those that are shipped.",
        ),
    ] = None,
) -> None:
    """Compare with theory, other simulators, Linux's TCP, machines. Exits with 1 at differences that are not known."""
    from packetloom.store.targets import check_target
    from packetloom.validate.command import run_validation

    check_target(json_file, virtual_kernel, *(configs or ()))
    with interruptible("The same command starts over."):
        agreed = run_validation(
            against or ["theory", "peers"],
            json_file,
            workers,
            quick=quick,
            virtual_kernel=virtual_kernel,
            configs=configs or (),
            measurements=measurements,
        )
    raise typer.Exit(0 if agreed else 1)
