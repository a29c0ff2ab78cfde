"""`packetloom compare A B`, and `packetloom.compare`: how two schemes, or those of two folders, differ.

They are compared seed by seed. It says what the report's page says (`report.sentences`), of these two only. The
command's exit code tells a script whether B is worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from packetloom.common.build import builds_text
from packetloom.common.quantities import said_within
from packetloom.common.suggest import meant
from packetloom.errors import ArgumentError, PacketloomError
from packetloom.pages.drift_words import warning
from packetloom.pages.fitting import print_fitting
from packetloom.pages.grid_costs import Along, point_of, sentences_along, table_along
from packetloom.pages.grid_costs import along as values_along
from packetloom.pages.measures import Condition, Measure, Question, condition_of, entity_of, names_in, question_of
from packetloom.pages.ranking import Answer, Pair, comparison_text
from packetloom.pages.sentences import sentences
from packetloom.pages.setup import setting_text
from packetloom.scenario import confounders
from packetloom.scenario.facts import slow_alone_as_stored
from packetloom.store.case_rows import builds_of
from packetloom.store.results import Results, Snapshot

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Side:
    """A results folder, or one scheme in it."""

    results: Results
    scheme: str | None = None

    @staticmethod
    def parse(text: str, other: Side | None = None) -> Side:
        """From DIR, DIR:SCHEME, or :SCHEME of the other side's folder."""
        if text.startswith(":") and other:
            return Side(other.results, text[1:])
        folder, colon, scheme = text, "", ""
        while not Path(folder).is_dir() and ":" in folder:
            folder, _, last = folder.rpartition(":")
            colon, scheme = ":", f"{last}{colon}{scheme}"
        if not Path(folder).is_dir():
            return Side(Snapshot(Results(text)))  # says what is there instead
        return Side(Snapshot(Results(folder)), scheme if colon else None)


@dataclass(frozen=True, slots=True)
class Compared:
    """One statistic of the two, under one condition."""

    measure: str
    condition: str
    a: str
    b: str
    a_mean: float
    b_mean: float
    ratio_or_difference: float | None
    low: float | None
    high: float | None
    p: float | None
    same: bool
    """In every seed, to the last bit."""
    told_apart: bool
    times_as_bad: float | None
    """By how much B is worse: above 1, it is."""
    seeds: int
    seeds_needed: int | None


@dataclass(frozen=True, slots=True)
class Lacking:
    """What A has and B lacks under a condition, such as when none of B's flows ended: no comparison finds it good."""

    measure: str
    condition: str
    a: str
    a_mean: float
    b: str | None = None

    def text(self, names: Mapping[str, str]) -> str:
        """In words; `names` are those of A's folder."""
        at = f" at {self.condition}" if self.condition else ""
        if self.b is not None:
            return f"{self.b}{at} did not finish, and {self.a} did"
        return f"{names.get(self.a, self.a)}{at} has no value in B"


