"""From results to figures, and from figures to a verdict for each set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from packetloom.quantities import size_said
from packetloom.results import Results
from packetloom.scenario import Scenario
from packetloom.validate.comparison import Comparison, Known, Row
from packetloom.validate.hardware.measurements import Figure, Measurement
from packetloom.validate.hardware.sets import SETS, HardwareSet

Group = tuple[str, list[Measurement]]


def hardware_comparisons() -> list[Comparison]:
    """All sets."""
    return [_comparison(one) for one in SETS]


def _groups(one: HardwareSet) -> list[Group]:
    """Figures that a scenario has together, of different sizes."""
    found = sorted(one.figures, key=lambda figure: (figure.key, figure.size_bytes))
    named = [(str(nth), list(group)) for nth, (_, group) in enumerate(groupby(found, lambda figure: figure.key))]
    return [(f"{one.name}-{name}", _of_each_size(group)) for name, group in named]


def _of_each_size(group: Sequence[Measurement]) -> list[Measurement]:
    return list({figure.size_bytes: figure for figure in group}.values())


def _comparison(one: HardwareSet) -> Comparison:
    def scenarios(_: Path) -> Mapping[str, Scenario]:
        return {name: one.scenario(group) for name, group in _groups(one)}

    def rows(results: Mapping[str, Results]) -> list[Row]:
        figures = [
            Figure(figure, one.value(figure, results[name]), figure.size_bytes >= one.judged_from)
            for name, group in _groups(one)
            for figure in group
        ]
        return _judged(one, figures)

    return Comparison(f"hardware-{one.name}", scenarios, rows, quick=one.quick)


def _judged(one: HardwareSet, figures: Sequence[Figure]) -> list[Row]:
    errors = sorted(abs(figure.ratio - 1) for figure in figures if figure.judged)
    within = [sum(error <= bound for error in errors) / len(errors) for bound in (0.10, 0.15)]
    source = (
        f"{figures[0].of.source.split(': ')[0]}; {one.constants}; {len(errors)} of {len(figures)} figures judged: "
        f"worst {errors[-1]:.1%}, {within[0]:.0%} within 10 %, {within[1]:.0%} within 15 %"
    )
    rows = [
        Row(
            id=f"hardware-{one.name}",
            what=f"{one.what}: median error",
            source=source,
            expected=(0.0, one.median),
            measured=median(errors),
            band=(0.0, one.median),
            rule=f"median error {one.median:.0%} at most",
            known=_known(one, one.median),
            figures=tuple(figure.to_dict() for figure in figures),
        )
    ]
    if one.nine_of_ten is not None:
        rows.append(
            Row(
                id=f"hardware-{one.name}-most",
                what=f"{one.what}: error of nine figures in ten",
                source=source,
                expected=(0.0, one.nine_of_ten),
                measured=errors[min(len(errors) - 1, int(0.9 * len(errors)))],
                band=(0.0, one.nine_of_ten),
                rule=f"{one.nine_of_ten:.0%} at most",
                known=_known(one, one.nine_of_ten),
            )
        )
    return rows


def _known(one: HardwareSet, asked: float) -> Known | None:
    """A set that is missed stays so until somebody finds out more."""
    return Known(one.missed, (asked, float("inf")), "missed", always=False) if one.missed else None


def print_figures(rows: Sequence[Row]) -> None:
    """Measured, simulated and ratio of every figure, set by set."""
    from rich.table import Table

    from packetloom.terminal import console

    screen = console()
    for row in rows:
        if not row.figures:
            continue
        table = Table(title=row.id, title_justify="left", header_style="bold")
        for heading in ("figure", "ranks", "operation", "size", "measured", "simulated", "ratio", "judged"):
            table.add_column(heading)
        for one in row.figures:
            unit = "" if one["unit"] == "ratio" else f" {one['unit']}"
            table.add_row(
                one["id"],
                str(one["ranks"]),
                one["operation"],
                size_said(one["size_bytes"]) if one["size_bytes"] else "",
                f"{one['measured']:.5g}{unit}",
                f"{one['simulated']:.5g}{unit}",
                f"{one['ratio']:.3f}",
                "yes" if one["judged"] else "no",
            )
        screen.print(table)
