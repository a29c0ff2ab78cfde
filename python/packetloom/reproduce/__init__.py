"""Papers, redone: their experiments as scenarios, their claims as measurements, their figures as ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError

if TYPE_CHECKING:
    from packetloom.campaign.search import Range
    from packetloom.pages.panels import Panel
    from packetloom.reproduce.claims import Claim, Finding
    from packetloom.store.results import Results

Scale = Literal["quick", "full"]

# A paper's scenarios and committed verdicts lie beside the code that judges, so that they are installed with it;
# papers/NAME/ links to them.
PAPERS_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Experiment:
    """A scenario in the paper's folder, and what `--set` changes at each scale; a search runs what it needs of it.

    Up to the simulated time `tiny` its outcome is worked out whenever it has to be known whether verdicts are stale.
    """

    name: str
    scenario: str
    quick: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    search: Range | None = None
    tiny: str = "1ms"


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure of the paper, redrawn: its panels, in rows of so many, and the header and the rows of its numbers."""

    number: str
    caption: str
    needs: tuple[str, ...]
    panels: Callable[[Mapping[str, Results]], Sequence[Panel]]
    columns: int = 2
    table: Callable[[Mapping[str, Results]], tuple[list[str], list[list[str]]]] | None = None


# Figures with their panels.
Drawn = list[tuple[PaperFigure, "Sequence[Panel]"]]


@dataclass(frozen=True, slots=True)
class Paper:
    """What it takes to redo a paper."""

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    claims: tuple[Claim, ...]
    figures: tuple[PaperFigure, ...]


@dataclass(frozen=True, slots=True)
class PaperEntry:
    """A paper in the list; its module is loaded when it is asked for."""

    title: str
    load: Callable[[], Paper]


def _pfabric() -> Paper:
    from packetloom.reproduce.pfabric import PAPER

    return PAPER


def _ndp() -> Paper:
    from packetloom.reproduce.ndp import PAPER

    return PAPER


def _daq() -> Paper:
    from packetloom.reproduce.daq import PAPER

    return PAPER


def _sync_or_not() -> Paper:
    from packetloom.reproduce.sync_or_not import PAPER

    return PAPER


def _rdma() -> Paper:
    from packetloom.reproduce.rdma import PAPER

    return PAPER


def _homa() -> Paper:
    from packetloom.reproduce.homa import PAPER

    return PAPER


def _balance() -> Paper:
    from packetloom.reproduce.balance import PAPER

    return PAPER


def _transports() -> Paper:
    from packetloom.reproduce.transports import PAPER

    return PAPER


PAPERS: dict[str, PaperEntry] = {
    "pfabric": PaperEntry("Deconstructing Datacenter Packet Transport (HotNets 2012)", _pfabric),
    "ndp": PaperEntry("Evaluating Modern Data Centre Transport Protocols in OMNeT++/INET (2019)", _ndp),
    "daq": PaperEntry("DAQ: Deadline-Aware Queue Scheme", _daq),
    "sync-or-not": PaperEntry("To sync or not to sync (Globecom 2018)", _sync_or_not),
    "rdma": PaperEntry("Lossless Ethernet and RDMA: PFC, DCQCN, TIMELY, HPCC, IRN, Swift", _rdma),
    "homa": PaperEntry("Homa (SIGCOMM 2018)", _homa),
    "balance": PaperEntry("Balancing load: LetFlow, CONGA, DRILL, ConWeave, REPS, Hedera", _balance),
    "transports": PaperEntry(
        "Transports of 2017 to 2025: SIRD, ExpressPass, dcPIM, PowerTCP, ABM, BFC, Floodgate", _transports
    ),
}


def reproduce_paper(
    name: str,
    figure: str | None,
    scale: Scale,
    json_file: Path | None = None,
    output: Path | None = None,
    workers: int | None = None,
    keep_older: bool = False,
) -> list[Finding]:
    """Runs what a paper (or one of its figures) needs, judges its claims, and prints and writes the outcome."""
    from packetloom.reproduce.claims import judge, print_findings, write_findings

    paper = find_paper(name)
    claims, figures = chosen_parts(paper, figure)
    needed = needed_experiments(claims, figures)
    folder = output or Path("results") / "reproduce" / f"{name}-{scale}"
    results = {
        experiment.name: run_experiment(paper, experiment, scale, folder, workers, keep_older)
        for experiment in paper.experiments
        if experiment.name in needed
    }
    findings = [judge(claim, results) for claim in claims]
    print_findings(findings)
    for experiment, result in results.items():
        if note := result.build_note():
            print(f"{experiment}: {note}")
    if json_file:
        write_findings(findings, json_file)
    drawn = [(figure, figure.panels(results)) for figure in figures]
    save_plots(drawn, folder)
    page = write_page(paper, scale, findings, drawn, results, folder / "index.html")
    print(f"figures and claims: {page}")
    return findings


def check_acceptable(name: str, figure: str | None) -> None:
    """Whether verdicts can be committed here, before minutes are spent on them."""
    from packetloom.reproduce.tables import readme_with_table

    find_paper(name)
    if figure is not None:
        raise PacketloomError("--accept commits the verdicts of a whole paper: leave --figure out")
    readme_with_table(name)


