"""Figures 3 to 8, and what the weights do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from packetloom.pages.panels import Curve, Panel
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.daq import measure
from packetloom.reproduce.daq.claims import FAN_IN, LARGEST_BYTES, RATE, SIZE_AXIS
from packetloom.reproduce.daq.measure import Points
from packetloom.reproduce.measure import Interval, PerSeed, Runs, axis_value, interval_of
from packetloom.stats.curves import Style, style_at

MET = "application throughput"
LONG = "long flows, Gb/s"
# Each has its colour in every figure; what is fitted has that of its scheme, with another mark, dashed. D2TCP and DCTCP
# never meet.
ORDER = (measure.DAQ, measure.D3, measure.RCP, "PDQ", "D2TCP", "TCP", "EDF by pFabric")
# Where a logarithmic axis has thresholds of 0 and infinity.
AXIS_ENDS = (1.0, 1000.0)


def by_threshold(runs: Runs) -> list[Panel]:
    """Figure 3."""
    points = measure.throughput_by(runs["threshold"], "ratio")[measure.DAQ]
    low, high = AXIS_ENDS
    shown = {min(max(ratio, low), high): values for ratio, values in points.items()}
    curve = _curve(measure.DAQ, style_at(0), shown)
    return [Panel("0 and ∞ at the ends: one queue", "threshold, round-trip times", MET, [curve], log_x=True)]


def over_time(runs: Runs) -> list[Panel]:
    """Figure 4."""
    found = measure.utilisation(runs["utilisation"])
    curves = [
        Curve(label, _look(label), (one["time_ns"] / 1e9).to_list(), one["utilisation"].to_list(), points=False)
        for label, one in found.items()
    ]
    return [Panel("five long flows", "s", "link utilisation", curves)]


def held(runs: Runs) -> list[Panel]:
    """Figure 5: by rank, so that names stand in the legend."""
    uniform = measure.held(runs["senders"])
    exponential = measure.held(runs["senders-exponential"], measure.SENDERS_EXPONENTIAL)
    return [
        _ranked("deadlines of 20 to 40 ms", uniform),
        _ranked("exponential, mean 20 ms, none below 3 ms", exponential),
    ]


def _ranked(title: str, held: Mapping[str, PerSeed]) -> Panel:
    found = {scheme: interval_of(held[scheme], scheme) for scheme in _shown(held)}
    ranked = sorted(found, key=lambda scheme: -found[scheme].value)
    marks = [Curve.of(scheme, _look(scheme), {rank: found[scheme]}) for rank, scheme in enumerate(ranked, 1)]
    return Panel(title, "rank", "workers", marks)


def held_table(runs: Runs) -> tuple[list[str], list[list[str]]]:
    """The numbers behind Figure 5."""
    kinds = {
        "20 to 40 ms": measure.held(runs["senders"]),
        "exponential": measure.held(runs["senders-exponential"], measure.SENDERS_EXPONENTIAL),
    }
    rows = []
    for deadlines, by_scheme in kinds.items():
        for scheme, values in by_scheme.items():
            found = interval_of(values, scheme)
            interval = "–" if found.low is None else f"{found.low:.3g} to {found.high:.3g}"
            rows.append([scheme, deadlines, f"{found.value:.3g}", interval])
    return ["scheme", "deadlines", "workers", "95 % interval"], rows


def by_size(runs: Runs) -> list[Panel]:
    """Figure 6."""
    return [
        Panel(
            f"answers of {kilobytes} KB",
            "workers",
            MET,
            _curves(measure.throughput_by(runs["incast"], FAN_IN, **{SIZE_AXIS: largest})),
        )
        for kilobytes, largest in LARGEST_BYTES.items()
    ]


def beside_long(runs: Runs) -> list[Panel]:
    """Figure 7."""
    met = measure.throughput_by(runs["background"], FAN_IN)
    long = measure.long_gbps_by(runs["background"], FAN_IN)
    return [
        Panel("short flows", "workers", MET, _curves(met)),
        Panel("two long flows", "workers", LONG, _curves(long)),
    ]


def poisson(runs: Runs) -> list[Panel]:
    """Figure 8."""
    met = measure.throughput_by(runs["poisson"], RATE)
    long = measure.long_gbps_by(runs["poisson"], RATE)
    return [
        Panel("short flows", "flows/s", MET, _curves(met)),
        Panel("two long flows", "flows/s", LONG, _curves(long)),
    ]


def by_weight(runs: Runs) -> list[Panel]:
    """What WRRr does."""
    rates = sorted({axis_value(row, RATE) for row in runs["weights"].rows()})
    curves = [
        _curve(
            f"{rate:g} flows/s",
            style_at(order),
            measure.throughput_by(runs["weights"], "weight_ratio", **{RATE: rate})[measure.DAQ],
        )
        for order, rate in enumerate(rates)
    ]
    return [Panel("short flows beside two long ones", "bytes of short per byte of long", MET, curves, log_x=True)]


def _curves(points: Points) -> list[Curve]:
    return [_curve(scheme, _look(scheme), points[scheme]) for scheme in _shown(points)]


def _look(scheme: str) -> Style:
    own = scheme.removesuffix(" (fitted)")
    look = style_at(ORDER.index("D2TCP" if own == "DCTCP" else own))
    return look if own == scheme else replace(look, marker=look.marker + 1, dash=look.dash + 1)


def _shown(schemes: Iterable[str]) -> list[str]:
    """Without those that only try what the paper leaves open."""
    return [scheme for scheme in schemes if scheme not in measure.TRIED]


def _curve(label: str, look: Style, points: Mapping[float, PerSeed]) -> Curve:
    found = {place: _possible(interval_of(values, label)) for place, values in points.items()}
    return Curve.of(label, look, found)


def _possible(found: Interval) -> Interval:
    """Without what can't be: a share, as of a link of 1 Gb/s, is from 0 to 1. Of few seeds an interval goes beyond."""
    if found.low is None or found.high is None:
        return found
    least, most = min(found.value, 0.0), max(found.value, 1.0)
    return Interval(found.value, max(found.low, least), min(found.high, most))


FIGURES = (
    PaperFigure("3", "application throughput by threshold", ("threshold",), by_threshold),
    PaperFigure("4", "link utilisation over time", ("utilisation",), over_time),
    PaperFigure("5", "workers that can answer in time", ("senders", "senders-exponential"), held, table=held_table),
    PaperFigure("6", "application throughput by workers and size", ("incast",), by_size, columns=3),
    PaperFigure("7", "answers beside two long flows", ("background",), beside_long),
    PaperFigure("8", "Poisson arrivals beside two long flows", ("poisson",), poisson),
    PaperFigure("weights", "what WRRr does", ("weights",), by_weight),
)