class Sides:
    """Two sides and how they differ."""

    def __init__(self, a: Side, b: Side) -> None:
        self.a, self.b = a, b
        is_one_folder = a.results.path.resolve() == b.results.path.resolve()
        self.several = [a.results] if is_one_folder else [a.results, b.results]
        for one in self.several:
            if not one.rows():
                raise PacketloomError(f"{one.path}: no case is finished yet, so there is nothing to compare")
        question = question_of(self.several)
        if question is None:
            raise PacketloomError("nothing is finished that could be compared: no flow of these results has ended")
        self.pairs, self.only = _pairs(a, b, self.several, is_one_folder)
        self.names = {shown: name for name, shown in names_in(a.results, self.several).items()}
        """A's schemes as they are called in its folder."""
        self.asked = question
        """Of all that the two have, whether the other has it or not."""
        restricted = _restricted(question, self.pairs)
        if not restricted.conditions and not self._b_ran_what_a_has(restricted):
            raise PacketloomError("the two have no load (or other point of the grid) in common")
        self.answer = Answer(restricted, self.pairs)

    @staticmethod
    def parse(a: str, b: str) -> Sides:
        """From two sides as texts."""
        one = Side.parse(a)
        return Sides(one, Side.parse(b, one))

    def measure(self, name: str | None) -> Measure:
        """The statistic of that name; without one, the one that the scenario is about."""
        measures = {one.name: one for one in self.answer.question.measures}
        if name is not None and name not in measures:
            raise PacketloomError(f"there is no statistic {name!r} to compare by; there are {', '.join(measures)}")
        measure = self.answer.question.lead if name is None else measures[name]
        if not any(self.rows(measure)) and not self.lacking(measure):
            raise PacketloomError(f"A has no {measure.title}, so there is nothing to compare")
        return measure

    def lacking(self, measure: Measure) -> list[Lacking]:
        """What of A's has no value in B, or did not finish there, scheme by scheme: those that B does not have, too."""
        stopped = self.asked.stopped
        values = next(one.values for one in self.asked.measures if one.name == measure.name)
        others: dict[str, str | None] = {name: None for name in self.only if name in self.names}
        others |= dict(self.pairs)
        return [
            Lacking(
                measure.name,
                condition.text,
                one,
                float(np.mean(list(values[one, condition].values()))),
                other if (other, condition) in values else None,
            )
            for condition in self.asked.conditions
            for one, other in others.items()
            if (one, condition) in values
            and (
                (other, condition) not in values or ((other, condition) in stopped and (one, condition) not in stopped)
            )
        ]

    def _b_ran_what_a_has(self, question: Question) -> bool:
        """Whether B has cases, without a value, where A has values."""
        shown = names_in(self.b.results, self.several)
        ran = {(shown[entity_of(row, row.label)], condition_of(row)) for row in self.b.results.rows()}
        others = dict(self.pairs)
        return any((others[one], condition) in ran for one, condition in question.lead.values if one in others)

    def rows(self, measure: Measure) -> Iterator[Compared]:
        """Each pair under each condition that both have."""
        for condition in self.answer.question.conditions:
            for one, other in self.pairs:
                if (row := self._row(measure, condition, one, other)) is not None:
                    yield row

    def _row(self, measure: Measure, condition: Condition, one: str, other: str) -> Compared | None:
        a, b = measure.mean(one, condition), measure.mean(other, condition)
        if a is None or b is None:
            return None
        names = (measure.name, condition.text, one, other, a, b)
        found = self.answer.comparison(measure, condition, other, one)
        worse = _times_as_bad(measure, a, b)
        if found is None:
            return Compared(*names, None, None, None, None, False, False, worse, 0, None)
        if found.is_ratio:
            worse = found.value if measure.lower_is_better else 1 / found.value
        needed = None if found.is_told else found.seeds_needed
        bounds = found.value, found.low, found.high, found.corrected
        return Compared(*names, *bounds, found.is_same, found.is_told, worse, found.seeds, needed)

    def unchanged(self) -> str:
        """Whether the simulations are the same, case by case, where both sides have them."""
        if len(self.several) < 2:
            return ""
        prints = [
            {(row.label, row.load, row.seed): row.fingerprint for row in side.results.rows()}
            for side in (self.a, self.b)
        ]
        both = prints[0].keys() & prints[1].keys()
        same = sum(prints[0][key] == prints[1][key] for key in both)
        return f"{same} of {len(both)} cases that both have are the same in every flow" if both else ""