def check_verdicts(name: str, figure: str | None, scale: Scale, findings: list[Finding], *, accept: bool) -> bool:
    """Whether the verdicts are the committed ones; or commits them, and writes the README's table."""
    from packetloom.reproduce.fingerprints import fingerprints
    from packetloom.reproduce.tables import write_readme
    from packetloom.reproduce.verdicts import hold_against_committed, verdicts_file, write_verdicts

    if not accept:
        return hold_against_committed(name, scale, findings, whole=figure is None)
    file = verdicts_file(name, scale)
    file.parent.mkdir(exist_ok=True)
    write_verdicts(file, findings, fingerprints(name, scale))
    print(f"accepted: {file}; {write_readme(name)}")
    return True


def find_paper(name: str) -> Paper:
    """The paper of that name."""
    if name not in PAPERS:
        raise PacketloomError(f"there is no paper {name!r} to reproduce; {meant(name, PAPERS)}")
    return PAPERS[name].load()


def paper_folder(name: str) -> Path:
    """Where a paper's scenarios and its committed verdicts lie."""
    return PAPERS_FOLDER / name.replace("-", "_")


def chosen_parts(paper: Paper, figure: str | None) -> tuple[list[Claim], list[PaperFigure]]:
    """All claims and figures, or one figure and the claims that it shows."""
    if figure is None:
        return list(paper.claims), list(paper.figures)
    figures = [one for one in paper.figures if one.number == figure]
    if not figures:
        known = ", ".join(one.number for one in paper.figures)
        raise PacketloomError(f"{paper.name} has no figure {figure!r} here; there are: {known}")
    return [claim for claim in paper.claims if figure in claim.figures], figures


def needed_experiments(claims: Sequence[Claim], figures: Sequence[PaperFigure]) -> set[str]:
    """What these are made of, by name."""
    return {need for claim in claims for need in claim.needs} | {need for one in figures for need in one.needs}


def run_experiment(
    paper: Paper,
    experiment: Experiment,
    scale: Scale,
    folder: Path,
    workers: int | None,
    keep_older: bool = False,
) -> Results:
    """Runs an experiment, or what is left of it."""
    from packetloom.campaign.progress import reporter_for
    from packetloom.campaign.runner import run_plan
    from packetloom.scenario.plan import read_plan

    scenario = paper_folder(paper.name) / "scenarios" / experiment.scenario
    if not scenario.is_file():
        raise PacketloomError(f"{scenario}: there is no such file; it is part of packetloom: install it again")
    settings = experiment.quick if scale == "quick" else experiment.full
    output, reporter = folder / experiment.name, reporter_for(sys.stderr)
    if experiment.search:
        from packetloom.campaign.search import run_search

        range = experiment.search
        return run_search(
            scenario,
            range,
            overrides=settings,
            workers=workers,
            output=output,
            reporter=reporter,
            keep_older=keep_older,
        )
    return run_plan(read_plan(scenario, settings), output, workers, reporter, keep_older=keep_older)


def save_plots(drawn: Drawn, folder: Path) -> None:
    """The figures for print: figure-N.pdf and figure-N.png."""
    from packetloom.pages.plots import plot_panels

    for figure, panels in drawn:
        plotted = plot_panels(panels, figure.columns)
        for ending in ("pdf", "png"):
            plotted.savefig(folder / f"figure-{figure.number}.{ending}", dpi=150)


def write_page(
    paper: Paper,
    scale: Scale,
    findings: list[Finding],
    drawn: Drawn,
    results: Mapping[str, Results],
    output: Path,
) -> Path:
    """The page: every claim with its verdict, then the figures."""
    from packetloom.pages.html import Page
    from packetloom.pages.panels import panel_json
    from packetloom.reproduce.claims import tally
    from packetloom.reproduce.steady import steadiness, transient

    page = Page(paper.title)
    counts = tally([finding.verdict for finding in findings])
    page.text(f"{counts} (scale {scale}). A verdict is computed from the measurement.")
    page.heading("Claims")
    rows = [
        [
            finding.claim.id,
            finding.verdict,
            finding.claim.claim,
            finding.claim.paper,
            finding.measured_text("\n", "\n"),
            finding.claim.band,
        ]
        for finding in findings
    ]
    page.table(
        ["id", "verdict", "claim", "in the paper", "measured (95 % interval)", "band"], rows, text_columns=6, prose=True
    )
    for name, result in results.items():
        if note := result.build_note():
            page.text(f"{name}: {note}", note=True)
    known = steadiness(results)
    for figure, panels in drawn:
        page.heading(f"Figure {figure.number}: {figure.caption}")
        if of_it := transient(figure.needs, known):
            page.text(of_it, note=True)
        name = f"figure-{figure.number}"
        drawn_panels = [panel_json(panel) for panel in panels]
        page.chart({"name": name, "title": figure.caption, "panels": drawn_panels, "columns": figure.columns})
        if figure.table:
            header, lines = figure.table(results)
            page.table(header, lines, text_columns=2)
    if known:
        page.heading("Is it steady?")
        for name, one in known.items():
            page.text(f"{name}: {one.said}")
    for name, result in results.items():
        page.folded(f"Scenario: {name}", result.scenario_text)
    output.parent.mkdir(parents=True, exist_ok=True)
    page.write(output)
    return output
