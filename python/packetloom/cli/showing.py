"""Commands that show results: report, compare, view, plot, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packetloom.cli import completion
from packetloom.cli.app import FoldersArgument, JsonOption, app, can_be_written
from packetloom.errors import PacketloomError

if TYPE_CHECKING:
    pass


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
            "--pdf", metavar="FILE", help="What came out on one sheet of paper, too.", callback=can_be_written
        ),
    ] = None,
) -> None:
    """Write one HTML page with the results table, all figures and the fabric: nothing is fetched from elsewhere."""
    from packetloom.pages.report import report as write_report
    from packetloom.stats.estimates import FILE
    from packetloom.store.results import Results
    from packetloom.store.targets import check_target

    check_target(output, errors, *(folder / FILE for folder in folders))
    several = [Results(folder) for folder in folders]
    page = write_report(several, output or folders[0] / "report.html", errors=errors)
    print(f"wrote {page}")
    if sheet is not None:
        from packetloom.pages.one_page import write_one_page

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
    from packetloom.common.files import write_json
    from packetloom.common.terminal import console
    from packetloom.pages.compare import Sides, as_json, print_along, print_comparison, times_said

    if (b is None) == (along is None):
        raise PacketloomError("write B, or --along AXIS: one of the two is compared with A")
    names: dict[str, str] = {}
    if along is not None:
        from packetloom.pages.grid_costs import along as values_along
        from packetloom.scenario.facts import slow_alone_as_stored
        from packetloom.store.results import Results, Snapshot

        results = Results(a)
        for line in slow_alone_as_stored(results.plan_lines()):
            console().print(f"warning: {line}", markup=False)
        rows, lacking = print_along(values_along(Snapshot(results), along, base), console(), by)
    else:
        if base is not None:
            raise PacketloomError("--from goes with --along")
        sides = Sides.parse(a, str(b))
        rows = print_comparison(sides, console(), by)
        lacking, names = sides.lacking(sides.measure(by)), sides.names
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
    from packetloom.pages.server import serve
    from packetloom.store.results import Results

    serve([Results(folder) for folder in folders], port)


@app.command()
def plot(
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE", help="A figure that `packetloom list figures` names.", autocompletion=completion.figures
        ),
    ] = "",
    folders: Annotated[list[Path] | None, typer.Argument(metavar="DIR", help="Results folders.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Its extension sets the format; FIGURE.pdf if not given."),
    ] = None,
    load: Annotated[float | None, typer.Option(help="The load to show, in figures of one load.")] = None,
    statistic: Annotated[str | None, typer.Option(help="mean, p99, ...; for queues mean, p99, max.")] = None,
    bin: Annotated[str | None, typer.Option(help="For figures by load: a size bin, like '(0, 100KB]'.")] = None,
    axis: Annotated[str | None, typer.Option(help="For `along`: the axis of the grid.")] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="POINT", help="For `along`: only where the other axes are so, such as 'load 0.8'."),
    ] = None,
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
    from packetloom.pages.figures import check_name
    from packetloom.pages.plots import Sheet, save_figure
    from packetloom.store.results import Results
    from packetloom.store.targets import check_target

    check_name(figure)
    if not folders:
        raise PacketloomError(f"of which results? Write packetloom plot {figure} DIR")
    output = output or Path(f"{figure}.pdf")
    check_target(output)
    options = {"load": load, "statistic": statistic, "bin": bin, "axis": axis, "where": where, "operation": operation}
    given = {name: value for name, value in options.items() if value is not None}
    sheet = Sheet(columns, width, font, font_size, tuple(scheme or ()))
    unshown = save_figure(figure, [Results(folder) for folder in folders], output, given, sheet)
    print(f"wrote {output}" + (f": {', '.join(unshown)}" if unshown else ""))


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