def compare(
    a: str | Path, b: str | None = None, *, along: str | None = None, base: str | None = None, by: str | None = None
) -> pl.DataFrame:
    """How two schemes, two folders, or the values of an axis differ, seed by seed: what `packetloom compare` says.

    `a` is a results folder, or `"DIR:SCHEME"`; `b` the same, or `":SCHEME"` of a's folder. In place of `b`, `along` is
    an axis of a's grid, whose values are compared with the first, or with `base`. `by` is a statistic, if not the one
    that the scenario is about. A row per pair and point of the grid: `measure`, `condition`, `a`, `b`, their means,
    `ratio_or_difference` (b over a) with its 95 % interval `low` and `high`, Holm's `p`, whether the seeds tell the
    two apart (`told_apart`), `times_as_bad` (above 1, b is worse), `seeds`, and the `seeds_needed` to tell. What b
    lacks has null. `PacketloomError` for what can't be compared.

    Examples:
        >>> found = packetloom.compare(f"{results.path}:TCP", ":DCTCP")
        >>> found.select("condition", "a", "b", "told_apart").rows()[0][:3]
        ('load 0.2', 'TCP', 'DCTCP')
    """
    import polars as pl

    if (b is None) == (along is None):
        raise ArgumentError("give b, or along: one of the two is compared with a")
    if along is not None:
        found = by_statistic(values_along(Snapshot(Results(a)), along, base), by)
        rows, lacking = list(rows_along(found, found.measure)), lacking_along(found, found.measure)
    else:
        if base is not None:
            raise ArgumentError("base goes with along")
        sides = Sides.parse(str(a), str(b))
        measure = sides.measure(by)
        rows, lacking = list(sides.rows(measure)), sides.lacking(measure)
    kinds = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}
    schema = {one.name: kinds[str(one.type).removesuffix(" | None")] for one in fields(Compared)}
    return pl.DataFrame(as_json(rows, lacking), schema=schema)


def _pairs(a: Side, b: Side, several: Sequence[Results], is_one_folder: bool) -> tuple[list[Pair], list[str]]:
    """Which are compared, A's first, and what only one side has."""
    names = [names_in(side.results, several) for side in (a, b)]
    for side, known in zip((a, b), names, strict=True):
        if side.scheme is not None and side.scheme not in known:
            raise PacketloomError(f"{side.results.path}: there is no {side.scheme!r}; {meant(side.scheme, known)}")
    if is_one_folder and (a.scheme is None or b.scheme is None):
        there = ", ".join(names[0])
        raise PacketloomError(f"name two schemes of {a.results.path}: compare DIR:ONE :OTHER; there are {there}")
    one, other = a.scheme or b.scheme, b.scheme or a.scheme
    if one is not None and other is not None:
        for side, known, name in zip((a, b), names, (one, other), strict=True):
            if name not in known:
                raise PacketloomError(f"{side.results.path}: there is no {name!r}; {meant(name, known)}")
        if is_one_folder and one == other:
            raise PacketloomError(f"{one!r} is the same on both sides: name two schemes")
        return [(names[0][one], names[1][other])], []
    if len(names[0]) == len(names[1]) == 1:
        return [(next(iter(names[0].values())), next(iter(names[1].values())))], []
    common = [name for name in names[0] if name in names[1]]
    if not common:
        raise PacketloomError("the two folders have no scheme in common: name one of each, as DIR:SCHEME")
    only = [shown for here, there in (names, names[::-1]) for name, shown in here.items() if name not in there]
    return [(names[0][name], names[1][name]) for name in common], only


def _restricted(question: Question, pairs: Sequence[Pair]) -> Question:
    wanted = {name for pair in pairs for name in pair}
    measures = tuple(
        replace(one, values={key: values for key, values in one.values.items() if key[0] in wanted})
        for one in question.measures
    )
    entities = tuple(one for one in question.entities if one in wanted)
    conditions = tuple(
        here
        for here in question.conditions
        if any((one, here) in measures[0].values and (other, here) in measures[0].values for one, other in pairs)
    )
    seeds = max(map(len, measures[0].values.values()), default=0)
    return replace(
        question,
        entities=entities,
        references=frozenset(),
        measures=measures,
        conditions=conditions,
        seeds=seeds,
        unfinished_at={place: share for place, share in question.unfinished_at.items() if place[0] in wanted},
    )


def _times_as_bad(measure: Measure, a: float, b: float) -> float | None:
    good, bad = (a, b) if measure.lower_is_better else (b, a)
    if good == bad:
        return 1.0
    return bad / good if good > 0 else float("inf")


