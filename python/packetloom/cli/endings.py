"""What commands print of results as they end, and whether that is a success."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from packetloom.cli.exit_codes import STALLED
from packetloom.errors import Interrupted
from packetloom.start import INTERRUPTED

if TYPE_CHECKING:
    from packetloom.store.results import Results


@contextmanager
def interruptible(then: str = "Run the same command to resume.") -> Iterator[None]:
    """A campaign that is interrupted says what it kept and what to do then, and the command exits with 130."""
    try:
        yield
    except Interrupted as interrupted:
        print(f"stopped: {interrupted}. {then}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def exit_if_stalled(results: Results) -> None:
    """A stalled case is no success: what its flows wait for is reported, and the exit code is 3."""
    from packetloom.pages.case_warnings import stalls_said

    stalls = stalls_said(results.rows())
    for line in stalls:
        print(f"stalled: {line}", file=sys.stderr)
    if stalls:
        raise typer.Exit(STALLED)


def print_results_of(results: Results) -> None:
    """The tables, what came out in a few sentences, and which cases another build computed."""
    from packetloom.common.terminal import console
    from packetloom.pages.requests import print_requests
    from packetloom.pages.results_table import print_results
    from packetloom.pages.sentences import told_briefly
    from packetloom.pages.waits.speeds import has_only_jobs, print_jobs, speeds
    from packetloom.stats.curves import all_summaries
    from packetloom.stats.serving import serving
    from packetloom.store.results import Snapshot

    snapshot = Snapshot(results)
    if not snapshot.rows():
        print("no case is finished")
        return
    jobs, requests = speeds(snapshot), serving(snapshot)
    if jobs:
        print_jobs(jobs, console())
    if not requests.is_empty():
        print_requests(requests, console())
    elif not jobs or not has_only_jobs([snapshot]):
        print_results(all_summaries(snapshot), console())
    for sentence in told_briefly(snapshot):
        console().print(sentence)
    if note := results.build_note():
        print(note)
