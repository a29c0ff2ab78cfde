"""Sources of traffic that begin after the end, so that nothing of them starts: a mistake in a unit, as a rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from packetloom import _core
from packetloom.common.quantities import time_text

BY_THE_CLOCK = ("poisson", "periodic", "list", "hpcc")
"""Arrivals that `run.duration` ends; jobs go on after it."""
PS_PER_NS = 1000


def late_sources(text: str, cases: Iterable[_core.Case]) -> tuple[str, ...]:
    """A warning for each source that begins after its cases' end; `text` is the scenario's.

    Neither seeds nor schemes make a difference to that.
    """
    if "start" not in text or not ("max_time" in text or "duration" in text):
        return ()
    several = {_point(case): case for case in cases}.values()
    return tuple(dict.fromkeys(warning for case in several for warning in _late(json.loads(case.json))))


def _point(case: _core.Case) -> str:
    return json.dumps({name: value for name, value in case.parameters.items() if name not in ("scheme", "seed")})


def _late(case: dict[str, Any]) -> Iterator[str]:
    for place, source in enumerate(case["workloads"]):
        keys = ("max_time", "duration") if source["arrivals"]["kind"] in BY_THE_CLOCK else ("max_time",)
        for key in keys:
            end = case["run"].get(key)
            if end is not None and source["start"]["ps"] >= end["ps"]:
                yield (
                    f"workload[{place}].start: it begins after {_said(source['start'])}, and run.{key} is "
                    f"{_said(end)}: none of its flows starts"
                )


def _said(time: dict[str, int]) -> str:
    return time_text(time["ps"] / PS_PER_NS)
