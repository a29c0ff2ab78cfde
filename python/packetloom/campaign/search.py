"""How far a key can be raised while flows still meet their deadlines: "the largest N with 99 % application throughput".

Application throughput is the share of the flows with a deadline that met it. It is taken to fall as the key rises, so
that bisection finds where it passes the wanted share. Each scheme and each seed is searched for by itself; the answer
is the mean over seeds with its interval, like every statistic here.

What was run is a results folder like any other, with the key as an axis: a search that was stopped resumes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import polars as pl

from packetloom.campaign.progress import Reporter, SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.common import arguments
from packetloom.common.files import write_json
from packetloom.errors import PacketloomError
from packetloom.scenario.override_texts import Overrides, texts
from packetloom.scenario.plan import Parameter, Plan, ScenarioSource, read_plan
from packetloom.stats.summary import over_seeds, polars_frame
from packetloom.store.case_rows import MARKER, CaseRow, label_of
from packetloom.store.results import Results

DEFAULT_SHARE = 0.99
SEARCH = "search.json"
"""In the results folder: what was searched for, so that its report can say what was found."""
MOST = 10**18
"""Of what can be searched: larger numbers are none of a scenario's."""

Sample = tuple[str, int | None]
"""A scheme (with the values of other axes) and a seed."""


@dataclass(frozen=True, slots=True)
class Range:
    """A key and the whole numbers to search."""

    key: str
    lowest: int
    highest: int

    @staticmethod
    def parse(text: str) -> Range:
        """From KEY=LOW..HIGH."""
        found = re.fullmatch(r"\s*([^=\s]+)\s*=\s*([0-9]{1,18})\.\.([0-9]{1,18})\s*", text)
        if not found:
            raise PacketloomError(
                f"--vary {text}: write it as KEY=LOW..HIGH with whole numbers, such as workload.0.pattern.fan_in=1..80"
            )
        return Range(found[1], int(found[2]), int(found[3]))

    def check(self) -> None:
        """The lower end must come first."""
        for name, end in (("lowest", self.lowest), ("highest", self.highest)):
            arguments.whole(name, end, 0, MOST)
        if self.lowest > self.highest:
            raise PacketloomError(f"{self.key}: {self.lowest}..{self.highest} holds no number; swap them")


@dataclass(frozen=True, slots=True)
class Sought:
    """What a search in a results folder looks for."""

    range: Range
    share: float


@dataclass(slots=True)
class _Bracket:
    """Held at `held` (one below the range: nowhere yet), not at `lost` (one above: nowhere yet)."""

    held: int
    lost: int

    @property
    def next(self) -> int | None:
        return (self.held + self.lost) // 2 if self.lost - self.held > 1 else None

    def narrow(self, value: int, holds: bool) -> None:
        if holds:
            self.held = max(self.held, value)
        elif value > self.held:
            self.lost = min(self.lost, value)


