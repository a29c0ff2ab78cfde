"""Figures 3 to 10, and two of our own: estimators, and how good synchronisation must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from packetloom.common.quantities import significant
from packetloom.pages.panels import Curve, Panel
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.sync_or_not import measure
from packetloom.stats.curves import style_at
from packetloom.stats.summary import polars_frame
from packetloom.store.results import Results

Runs = Mapping[str, Results]
# As the scenario imperfect.toml has them, in us and in labels.
CLOCK_ERRORS = {0.0: "0ns", 1.0: "1us", 10.0: "10us", 100.0: "100us", 1_000.0: "1ms"}
LATENCIES = {0: "0ns", 100: "100us"}
PERCENTILES = (1, 10, 25, 50, 75, 90, 99)


def by_load(title: str, unit: str, table: measure.Table, *, log_y: bool = False) -> Panel:
    """A curve for each scheme."""
    curves = []
    for place, label in enumerate(measure.labels_of(table)):
        loads = [load for load in measure.loads_of(table) if (label, load) in table]
        found = {load: measure.at(table, label, load) for load in loads}
        curves.append(Curve.of(label, style_at(place), found))
    return Panel(title, "load", unit, curves, log_y=log_y)


def fairness(runs: Runs) -> list[Panel]:
    """Figure 3."""
    return [by_load("fairness", "Jain's index", measure.of_flows(runs["uniform"], measure.jain))]


def completion(experiment: str) -> Callable[[Runs], list[Panel]]:
    """Figures 4, 5 and 6."""

    def panels(runs: Runs) -> list[Panel]:
        mean = measure.of_flows(runs[experiment], measure.mean_slowdown)
        spread = measure.of_flows(runs[experiment], measure.variation)
        return [
            by_load("mean", "FCT / FCT alone", mean, log_y=True),
            by_load("coefficient of variation", "of FCT / FCT alone", spread),
        ]

    return panels


def traces(runs: Runs) -> list[Panel]:
    """Figures 7 to 9: the last 100 ms, averaged over servers or ports."""
    panels = []
    for title, tiers in measure.TIERS.items():
        curves = []
        series = runs["traces"].partitions("series", ("port", "time_ns", "queue_bytes"))
        ports = {
            row.case_id: polars_frame(table) for row, table in runs["traces"].partitions("ports", ("port", "tier"))
        }
        for place, (row, table) in enumerate(series):
            chosen = ports[row.case_id].filter(pl.col("tier").is_in(tiers))["port"]
            samples = polars_frame(table).filter(pl.col("port").is_in(chosen.implode()))
            over_time = samples.group_by("time_ns").agg(pl.col("queue_bytes").mean()).sort("time_ns")
            # The last sample is of those servers alone whose packets went on beyond it.
            over_time = over_time[-101:-1]
            x, y = (over_time["time_ns"] / 1e6).to_list(), (over_time["queue_bytes"] / 1e3).to_list()
            curves.append(Curve(row.label, style_at(place), x, y, points=False))
        panels.append(Panel(title, "time, ms", "kB each", curves))
    return panels


def latencies(runs: Runs) -> list[Panel]:
    """Figure 10, at load 0.8: percentiles of packets' latencies, as points of their distributions."""
    panels = []
    for where in ("network", "server"):
        curves = []
        for place, label in enumerate(("SYN MMF", "ASY")):
            x = []
            for percentile in PERCENTILES:
                table = measure.latency_ns(runs["uniform"], where, f"p{percentile}")
                x.append(measure.at(table, label, 0.8).value / 1e3)
            curves.append(Curve(label, style_at(place), x, [percentile / 100 for percentile in PERCENTILES]))
        panels.append(Panel(f"{where} latency", "us", "share of packets", curves, log_x=where == "server"))
    return panels


