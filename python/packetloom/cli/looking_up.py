"""Commands that say what there is: list, explain, doctor, check, schema."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from packetloom.cli import completion
from packetloom.cli.app import SetOption, app, can_be_written
from packetloom.start import INTERRUPTED


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
            help="A component or section of scenarios, FILE.py:CLASS, or a table of results such as flows.parquet.",
            autocompletion=completion.components,
        ),
    ],
) -> None:
    """Explain a component (parameters, units, defaults, sources), or a table of results (columns)."""
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
            "-o", "--output", metavar="FILE", help="The page; NAME-doctor.html if not given.", callback=can_be_written
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
    from packetloom.campaign.check import checked
    from packetloom.scenario.plan import read_plan

    if scenario.is_dir():
        from packetloom.store.integrity import check_folder
        from packetloom.store.stored_plan import is_driven

        print(f"{scenario}: {check_folder(scenario)} finished cases, and all files are as they were written")
        if is_driven(scenario):
            return
    found = checked(read_plan(scenario, settings or ()))
    for warning in found.warnings:
        print(f"warning: {warning}")
    for line in (*found.facts, *found.unequal, *found.advice):
        print(line)
    begin = " to begin with" if found.cases < found.most_cases else ""
    print(f"{scenario}: {found.cases} case{'s' if found.cases != 1 else ''}{begin}, no mistakes")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the scenario format, for editors that complete and check."""
    from packetloom import _core

    print(_core.schema())