@dataclass(slots=True)
class _Search:
    source: ScenarioSource
    range: Range
    share: float
    overrides: tuple[str, ...]
    output: Path
    workers: int | None
    reporter: Reporter
    keep_older: bool
    axis: str = ""
    probed: dict[int, set[Sample]] = field(default_factory=dict)

    def run(self) -> Results:
        """Bisects until every sample's bracket is closed."""
        self.axis = self._axis()
        self.probed = self._probed_before()
        wanted = {sample: self._middle() for sample in self._samples()}
        brackets: dict[Sample, _Bracket] = {}
        while wanted:
            for sample, value in wanted.items():
                self.probed.setdefault(value, set()).add(sample)
            results = run_plan(
                self._plan(),
                self.output,
                self.workers,
                self.reporter,
                keep_older=self.keep_older,
                verify=not brackets,
            )
            _note_what_is_sought(self.output, self.range, self.share)
            brackets = _brackets(results, self.axis, self.range, self.share)
            wanted = {sample: one.next for sample, one in brackets.items() if one.next is not None}
        return results

    def _middle(self) -> int:
        return (self.range.lowest + self.range.highest) // 2

    def _read(self, values: Iterable[int]) -> Plan:
        setting = f"{self.range.key}=[{', '.join(map(str, values))}]"
        return read_plan(self.source, [*self.overrides, setting])

    def _axis(self) -> str:
        """The name of the key among the cases' parameters. Both ends are read, so a mistake in either is reported."""
        both = self._read(dict.fromkeys((self.range.lowest, self.range.highest)))
        one = read_plan(self.source, [*self.overrides, f"{self.range.key}={self.range.lowest}"])
        known = {name for case in one.cases for name in case.parameters}
        added = sorted({name for case in both.cases for name in case.parameters} - known)
        if len(added) != 1:
            raise PacketloomError(f"{self.range.key} makes no difference between cases; name a key with a number")
        return added[0]

    def _samples(self) -> list[Sample]:
        return [_sample(case.parameters, self.axis) for case in self._read([self._middle()]).cases]

    def _probed_before(self) -> dict[int, set[Sample]]:
        """What an earlier run of this search left in the folder."""
        if not (self.output / MARKER).exists():
            return {}
        probed: dict[int, set[Sample]] = {}
        for row in Results(self.output).rows():
            value = row.parameters.get(self.axis)
            if isinstance(value, int | float) and self.range.lowest <= value <= self.range.highest:
                probed.setdefault(int(value), set()).add(_sample(row.parameters, self.axis))
        return probed

    def _plan(self) -> Plan:
        plan = self._read(sorted(self.probed))

        def is_probed(parameters: Mapping[str, Parameter]) -> bool:
            value = parameters.get(self.axis)
            return value is not None and _sample(parameters, self.axis) in self.probed[int(value)]

        return replace(plan, cases=tuple(case for case in plan.cases if is_probed(case.parameters)))


def run_search(
    scenario: ScenarioSource,
    range: Range,
    *,
    share: float = DEFAULT_SHARE,
    overrides: Overrides = (),
    workers: int | None = None,
    output: Path,
    reporter: Reporter | None = None,
    keep_older: bool = False,
) -> Results:
    """Runs what the search needs; `held_values` says what it found."""
    range.check()
    if not isinstance(share, int | float):
        raise arguments.wrong("share", share, "a number above 0, up to 1")
    if not 0 < share <= 1:
        raise PacketloomError(f"the share to hold is {share:g}; write one above 0, up to 1")
    reporter = reporter or SilentReporter()
    return _Search(scenario, range, share, texts(overrides), output, workers, reporter, keep_older).run()


def _note_what_is_sought(folder: Path, range: Range, share: float) -> None:
    write_json(folder / SEARCH, {**asdict(range), "share": share}, "what is searched for")


def sought(results: Results) -> Sought | None:
    """What the search in this folder looks for; None if it holds none."""
    try:
        found = json.loads((results.path / SEARCH).read_text(encoding="utf-8"))
        range = Range(str(found["key"]), int(found["lowest"]), int(found["highest"]))
        return Sought(range, float(found["share"]))
    except (OSError, ValueError, KeyError, TypeError):  # no search, or no longer known
        return None


def held_by_seed(
    results: Results, range: Range, share: float = DEFAULT_SHARE
) -> dict[str, list[tuple[int | None, float]]]:
    """What a search found for each scheme (and other axes), seed by seed."""
    found: dict[str, list[tuple[int | None, float]]] = {}
    for (scheme, seed), bracket in _brackets(results, _axis_in(results, range.key), range, share).items():
        found.setdefault(scheme, []).append((seed, float(bracket.held)))
    return found


def held_values(results: Results, range: Range, share: float = DEFAULT_SHARE) -> pl.DataFrame:
    """What a search found: a row per scheme (and other axes), as `largest_held` gives it."""
    rows = [
        {"scheme": scheme, "seed": seed, "value": value, "flows": 0, "capped": value == range.highest}
        for scheme, values in held_by_seed(results, range, share).items()
        for seed, value in values
    ]
    samples = pl.DataFrame(rows)
    capped = samples.group_by("scheme", maintain_order=True).agg(pl.col("capped").sum())
    return over_seeds(samples.drop("capped")).drop("flows").join(capped, on="scheme", maintain_order="left")


