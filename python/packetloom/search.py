"""How far a key can be raised while flows still meet their deadlines: "the largest N with 99 % application throughput".

Application throughput is the share of the flows with a deadline that met it. It is taken to fall as the key rises, so
that bisection finds where it passes the wanted share. Each scheme and each seed is searched for by itself; the answer
is the mean over seeds with its interval, like every statistic here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from packetloom.api import run
from packetloom.errors import PacketloomError
from packetloom.results import Results
from packetloom.scenario import ScenarioSource
from packetloom.statistics import over_seeds

Sample = tuple[str, int]
"""A scheme and a seed."""


@dataclass(slots=True)
class _Bracket:
    """Held at `held` (one below the range: nowhere yet), not at `lost` (one above: nowhere yet)."""

    held: int
    lost: int

    @property
    def next(self) -> int | None:
        return (self.held + self.lost) // 2 if self.lost - self.held > 1 else None


@dataclass(slots=True)
class _Search:
    scenario: ScenarioSource
    key: str
    share: float
    overrides: Sequence[str]
    workers: int | None
    folder: Path
    brackets: dict[Sample, _Bracket] = field(default_factory=dict)

    def probe(self, value: int, lowest: int, highest: int) -> None:
        """Runs every scheme and seed at a value, and narrows their brackets."""
        settings = [*self.overrides, f"{self.key}={value}"]
        output = self.folder / f"{value}"
        results = run(self.scenario, output, workers=self.workers, overrides=settings, progress=False)
        for sample, met in application_throughput(results).items():
            bracket = self.brackets.setdefault(sample, _Bracket(lowest - 1, highest + 1))
            if met >= self.share:
                bracket.held = max(bracket.held, value)
            elif value > bracket.held:
                bracket.lost = min(bracket.lost, value)

    def next_value(self) -> int | None:
        """The value that most samples ask for; the smallest of equals."""
        wanted = [bracket.next for bracket in self.brackets.values()]
        values = sorted({value for value in wanted if value is not None})
        return max(values, key=wanted.count, default=None)


def application_throughput(results: Results) -> Mapping[Sample, float]:
    """The share of the measured flows with a deadline that met it, by scheme and seed."""
    shares: dict[Sample, float] = {}
    for row, table in results.partitions("flows", ["deadline_ns", "met_deadline", "measured"]):
        flows = pl.DataFrame(table).filter(pl.col("measured") & pl.col("deadline_ns").is_not_nan())
        met = flows["met_deadline"].cast(pl.Float64).mean()
        if not isinstance(met, float):
            raise PacketloomError(f"{row.label}: no flow has a deadline; give the workload `deadlines`")
        sample = (row.label, int(row.parameters["seed"] or 0))
        shares[sample] = met
    return shares


def largest_held(
    scenario: ScenarioSource,
    key: str,
    lowest: int,
    highest: int,
    *,
    share: float = 0.99,
    overrides: Sequence[str] = (),
    workers: int | None = None,
    output: str | Path | None = None,
) -> pl.DataFrame:
    """The largest value of `key` from `lowest` to `highest` at which `share` of the deadlines are met.

    `key` is written as for `packetloom run --set`, such as `workload.pattern.fan_in`. A row per scheme: `scheme`,
    `value` (the mean over seeds), `low` and `high` (its 95 % interval; null with one seed), `seeds`, and `capped`: in
    how many seeds even `highest` held, so that the true value is higher. `lowest - 1`: not even `lowest` held.
    """
    if not lowest <= highest:
        raise PacketloomError(f"lowest is {lowest} and highest is {highest}; swap them")
    if not 0 < share <= 1:
        raise PacketloomError(f"share is {share}; write one above 0, up to 1")
    folder = Path(output) if output is not None else Path(tempfile.mkdtemp(prefix="packetloom-"))
    search = _Search(scenario, key, share, overrides, workers, folder)
    value: int | None = (lowest + highest) // 2
    while value is not None:
        search.probe(value, lowest, highest)
        value = search.next_value()
    rows = [
        {"scheme": scheme, "seed": seed, "value": float(bracket.held), "flows": 0, "capped": bracket.held == highest}
        for (scheme, seed), bracket in search.brackets.items()
    ]
    samples = pl.DataFrame(rows)
    capped = samples.group_by("scheme", maintain_order=True).agg(pl.col("capped").sum())
    return over_seeds(samples.drop("capped")).drop("flows").join(capped, on="scheme", maintain_order="left")
