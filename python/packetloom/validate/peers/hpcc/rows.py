"""What is held against what: a setting's flows, pauses, queue and rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Known, Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, agreement, drawn
from packetloom.validate.peers.hpcc import measured, over_time
from packetloom.validate.peers.hpcc.scenario import start_of
from packetloom.validate.peers.hpcc.settings import MODES, Settings

QUEUE_WITHIN = 0.02
RATES_WITHIN = 0.03
# From so many flows on, what counts is their slowdown by size.
MANY_FLOWS = 100
# What no draw explains: nothing is drawn in this setting, so the measured value is known.
WHY_SAMPLES = "A packet that leaves at the nanosecond of a sample has left here and waits there; all else is the same"
KNOWN_WITHIN = 0.01
SAMPLED: dict[tuple[str, str], tuple[str, float]] = {
    ("incast2_hpcc", "queue of the hot port over time: apart, %"): (WHY_SAMPLES, 2.228),
}
# As the peer's own tables have them.
CLASSES = {
    "all": (0, 10**12),
    "≤ 10 KB": (0, 10_000),
    "10-100 KB": (10_000, 100_000),
    "0.1-1 MB": (100_000, 10**6),
    "1-10 MB": (10**6, 10**7),
    "> 10 MB": (10**7, 10**12),
}


def rows_of(settings: Settings, results: Results) -> list[Row]:
    """All that was measured of a setting."""
    of_flows: Callable[[Settings, pl.DataFrame], Iterator[Row]]
    if len(settings.flows) >= MANY_FLOWS:
        of_flows = _slowdowns
    else:
        of_flows = _lone_flows if is_one_after_another(settings) else _few_flows
    flows = paired(settings, results)
    return [
        *of_flows(settings, flows),
        *_pauses(settings, results),
        *_queue(settings, results),
        *_rates(settings, results),
    ]


def paired(settings: Settings, results: Results) -> pl.DataFrame:
    """Each flow's time at its sender in ns, `theirs` and, with a row for each seed, `ours`."""
    theirs = measured.completions(settings)
    hosts = pl.DataFrame({"place": range(len(settings.network.hosts)), "node": settings.network.hosts})
    ours = results.to_polars().with_columns(
        pl.col(end).cast(pl.Int64).replace_strict(hosts["place"], hosts["node"]) for end in ("src", "dst")
    )
    nth = (pl.col("flow_id").rank("ordinal").over("seed", "src", "dst") - 1).cast(pl.Int64)
    ours = ours.with_columns(pl.col("size_bytes").cast(pl.Int64), nth=nth)
    pairs = theirs.join(ours, ("src", "dst", "size_bytes", "nth"), suffix="_ours")
    if pairs.height != theirs.height * ours["seed"].n_unique():
        raise PacketloomError(f"the flows of {settings.name} are not those of the list: delete the results, run again")
    return pairs.select(
        "seed", "src", "dst", "size_bytes", "ideal_ns", theirs="fct_ns", ours=pl.col("sender_fct_ns").fill_nan(None)
    )


def is_one_after_another(settings: Settings) -> bool:
    """Whether each flow ends before the next one starts."""
    flows = measured.completions(settings).sort("start_ns")
    ends = (flows["start_ns"] + flows["fct_ns"]).to_list()
    return all(end < start for end, start in zip(ends, flows["start_ns"].to_list()[1:], strict=False))