def largest_held(
    scenario: ScenarioSource,
    key: str,
    lowest: int,
    highest: int,
    *,
    share: float = DEFAULT_SHARE,
    overrides: Overrides = (),
    workers: int | None = None,
    output: str | Path | None = None,
    keep_older: bool = False,
) -> pl.DataFrame:
    """The largest value of `key` from `lowest` to `highest` at which `share` of the deadlines are met.

    `key` is written as for `packetloom run --set`, such as `workload.pattern.fan_in`. A row per scheme: `scheme`,
    `value` (the mean over seeds), `low` and `high` (its 95 % interval; null with one seed), `seeds`, and `capped`: in
    how many seeds even `highest` held, so that the true value is higher. `lowest - 1`: not even `lowest` held.
    What another build has computed in `output` is computed again, unless `keep_older`. `PacketloomError` for a key that
    is not in the scenario, or is no whole number.
    """
    given = None if output is None else arguments.path("output", output)
    range = Range(arguments.instance("key", key, str, 'a key such as "workload.pattern.fan_in"'), lowest, highest)
    range.check()
    limit, older = arguments.workers(workers), arguments.flag("keep_older", keep_older)
    with arguments.folder_for_now(given) as folder:
        results = run_search(
            scenario, range, share=share, overrides=overrides, workers=limit, output=folder, keep_older=older
        )
        return held_values(results, range, share)


def application_throughput(results: Results) -> list[tuple[CaseRow, float]]:
    """The share of the measured flows with a deadline that met it, case by case."""
    shares = []
    for row, table in results.partitions("flows", ["deadline_ns", "met_deadline", "measured"]):
        flows = polars_frame(table).filter(pl.col("measured") & pl.col("deadline_ns").is_not_nan())
        met = flows["met_deadline"].cast(pl.Float64).mean()
        if not isinstance(met, float):
            raise PacketloomError(f"{row.label}: no flow has a deadline; give the workload `deadlines`")
        shares.append((row, met))
    return shares


def print_held(found: pl.DataFrame, range: Range, share: float, note: str = "") -> None:
    """The outcome in the terminal, with a note below."""
    from rich import box
    from rich.table import Table

    from packetloom.common.terminal import console

    title = f"Largest {range.key} that still meets {100 * share:g}% of the deadlines"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.add_column("scheme")
    for heading in ("largest", "95 % interval", "seeds"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in found.iter_rows(named=True):
        interval = "–" if row["low"] is None else f"{row['low']:.3g} to {row['high']:.3g}"
        remark = ""
        if row["capped"]:
            remark = f"even {range.highest} held in {row['capped']} of {row['seeds']} seeds: widen the range"
        elif row["value"] < range.lowest:
            remark = f"not even {range.lowest} held"
        table.add_row(row["scheme"], f"{row['value']:.3g}", interval, str(row["seeds"]), remark)
    console().print(table)
    if note:
        console().print(note)


def write_held(found: pl.DataFrame, path: Path) -> None:
    """The outcome as a JSON list, an object per scheme."""
    write_json(path, found.to_dicts(), "what was found")


def _sample(parameters: Mapping[str, Parameter], axis: str) -> Sample:
    others = {name: value for name, value in parameters.items() if name != axis}
    seed = parameters.get("seed")
    return label_of(others), None if seed is None else int(seed)


def _axis_in(results: Results, key: str) -> str:
    """The axis that a key became: `workload.0.pattern.fan_in` is `workload[0].pattern.fan_in` among the parameters."""
    last = key.rsplit(".", 1)[-1]
    axes = [axis for axis in results.axes if axis.rsplit(".", 1)[-1] == last]
    if len(axes) != 1:
        raise PacketloomError(f"{results.path}: has no axis {key}; it has {', '.join(results.axes) or 'none'}")
    return axes[0]


def _brackets(results: Results, axis: str, range: Range, share: float) -> dict[Sample, _Bracket]:
    shares = application_throughput(results)
    nowhere = (range.lowest - 1, range.highest + 1)
    brackets = {_sample(row.parameters, axis): _Bracket(*nowhere) for row, _ in shares}  # in the scenario's order
    for row, met in sorted(shares, key=lambda one: float(one[0].parameters[axis] or 0)):
        brackets[_sample(row.parameters, axis)].narrow(int(row.parameters[axis] or 0), met >= share)
    return brackets
