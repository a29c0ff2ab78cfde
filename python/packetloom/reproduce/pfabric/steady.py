"""Slowdown at load 0.8 once queues no longer grow: longer runs, and what models without packets tell of their seeds."""

from __future__ import annotations

from collections.abc import Mapping

from packetloom.common.quantities import significant
from packetloom.pages.panels import Dots, Panel
from packetloom.reproduce import Experiment, PaperFigure
from packetloom.reproduce.controlled import FEWEST, controlled
from packetloom.reproduce.measure import Interval, Runs, interval_of
from packetloom.reproduce.pfabric.measure import DCTCP, IDEAL, LARGE, LINE_RATE, MEDIUM, MIN_TCP, SMALL, TCP, Slowdowns
from packetloom.stats.curves import Style, styles

LOAD = 0.8
MAX_MIN = "Max-min"
WORKLOADS = {"web-search": "web search", "data-mining": "data mining"}
STATISTICS = ("mean", "p99")
# Of flows that share, equal shares tell; of those that wait for shorter ones, shortest first.
MODELS = {TCP: MAX_MIN, DCTCP: MAX_MIN, MIN_TCP: IDEAL, LINE_RATE: IDEAL}
# Small flows hardly notice how many large ones there are.
MODELLED = (MEDIUM, LARGE)

FULL = {
    "web-search": ("run.loads=[0.8]", "run.seeds=16", "run.flows=40000", "run.warm_up=300ms"),
    "data-mining": ("run.loads=[0.8]", "run.seeds=16", "run.duration=2500ms", "run.warm_up=700ms"),
}
QUICK = {
    "web-search": ("run.loads=[0.8]", "run.seeds=6", "run.duration=30ms", "run.warm_up=10ms", "run.max_time=60ms"),
    "data-mining": ("run.loads=[0.8]", "run.seeds=6", "run.duration=60ms", "run.warm_up=20ms", "run.max_time=60ms"),
}


def experiments() -> tuple[Experiment, ...]:
    """Longer runs of both workloads, and many seeds of their models."""
    longer = [Experiment(f"{one}-steady", f"{one}.toml", QUICK[one], FULL[one], tiny="1ms") for one in WORKLOADS]
    models = [
        Experiment(
            f"{one}-models",
            f"{one}-models.toml",
            (*QUICK[one], "run.seeds=16"),
            (*FULL[one], "run.seeds=200"),
            tiny="1ms",
        )
        for one in WORKLOADS
    ]
    return (*longer, *models)


class Steady:
    """One workload's slowdowns at load 0.8."""

    def __init__(self, workload: str, runs: Runs) -> None:
        self.measured = Slowdowns(runs[f"{workload}-steady"])
        self.models = Slowdowns(runs[f"{workload}-models"])

    def of(self, scheme: str, bin: str, statistic: str) -> Interval | None:
        """A slowdown; `None` where too few seeds have flows of that size."""
        if scheme == IDEAL:
            return self._plain(self.models.by_seed(IDEAL, LOAD, bin, statistic))
        seeds = self.measured.by_seed(scheme, LOAD, bin, statistic)
        if bin not in MODELLED:
            return self._plain(seeds)
        model = self.models.by_seed(MODELS[scheme], LOAD, bin, statistic)
        return controlled(seeds, model) if len(seeds.keys() & model.keys()) >= FEWEST else None

    def without_models(self, scheme: str, bin: str, statistic: str) -> Interval | None:
        """The same from the longer runs alone."""
        return self._plain(self.measured.by_seed(scheme, LOAD, bin, statistic))

    @staticmethod
    def _plain(seeds: Mapping[int, float]) -> Interval | None:
        return interval_of(seeds.items(), "a slowdown") if len(seeds) >= FEWEST else None


def _panels(runs: Runs) -> list[Panel]:
    steady = {workload: Steady(workload, runs) for workload in WORKLOADS}
    looks = styles(runs["web-search-steady"])
    return [
        Panel(f"{title}: {bin}", "", "p99 slowdown", _dots(steady[workload], bin, looks), log_y=True)
        for workload, title in WORKLOADS.items()
        for bin in (SMALL, MEDIUM, LARGE)
    ]


def _dots(steady: Steady, bin: str, looks: Mapping[str, Style]) -> list[Dots]:
    found = [(scheme, look, steady.of(scheme, bin, "p99")) for scheme, look in looks.items()]
    return [Dots(name, look, [name], [one.value], [one.low], [one.high]) for name, look, one in found if one]


def _table(runs: Runs) -> tuple[list[str], list[list[str]]]:
    columns = [(bin, statistic) for bin in (SMALL, MEDIUM, LARGE) for statistic in STATISTICS]
    header = ["workload", "scheme", *(f"{bin}: {statistic}" for bin, statistic in columns)]
    rows = []
    for workload, title in WORKLOADS.items():
        steady = Steady(workload, runs)
        for scheme in (*MODELS, IDEAL):
            cells = (
                _cell(steady.of(scheme, *column), steady.without_models(scheme, *column), column[0] in MODELLED)
                for column in columns
            )
            rows.append([title, scheme, *cells])
    return header, rows


def _cell(found: Interval | None, without: Interval | None, modelled: bool) -> str:
    """A number and its interval in per cent; in brackets the interval without the models' many seeds."""
    if found is None:
        return "–"
    text = f"{significant(found.value, 3)} ± {_share(found)}"
    return f"{text} ({_share(without)})" if modelled and without else text


def _share(one: Interval) -> str:
    return "–" if one.high is None else f"{significant(100 * (one.high - one.value) / one.value, 2)} %"


FIGURE = PaperFigure(
    "steady",
    "load 0.8, after 300 ms of web search and 700 ms of data mining",
    tuple(experiment.name for experiment in experiments()),
    panels=_panels,
    columns=3,
    table=_table,
)