def imperfect(runs: Runs) -> list[Panel]:
    """How good must synchronisation be? SYN by its clocks' errors; ASY, which needs no clocks, beside it."""
    panels = []
    for title, unit, of in (
        ("FCT", "FCT / FCT alone", measure.of_flows(runs["imperfect"], measure.mean_slowdown)),
        ("network latency, p99", "us", measure.latency_ns(runs["imperfect"], "network", "p99")),
    ):
        curves = []
        for place, latency_us in enumerate((0, 100)):
            away = f"controller {latency_us} us away"
            latency = f"transport.latency {LATENCIES[latency_us]}"
            syn = [
                (error_us, measure.at(of, f"SYN, transport.clock_error {text}, {latency}", 0.8))
                for error_us, text in CLOCK_ERRORS.items()
            ]
            asy = measure.at(of, f"ASY, {latency}", 0.8)
            scale = 1e3 if unit == "us" else 1.0
            x = [max(error_us, 0.1) for error_us, _ in syn]
            for nth, (label, found) in enumerate((("SYN", [one for _, one in syn]), ("ASY", [asy] * len(x)))):
                y = [one.value / scale for one in found]
                # One seed has no interval.
                low, high = (
                    [None if end is None else end / scale for end in ends]
                    for ends in ([one.low for one in found], [one.high for one in found])
                )
                look = style_at(place + 2 * nth)
                curves.append(Curve(f"{label}, {away}", look, x, y, low, high, points=label == "SYN"))
        panels.append(Panel(title, "clock error (standard deviation), us; 0.1: none", unit, curves, True, True))
    return panels


def given_out(runs: Runs) -> list[Panel]:
    """SA8 and SA9 by what part of each link ASY gives out, for so many rounds."""
    held = [(f"{where}: ASY / SYN", measure.given_out(runs["given-out"], where)) for where in measure.TIERS]
    median = ("network latency p50, ASY / SYN", measure.given_out(runs["given-out"], "network"))
    panels = []
    for title, table in (*held, median):
        curves = []
        for place, rounds in enumerate(sorted({rounds for _, rounds in table})):
            found = {share: value for (share, other), value in table.items() if other == rounds}
            curves.append(Curve.of(f"up to {rounds} rounds", style_at(place), dict(sorted(found.items()))))
        panels.append(Panel(title, "share of links given out", "ratio", curves, log_y=title.startswith("leaves")))
    return panels


def given_out_table(runs: Runs) -> tuple[list[str], list[list[str]]]:
    """The same in numbers, without the frame in service and with it."""
    one = runs["given-out"]
    tables = [measure.given_out(one, where, framed=framed) for framed in (False, True) for where in measure.TIERS]
    tables += [measure.given_out(one, "p99"), measure.given_out(one, "network"), measure.given_out(one, "fct")]
    header = ["share", "rounds", *measure.TIERS, *(f"{where}, framed" for where in measure.TIERS)]
    header += ["spines' p99, B", "network p50", "FCT"]
    keys = sorted(tables[0], key=lambda key: (-key[0], key[1]))
    rows = [[f"{key[0]:g}", str(key[1]), *(significant(table[key].value, 3) for table in tables)] for key in keys]
    return header, rows


def imperfect_table(runs: Runs) -> tuple[list[str], list[list[str]]]:
    """What goes wrong, in FCT, network latency and control traffic."""
    one = runs["imperfect"]
    tables = [
        (measure.of_flows(one, measure.mean_slowdown), 1.0),
        (measure.latency_ns(one, "network", "p99"), 1e3),
        (measure.counter(one, "control_report_bytes_per_s"), 1e6),
        (measure.counter(one, "control_grant_bytes_per_s"), 1e6),
    ]
    header = ["scheme", "FCT / FCT alone", "network latency p99, us", "reports, MB/s", "grants, MB/s"]
    labels = measure.labels_of(tables[0][0])
    rows = [
        [label, *(significant(measure.at(table, label, 0.8).value / unit, 3) for table, unit in tables)]
        for label in labels
    ]
    return header, rows


FIGURES = (
    PaperFigure("3", "fairness of SYN and ASY under uniform traffic", ("uniform",), fairness, 1),
    PaperFigure("4", "FCT by matching under incast", ("incast",), completion("incast")),
    PaperFigure("5", "FCT with full packets under uniform traffic", ("uniform",), completion("uniform")),
    PaperFigure("6", "FCT with bimodal and Facebook web packet lengths", ("lengths",), completion("lengths")),
    PaperFigure("7-9", "what waits at servers and at ports of leaves and spines", ("traces",), traces, 3),
    PaperFigure("10", "latency in the network and at servers at load 0.8", ("uniform",), latencies),
    PaperFigure("estimators", "how ASY estimates offered rates", ("estimators",), completion("estimators")),
    PaperFigure(
        "synchronisation",
        "how good must synchronisation be before ASY wins",
        ("imperfect",),
        imperfect,
        table=imperfect_table,
    ),
    PaperFigure(
        "given-out",
        "SA8 and SA9 by what is given out, in how many rounds",
        ("given-out",),
        given_out,
        table=given_out_table,
    ),
)