def _lone_flows(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    for size, theirs, ours in flows.sort("size_bytes").select("size_bytes", "theirs", "ours").iter_rows():
        yield _row(settings, f"FCT in ns of {size} B", theirs, [ours], 0.0)


def _few_flows(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    """In the order in which they end: which of several equal ones is first can be chance."""
    per_seed = [part.select(pl.col("theirs", "ours").sort() / 1e3) for part in flows.partition_by("seed")]
    statistics: dict[str, Callable[[pl.Series], object]] = {
        "mean FCT in us": lambda fct: fct.mean(),
        "FCT of the first flow to end in us": lambda fct: fct.min(),
        "FCT of the last flow to end in us": lambda fct: fct.max(),
    }
    for what, statistic in statistics.items():
        yield _row(settings, what, *_of_each(per_seed, statistic), MEAN_WITHIN)


def _slowdowns(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    """Over the peer's own ideal, and no less than 1, as it has them."""
    size = pl.col("size_bytes")
    slowdowns = flows.select("seed", size, pl.col("theirs", "ours").truediv(pl.col("ideal_ns")).clip(1))
    for name, (above, up_to) in CLASSES.items():
        per_seed = slowdowns.filter(size > above, size <= up_to).partition_by("seed")
        mean, tail = _of_each(per_seed, lambda one: one.mean()), _of_each(per_seed, p99_of_peers)
        yield _row(settings, f"mean slowdown, {name}", *mean, MEAN_WITHIN)
        yield _row(settings, f"p99 of the slowdown, {name}", *tail, P99_WITHIN)


def p99_of_peers(values: pl.Series) -> object:
    """The 99th percentile as the peers' scripts take it: an order statistic, without interpolation."""
    return values.sort()[int(len(values) * 0.99)]


def _of_each(per_seed: Sequence[pl.DataFrame], statistic: Callable[[pl.Series], object]) -> tuple[object, list[object]]:
    """A statistic of theirs, and of each draw of ours."""
    return statistic(per_seed[0]["theirs"]), [statistic(one["ours"]) for one in per_seed]


def _pauses(settings: Settings, results: Results) -> Iterator[Row]:
    theirs = measured.pauses(settings)
    if theirs is None:
        return
    ours = _our_pauses(settings, results)
    counts = [part.height for part in ours.partition_by("seed")]
    yield _row(settings, "number of pauses", theirs.height, counts, 0.0)
    if not settings.is_drawn:
        same = theirs.join(ours, ("node", "from_ns", "until_ns"), how="semi").height
        yield _row(
            settings, "pauses that begin and end where and when theirs do, to the ns", theirs.height, [same], 0.0
        )


def _our_pauses(settings: Settings, results: Results) -> pl.DataFrame:
    """From when until when each node's port was paused, by the peer's clock."""
    nodes = dict(results.to_polars("ports").select("port", "node").iter_rows())
    name = pl.col("port").replace_strict(nodes, return_dtype=pl.String)
    times = [pl.col(one).round().cast(pl.Int64) + start_of(settings) for one in ("from_ns", "until_ns")]
    return results.to_polars("pauses").select("seed", name.str.extract(r"(\d+)$").cast(pl.Int64).alias("node"), *times)


def _queue(settings: Settings, results: Results) -> Iterator[Row]:
    theirs = measured.queue(settings)
    if theirs is None:
        return
    pairs = over_time.queues(settings, results, theirs)
    yield _apart(settings, "queue of the hot port over time", [pairs], QUEUE_WITHIN)
    largest = [_number(pairs[draw].max()) / 1e3 for draw in over_time.draws_of(pairs)]
    yield _row(
        settings, "largest queue of the hot port in KB", _number(pairs["theirs"].max()) / 1e3, largest, QUEUE_WITHIN
    )


def _rates(settings: Settings, results: Results) -> Iterator[Row]:
    theirs = measured.rates(settings)
    if theirs is None:
        return
    sent = over_time.sent(settings, results, theirs)
    yield _apart(settings, "what each host sends over time", list(sent.values()), RATES_WITHIN)


def _row(settings: Settings, what: str, theirs: object, ours: Sequence[object], tolerance: float) -> Row:
    """Where marks are drawn, ours are as many draws, and theirs is one."""
    texts = (f"hpcc {settings.name} {what}", _what(settings, what), _source(settings))
    expected, found = _number(theirs), tuple(map(_number, ours))
    if len(found) > 1:
        return drawn(*texts, Draws((expected,), found), tolerance)
    row = agreement(*texts, expected, found[0], tolerance)
    if sampled := SAMPLED.get((settings.name, what)):
        reason, value = sampled
        band = (value * (1 - KNOWN_WITHIN), value * (1 + KNOWN_WITHIN))
        return replace(row, known=Known(reason, band, f"as it was found, within {KNOWN_WITHIN * 100:g} %"))
    return row


def _apart(settings: Settings, what: str, pairs: Sequence[pl.DataFrame], within: float) -> Row:
    """What is compared at each moment: the differences' sum over that of theirs, of the worst of several pairs.

    Where marks are drawn: how far theirs is from the mean of ours, beside how far each of ours is from the others'.
    """
    draws = over_time.draws_of(pairs[0])
    if len(draws) == 1:
        percent = max(over_time.apart(one, "theirs") for one in pairs)
        row = _row(settings, f"{what}: apart, %", 0.0, [percent], 0.0)
        return replace(row, band=(0.0, within * 100), rule=f"up to {within * 100:g} %")
    theirs = max(over_time.apart(one, "theirs") for one in pairs)
    ours = tuple(max(over_time.apart_from_the_others(one, draw) for one in pairs) for draw in draws)
    case = f"{what}: from our mean, %"
    texts = (f"hpcc {settings.name} {case}", _what(settings, case), _source(settings))
    return drawn(*texts, Draws((theirs,), ours), within * 100, points=True)


def _what(settings: Settings, what: str) -> str:
    return f"HPCC's simulator, {MODES[settings.mode]}, {settings.name}: {what}"


def _source(settings: Settings) -> str:
    return f"{settings.folder.name}/cfg/{settings.path.name}"


def _number(value: object) -> float:
    """NaN, which no band holds, where a flow did not end."""
    return float(value) if isinstance(value, int | float) else float("nan")
