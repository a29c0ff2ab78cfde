"""The command and the options that several of its commands have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from packetloom import start
from packetloom.common.arguments import MOST_WORKERS
from packetloom.start import INTERRUPTED


class Commands(TyperGroup):
    """The commands. One that is interrupted before it can say what was kept still ends with a message."""

    def invoke(self, ctx: Any) -> Any:
        start.loaded()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("stopped. Run the same command to resume.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None


def can_be_written(file: Path | None) -> Path | None:
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
    typer.Option("--json", metavar="FILE", help="Write the outcome as JSON, too.", callback=can_be_written),
]


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
