"""Claims that others make, what we measure of them, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from packetloom.errors import PacketloomError
from packetloom.results import Results
from packetloom.storage import write_json

Verdict = Literal["holds", "differs", "not comparable"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One number that a claim is about: its value, its interval over seeds, and the band it should fall in."""

    what: str
    value: float
    low: float | None = None
    high: float | None = None
    band: tuple[float, float] = (float("-inf"), float("inf"))

    @property
    def holds(self) -> bool:
        """Whether the value lies in the band."""
        return self.band[0] <= self.value <= self.band[1]


class NotComparable(Exception):  # noqa: N818 it is a verdict, not an error
    """What we measure can't be held against the claim; the text says why."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper that a measurement can confirm or contradict.

    `measure` gets the results of the experiments that the claim `needs`, by name, and gives one number or several;
    it raises `NotComparable` with the reason where that is so. `explanation` says what is known of why it may differ.
    """

    id: str
    claim: str
    paper: str
    band: str
    needs: tuple[str, ...]
    measure: Callable[[Mapping[str, Results]], Sequence[Measured]]
    figures: tuple[str, ...] = ()
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim after the measurement."""

    claim: Claim
    measured: tuple[Measured, ...]
    reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """Computed from the measurement: every number must lie in its band."""
        if not self.measured:
            return "not comparable"
        return "holds" if all(one.holds for one in self.measured) else "differs"

    @property
    def why(self) -> str:
        """Why it is not comparable, or what is known of why it differs."""
        return self.claim.explanation if self.verdict == "differs" else self.reason

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON. One number stands alone, several by what they are."""
        return {
            "id": self.claim.id,
            "claim": self.claim.claim,
            "paper": self.claim.paper,
            "measured": self._by_name(lambda one: one.value),
            "interval": self._by_name(lambda one: None if one.low is None else [one.low, one.high]),
            "band": self.claim.band,
            "verdict": self.verdict,
            **({"reason": self.why} if self.why else {}),
        }

    def measured_text(self, between: str = "; ", before_why: str = ". ") -> str:
        """The numbers for people, and why they differ."""
        numbers = between.join(_measured_text(one) for one in self.measured)
        return before_why.join(text for text in (numbers, self.why) if text)

    def _by_name(self, pick: Callable[[Measured], Any]) -> Any:
        if not self.measured:
            return None
        if len(self.measured) == 1:
            return pick(self.measured[0])
        return {one.what: pick(one) for one in self.measured}


def judge(claim: Claim, results: Mapping[str, Results]) -> Finding:
    """Measures a claim."""
    try:
        return Finding(claim, tuple(claim.measure(results)))
    except NotComparable as reason:
        return Finding(claim, (), str(reason))


def print_findings(findings: Sequence[Finding]) -> None:
    """The claims as a table in the terminal."""
    from rich.console import Console
    from rich.table import Table

    colours = {"holds": "green", "differs": "red", "not comparable": "yellow"}
    console = Console(highlight=False)
    table = Table(header_style="bold", show_lines=True)
    for heading in ("id", "claim", "in the paper", "measured", "band", "verdict"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        claim, verdict = finding.claim, finding.verdict
        mark = f"[{colours[verdict]}]{verdict}[/]"
        texts = [text.replace("[", "\\[") for text in (claim.claim, claim.paper, finding.measured_text(), claim.band)]
        table.add_row(claim.id, *texts, mark)
    console.print(table)
    console.print(tally(findings))


def tally(findings: Sequence[Finding]) -> str:
    """How many claims hold."""
    holding = sum(finding.verdict == "holds" for finding in findings)
    return f"{holding} of {len(findings)} claims hold"


def write_findings(findings: Sequence[Finding], path: Path) -> None:
    """The claims as a JSON list."""
    write_json(path, [finding.to_dict() for finding in findings], "the claims")


def value_of(results: Results, label: str, load: float | None, bin: str, statistic: str) -> tuple[float, float, float]:
    """A slowdown statistic with its interval, for use in `measure`; `NotComparable` where there are no such flows."""
    import polars as pl

    from packetloom.statistics import summary

    rows = summary(results).filter(
        pl.col("label") == label,
        pl.col("load").eq_missing(pl.lit(load, pl.Float64)),
        pl.col("bin") == bin,
        pl.col("metric") == "slowdown",
        pl.col("statistic") == statistic,
    )
    if rows.height > 1:
        raise PacketloomError(f"{label} at load {load}: more than one {statistic} in {bin}")
    if rows.is_empty():
        raise NotComparable(f"no flows of {bin} under {label} at load {load}: too few flows were run")
    row = rows.row(0, named=True)
    low, high = row["low"], row["high"]
    return row["value"], row["value"] if low is None else low, row["value"] if high is None else high


def _measured_text(one: Measured) -> str:
    interval = "" if one.low is None else f" ({one.low:.3g} to {one.high:.3g})"
    return f"{one.what} {one.value:.3g}{interval}".strip()
