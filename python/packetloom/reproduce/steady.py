"""Whether what a paper's figures and claims rest on is steady, as the page says it of each experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packetloom.pages.drift_words import how_steady, warning
from packetloom.pages.measures import question_of
from packetloom.store.results import Results


@dataclass(frozen=True, slots=True)
class HowSteady:
    """What the diagnosis says of an experiment."""

    said: str
    is_steady: bool
    """Whether all that was diagnosed is, as far as can be told."""


def steadiness(results: Mapping[str, Results]) -> dict[str, HowSteady]:
    """Of each experiment whose flows start by the clock, and are enough."""
    found = {}
    for name, result in results.items():
        question = question_of(result)
        if question is None or not question.steadiness:
            continue
        drifts, rest = warning(question), how_steady(question)
        unknown = any(one.steady is None for by_bin in question.steadiness.values() for one in by_bin.values())
        found[name] = HowSteady(" ".join(text for text in (drifts, rest) if text), not drifts and not unknown)
    return found


def transient(needs: tuple[str, ...], known: Mapping[str, HowSteady]) -> str:
    """Which experiments of a figure are not known to be steady; empty where all are."""
    names = [name for name in needs if name in known and not known[name].is_steady]
    if not names:
        return ""
    return (
        f"Not known to be steady: {', '.join(names)}; see “Is it steady?” for which cases, and of what time they are."
    )