def times_said(times: float | None) -> str:
    """How many times as bad, in as many digits as it takes to see that it is not once: 1.0004 times."""
    assert times is not None
    digits = next((digits for digits in range(3, 12) if float(f"{times:.{digits}g}") != 1), 12)
    return f"{times:.{digits}g} times"


def print_comparison(sides: Sides, console: Console, by: str | None = None) -> list[Compared]:
    """What there is to say, and a table; gives the rows of the statistic that decides."""
    measure = sides.measure(by)
    answer = sides.answer
    for side, letter in ((sides.a, "A"), (sides.b, "B")):
        name = f"{side.results.path}{f', {side.scheme}' if side.scheme else ''}"
        console.print(f"{letter}: {name}, by {builds_text(builds_of(side.results.rows()))}")
    if same := sides.unchanged():
        console.print(same)
    for line in (*_footing(sides), *_slow_alone(sides)):
        console.print(f"warning: {line}", markup=False)
    console.print()
    setting = setting_text(sides.several, answer.question.flows)
    if len(sides.pairs) == 1 and answer.question.conditions:
        for sentence in sentences(answer, setting):
            console.print(sentence.text)
    elif told := warning(answer.question):
        console.print(told)
    for one in [measure, *(other for other in answer.question.measures if other is not measure)]:
        rows = list(sides.rows(one))
        different = [row for row in rows if not row.same]
        console.print()
        if different:
            print_fitting(_table(one, different, sides), console)
        if alike := len(rows) - len(different):
            what = "rows are" if alike > 1 else "row is"
            console.print(
                f"{_title(one)}: {alike} {'more ' if different else ''}{what} the same in every seed", style="dim"
            )
    for lacking in sides.lacking(measure):
        console.print(lacking.text(sides.names), markup=False)
    console.print(_note(sides, measure), style="dim")
    for name in sides.only:
        console.print(f"only on one side: {name}", style="dim")
    return list(sides.rows(measure))


def _footing(sides: Sides) -> list[str]:
    """What the two schemes differ in beside themselves, if two are compared."""
    if sides.a.scheme is None or sides.b.scheme is None:
        return []
    both = [(sides.a.results, sides.a.scheme), (sides.b.results, sides.b.scheme)]
    lines = [
        line
        for results, scheme in both
        for line in results.plan_lines()
        if confounders.scheme_as_stored(line) == scheme
    ]
    return [confounders.warning(one) for one in confounders.unequal_as_stored(lines) if one.is_foreign]


def _slow_alone(sides: Sides) -> list[str]:
    """Of which of the schemes that are compared a flow is slow on a network of its own."""
    lines = [
        line
        for side in (sides.a, sides.b)
        for line in side.results.plan_lines()
        if side.scheme in (None, confounders.scheme_as_stored(line))
    ]
    return slow_alone_as_stored(lines)


