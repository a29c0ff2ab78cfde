"""What is held against what: lone flows, two flows that may collide, and web search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, agreement, drawn
from packetloom.validate.peers.conweave.scenario import SCHEMES, scheme_of
from packetloom.validate.peers.conweave.uplinks import imbalance, imbalances
from packetloom.validate.peers.hpcc.measured import FCT, table_of
from packetloom.validate.peers.hpcc.rows import CLASSES, p99_of_peers
from packetloom.validate.peers.hpcc.settings import Settings

MANY_FLOWS = 100
IMBALANCE_WITHIN = 0.15


def rows_of(name: str, theirs: Sequence[Settings], results: Results) -> list[Row]:
    """All that was measured of a setting, whose draws `theirs` are."""
    first = theirs[0]
    if len(first.flows) >= MANY_FLOWS:
        return [*_slowdowns(first, paired(first, results)), *_imbalance(first, results)]
    if first.name.startswith("lone"):
        return list(_lone_flows(first, paired(first, results)))
    return list(_two_flows(name, theirs, results))


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
        yield agreement(*_texts(settings.name, settings, f"FCT in ns of {size} B"), theirs, _number(ours), 0.0)


def _two_flows(name: str, theirs: Sequence[Settings], results: Results) -> Iterator[Row]:
    """Of each draw, the flow that ends first and the one that ends last."""
    of_theirs = [completions(one)["fct_ns"].sort() / 1e3 for one in theirs]
    ours = paired(theirs[0], results).partition_by("seed")
    of_ours = [part["ours"].sort() / 1e3 for part in ours]
    for what, place in (("the first to end", 0), ("the last to end", -1)):
        draws = Draws(*(tuple(_number(one[place]) for one in side) for side in (of_theirs, of_ours)))
        yield drawn(*_texts(name, theirs[0], f"FCT of {what}, in us"), draws, MEAN_WITHIN)


def _slowdowns(settings: Settings, flows: pl.DataFrame) -> Iterator[Row]:
    """Over the peer's own ideal, and no less than 1, as it has them."""
    size = pl.col("size_bytes")
    slowdowns = flows.select("seed", size, pl.col("theirs", "ours").truediv(pl.col("ideal_ns")).clip(1))
    for name, (above, up_to) in CLASSES.items():
        per_seed = slowdowns.filter(size > above, size <= up_to).partition_by("seed")
        theirs, ours = per_seed[0]["theirs"], [one["ours"] for one in per_seed]
        mean, tail = [one.mean() for one in ours], [p99_of_peers(one) for one in ours]
        yield _row(settings, f"mean slowdown, {name}", theirs.mean(), mean, MEAN_WITHIN)
        yield _row(settings, f"p99 of the slowdown, {name}", p99_of_peers(theirs), tail, P99_WITHIN)


def _imbalance(settings: Settings, results: Results) -> Iterator[Row]:
    theirs = imbalance(settings)
    if theirs is not None:
        what = "(largest - smallest) / mean of a leaf's uplinks in 100 us, mean"
        yield _row(settings, what, theirs, imbalances(settings, results), IMBALANCE_WITHIN)


def _row(settings: Settings, what: str, theirs: object, ours: Sequence[object], tolerance: float) -> Row:
    """Ours are as many draws of paths and marks, theirs is one."""
    draws = Draws((_number(theirs),), tuple(map(_number, ours)))
    return drawn(*_texts(settings.name, settings, what), draws, tolerance)


def _texts(name: str, settings: Settings, what: str) -> tuple[str, str, str]:
    scheme = SCHEMES[scheme_of(settings)]
    source = f"{settings.folder.name}/cfg/{settings.path.name}"
    return f"conweave {name} {what}", f"ConWeave's simulator, {scheme}, {name}: {what}", source


def _number(value: object) -> float:
    """NaN, which no band holds, where a flow did not end."""
    return float(value) if isinstance(value, int | float) else float("nan")
