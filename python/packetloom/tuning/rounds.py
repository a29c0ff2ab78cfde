"""What a person sees of a tuning: a line for each round of points, and now and then how far it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from packetloom import _core
from packetloom.campaign.forecast import forecast
from packetloom.campaign.progress import LOG_PERIOD_S, SilentReporter, Snapshot, duration_text
from packetloom.common.quantities import in_percent

if TYPE_CHECKING:
    from packetloom.tuning.loop import Point


class Rounds(SilentReporter):
    """Lines on a stream; none without one."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._what = ""
        self._told_at = time.monotonic()

    def foretell(self, own: Sequence[_core.Case], left: int, workers: int | None) -> None:
        """What so many cases will cost that are left, at what these do."""
        if self._stream is None or not left:
            return
        cost, times = forecast(own, workers), left / len(own)
        all_s, wall_s = times * cost.cpu_s, times * cost.cpu_s / cost.workers
        cores = f", {duration_text(wall_s)} on {cost.workers} cores" if cost.workers > 1 else ""
        least = "at least" if cost.unknown else "about"
        rest = "if each point costs what the scenario's own values do"
        self._say(f"cost of the {left} cases to run: {least} {duration_text(all_s)} of processor time{cores}, {rest}")

    def begin(self, what: str) -> None:
        """A round begins."""
        self._what = what

    def start(self, opening: str, total: int) -> None:
        """Its campaign does: of so many cases, most of which earlier rounds ran."""
        self._say(f"{self._what} ({total} cases in all)")

    def update(self, snapshot: Snapshot) -> None:
        """Some time has passed."""
        if time.monotonic() - self._told_at >= LOG_PERIOD_S:
            self._say(snapshot.text)

    def best(self, points: Sequence[Point], *, is_ratio: bool) -> None:
        """A round has ended."""
        allowed = [(one.loss, place) for place, one in enumerate(points, 1) if one.is_allowed and one.loss is not None]
        if allowed:
            loss, place = min(allowed)
            self._say(f"  best so far: point {place}, {change_text(loss, is_ratio=is_ratio)}")

    def _say(self, line: str) -> None:
        self._told_at = time.monotonic()
        if self._stream:
            print(line, file=self._stream, flush=True)


def change_text(loss: float, *, is_ratio: bool) -> str:
    """How much worse than the scenario's own values, on the seeds that the tuning saw."""
    size = in_percent(abs(loss)) if is_ratio else f"{abs(loss):.4g}"
    return f"{size} {'worse' if loss > 0 else 'better'} than the scenario's own values"
