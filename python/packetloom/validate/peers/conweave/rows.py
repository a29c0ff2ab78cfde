"""What is held against what: lone flows, two flows that may collide, and web search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.results import Results
from packetloom.validate.comparison import Known, Row, Span
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, agreement
from packetloom.validate.peers.conweave.scenario import ECMP, SCHEMES, scheme_of
from packetloom.validate.peers.conweave.uplinks import imbalance, imbalances
from packetloom.validate.peers.hpcc.measured import FCT, table_of
from packetloom.validate.peers.hpcc.rows import CLASSES, p99
from packetloom.validate.peers.hpcc.settings import Settings

MANY_FLOWS = 100
# Where balancers draw: the mean of ours of their one draw.
DRAWN_WITHIN = 0.10
IMBALANCE_WITHIN = 0.15
# Where theirs lies outside all our draws: what ours may be of theirs, and why.
ONE_DRAW = "Marks are drawn: this one of their four draws is 7 % above the mean of the others, and above all of ours"
# Of 24 of our draws, with p99s from 11.8 to 14.1, one is below theirs; of its flows 93 % lie within ours, where 92 % of
# another draw of ours would.
TAIL = "Paths are the same, marks are drawn; theirs is one draw, and would be the second lowest of 25 with 24 of ours"
LARGEST = "Of 29 flows this is the slowest, in one draw"
OUTSIDE: dict[tuple[str, str], tuple[str, Span]] = {
    ("two_collide_ecmp_s2", "FCT of the last to end, in us"): (ONE_DRAW, (0.93, 0.97)),
    ("two_collide_conga_s2", "FCT of the last to end, in us"): (ONE_DRAW, (0.93, 0.97)),
    ("ws50_sym_ecmp", "p99 of the slowdown, all"): (TAIL, (1.02, 1.12)),
    ("ws50_sym_conweave", "p99 of the slowdown, > 10 MB"): (LARGEST, (0.75, 1.1)),
}


def rows_of(settings: Settings, results: Results) -> list[Row]:
    """All that was measured of a setting."""
    flows = paired(settings, results)
    if len(settings.flows) >= MANY_FLOWS:
        return [*_slowdowns(settings, flows), *_imbalance(settings, results)]
    if settings.name.startswith("lone"):
        return list(_lone_flows(settings, flows))
    return list(_two_flows(settings, flows))


def completions(settings: Settings) -> pl.DataFrame:
    """A row per flow: hosts by their numbers, and `nth`: which of its pair's flows it is."""
    table = table_of(settings, "fct", FCT).cast(pl.Int64)
    return table.with_columns(_nth("src", "dst", by="start_ns"))


def paired(settings: Settings, results: Results) -> pl.DataFrame:
    """Each flow's time at its sender in ns, `theirs` and, with a row for each seed, `ours`."""
    theirs = completions(settings)
    ours = results.to_polars().with_columns(pl.col("src", "dst", "size_bytes").cast(pl.Int64))
    ours = ours.with_columns(_nth("seed", "src", "dst", by="start_ns"))
    pairs = theirs.join(ours, ("src", "dst", "size_bytes", "nth"), suffix="_ours")
    if pairs.height != theirs.height * ours["seed"].n_unique():
        raise PacketloomError(f"the flows of {settings.name} are not those of the list: delete the results, run again")
    fct = pl.col("sender_fct_ns").fill_nan(None)
    return pairs.select("seed", "size_bytes", "ideal_ns", theirs="fct_ns", ours=fct)


def _nth(*of: str, by: str) -> pl.Expr:
    return (pl.col(by).rank("ordinal").over(*of) - 1).cast(pl.Int64).alias("nth")


def _lone_flows(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    first = flows.filter(pl.col("seed") == flows["seed"].min())
    for size, theirs, ours in first.sort("size_bytes").select("size_bytes", "theirs", "ours").iter_rows():
        yield _row(settings, f"FCT in ns of {size} B", theirs, [ours], 0.0)


def _two_flows(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    """By outcome: theirs has to be among ours, which are many draws."""
    per_seed = [part.select(pl.col("theirs", "ours").sort() / 1e3) for part in flows.partition_by("seed")]
    for what, place in (("the first to end", 0), ("the last to end", -1)):
        ours = [_number(one["ours"][place]) for one in per_seed]
        theirs = _number(per_seed[0]["theirs"][place])
        row = _row(
            settings, f"FCT of {what}, in us", theirs, [min(ours, key=lambda one: abs(one - theirs))], MEAN_WITHIN
        )
        yield replace(row, rule=f"the nearest of our {len(ours)} draws within {MEAN_WITHIN * 100:g} %")


def _slowdowns(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    """Over the peer's own ideal, and no less than 1, as it has them."""
    size = pl.col("size_bytes")
    slowdowns = flows.select("seed", size, pl.col("theirs", "ours").truediv(pl.col("ideal_ns")).clip(1))
    is_drawn = scheme_of(settings) != ECMP
    mean_within, tail_within = (DRAWN_WITHIN, DRAWN_WITHIN) if is_drawn else (MEAN_WITHIN, P99_WITHIN)
    for name, (above, up_to) in CLASSES.items():
        per_seed = slowdowns.filter(size > above, size <= up_to).partition_by("seed")
        theirs = per_seed[0]["theirs"]
        mean, tail = [one["ours"].mean() for one in per_seed], [p99(one["ours"]) for one in per_seed]
        yield _row(settings, f"mean slowdown, {name}", theirs.mean(), mean, mean_within)
        yield _row(settings, f"p99 of the slowdown, {name}", p99(theirs), tail, tail_within)


def _imbalance(settings: Settings, results: Results) -> Iterator[Row]:
    theirs = imbalance(settings)
    if theirs is not None:
        what = "(largest - smallest) / mean of a leaf's uplinks in 100 us, mean"
        yield _row(settings, what, theirs, imbalances(settings, results), IMBALANCE_WITHIN)


def _row(settings: Settings, what: str, theirs: object, ours: Sequence[object], tolerance: float) -> Row:
    """Ours is the mean over its draws; where theirs, which is one draw, is among ours, that is known."""
    draws = [_number(one) for one in ours]
    expected, mean = _number(theirs), sum(draws) / len(draws)
    scheme = SCHEMES[scheme_of(settings)]
    row = agreement(
        f"conweave {settings.name} {what}",
        f"ConWeave's simulator, {scheme}, {settings.name}: {what}",
        f"{settings.folder.name}/cfg/{settings.path.name}",
        expected,
        mean,
        tolerance,
    )
    if outside := OUTSIDE.get((settings.name, what)):
        reason, (low, high) = outside
        band = (low * expected, high * expected)
        return replace(row, known=Known(reason, band, f"{low:g} to {high:g} times theirs", always=False))
    if len(draws) == 1 or not min(draws) <= expected <= max(draws):
        return row
    reason = f"{settings.name}: theirs is one draw of paths and marks, ours the mean of several"
    rule = f"theirs is among our {len(draws)} draws"
    return replace(row, known=Known(reason, (min(draws), max(draws)), rule, always=False))


def _number(value: object) -> float:
    """NaN, which no band holds, where a flow did not end."""
    return float(value) if isinstance(value, int | float) else float("nan")