def _table(measure: Measure, rows: Sequence[Compared], sides: Sides) -> Table:
    table = Table(title=_title(measure), box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    has_condition, has_names = any(row.condition for row in rows), len(sides.pairs) > 1
    for heading in [*(["at"] if has_condition else []), *(["scheme"] if has_names else [])]:
        table.add_column(heading, overflow="fold", min_width=8)
    for heading in ("A", "B", "B / A" if measure.by_ratio else "B - A", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("told apart")
    conditions = {one.text: one for one in sides.answer.question.conditions}
    for row in rows:
        here = conditions[row.condition]
        a, b = (
            said_within(mean, None if has_names else measure.half(name, here), measure.unit)
            for name, mean in ((row.a, row.a_mean), (row.b, row.b_mean))
        )
        found = sides.answer.comparison(measure, here, row.b, row.a)
        text, bounds = ("", "") if found is None else comparison_text(found, measure, signed=True)
        named = [*([row.condition] if has_condition else []), *([sides.names[row.a]] if has_names else [])]
        table.add_row(*named, a, b, text, bounds, _told(row))
    return table


def _title(measure: Measure) -> str:
    return measure.title[:1].upper() + measure.title[1:]


def _told(row: Compared) -> str:
    if row.seeds < 2:
        return ""
    if row.told_apart:
        return "yes"
    return f"no; {row.seeds_needed:,} seeds might" if row.seeds_needed else "no"


def _note(sides: Sides, measure: Measure) -> str:
    if sides.answer.question.seeds < 2:
        return "one seed: nothing can be said about how sure this is; run both with several (run.seeds)"
    tests = sides.answer.tested(measure)
    holm = f", Holm's correction over {tests} comparisons of each statistic" if tests > 1 else ""
    return f"paired by seed; told apart: at 95 %{holm}"


def rows_along(found: Along, measure: Measure) -> Iterator[Compared]:
    """Each scheme at each further value of an axis (B), beside itself at the first (A)."""
    for here in found.answer.question.conditions:
        for value in found.others:
            a, b = measure.mean(found.base, here), measure.mean(value, here)
            own = found.comparison(value, here, measure)
            if a is None or b is None or own is None:
                continue
            worse = _times_as_bad(measure, a, b)
            if own.is_ratio:
                worse = own.value if measure.lower_is_better else 1 / own.value
            needed = None if own.is_told else own.seeds_needed
            bounds = own.value, own.low, own.high, own.corrected
            names = (measure.name, here.text, found.base, value, a, b)
            yield Compared(*names, *bounds, own.is_same, own.is_told, worse, own.seeds, needed)


def lacking_along(found: Along, measure: Measure) -> list[Lacking]:
    """Where a scheme has a value at the first value of the axis, and did not finish at another."""
    return [
        Lacking(measure.name, here.text, found.base, mean, value)
        for here in found.answer.question.conditions
        for value in found.others
        if (mean := measure.mean(found.base, here)) is not None
        and ((value, here) in found.answer.question.stopped or measure.mean(value, here) is None)
        and (value, here) in found.there
    ]


def by_statistic(found: Along, by: str | None) -> Along:
    """The same by the statistic of that name; without one, by the one that the scenario is about."""
    measures = {one.name: one for one in found.answer.question.measures}
    if by is not None and by not in measures:
        raise PacketloomError(f"there is no statistic {by!r} to compare by; there are {', '.join(measures)}")
    return found if by is None else found.by(measures[by])


def print_along(found: Along, console: Console, by: str | None = None) -> tuple[list[Compared], list[Lacking]]:
    """What the values of an axis cost, and a table; gives the rows of the statistic that decides."""
    found = by_statistic(found, by)
    measure = found.measure
    if found.unsteady:
        console.print(found.unsteady, markup=False)
    for sentence in sentences_along(found):
        console.print(sentence.text, markup=False)
    table = Table(title=_title(measure), box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    points = [point_of(here).text for here in found.answer.question.conditions]
    for heading in ["scheme", *(["at"] if any(points) else [])]:
        table.add_column(heading, overflow="fold", min_width=8)
    compared = f"over that\nat {found.base}" if measure.by_ratio else f"less that\nat {found.base}"
    for heading in (found.name, measure.heading, compared, "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("told apart")
    for cells in table_along(found, measure):
        table.add_row(*(cells if any(points) else [cells[0], *cells[2:]]))
    print_fitting(table, console)
    tests = found.answer.tested(measure)
    note = f"paired by seed; told apart: at 95 %{f', Holm over {tests} comparisons' if tests > 1 else ''}"
    one_seed = "one seed: nothing can be said about how sure this is (run.seeds)"
    console.print(note if found.answer.question.seeds > 1 else one_seed, style="dim")
    return list(rows_along(found, measure)), lacking_along(found, measure)


def as_json(rows: Sequence[Compared], lacking: Sequence[Lacking] = ()) -> list[dict[str, object]]:
    """The rows for a file; of what B lacks, all that takes B is null."""
    nothing = dict.fromkeys(field.name for field in fields(Compared))
    return [*(asdict(row) for row in rows), *(nothing | asdict(one) for one in lacking)]
