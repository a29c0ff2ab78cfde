"""The numbers, as tables."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow, TableName

MEANWHILE = pl.col("end_ns") - pl.col("start_ns")
IS_MESSAGE = pl.col("spent_on") == "message"


def time_spent(results: SomeResults) -> pl.DataFrame:
    """What the critical paths were spent on, means over repetitions and seeds: label, source, repetitions, jct_ns,
    compute_ns, alone_ns, waited_ns, acknowledgement_ns, host_ns, earlier_ns, link, link_share, link_used.

    `alone_ns` is what messages would take alone on an empty network, `waited_ns` what they took beyond that. `link`
    is the busiest link of the messages that were on the path for longest, `link_share` their share of the path, and
    `link_used` how much of its rate was used meanwhile.
    """
    rows = []
    for (label, source), parts in _by_job(results, "critical_path").items():
        path = pl.concat(parts)
        count = path.select("case", "iteration").n_unique()
        alone = pl.when(IS_MESSAGE).then(pl.min_horizontal(MEANWHILE, "alone_ns")).otherwise(0.0)
        on = {kind: _of(kind) / count for kind in ("compute", "acknowledgement", "host", "earlier repetition")}
        sums = path.select(
            jct_ns=MEANWHILE.sum() / count,
            alone_ns=alone.sum() / count,
            waited_ns=(_of("message") - alone.sum()) / count,
            **{f"{kind.split()[0]}_ns": value for kind, value in on.items()},
        ).row(0, named=True)
        rows.append({"label": label, "source": source, "repetitions": count, **sums, **_longest_link(path)})
    return pl.DataFrame(rows)


def _of(kind: str) -> pl.Expr:
    return MEANWHILE.filter(pl.col("spent_on") == kind).sum()


def _longest_link(path: pl.DataFrame) -> dict[str, str | float | None]:
    """The link that was the busiest one of messages for longest, and its share of the path."""
    messages = path.filter(pl.col("link") != "").with_columns(took=MEANWHILE)
    if messages.is_empty():
        return {"link": None, "link_share": None, "link_used": None}
    links = messages.group_by("link", maintain_order=True).agg(
        pl.col("took").sum(),
        ((pl.col("link_used") * pl.col("took")).sum() / pl.col("took").sum()).alias("used"),
    )
    first = links.sort("took", descending=True, maintain_order=True).row(0, named=True)
    share = first["took"] / float(path.select(MEANWHILE.sum()).item())
    return {"link": first["link"], "link_share": share, "link_used": first["used"]}


def bounds(results: SomeResults) -> pl.DataFrame:
    """Collective operations that are alike, with what bounds them: label, source, name, operation, algorithm, ranks,
    size_bytes, times, jct_ns, bound_ns, bound_link, bound_links; means over those that were done."""
    keys = ("label", "source", "name", "operation", "algorithm", "ranks", "size_bytes")
    frames = [
        part.with_columns(label=pl.lit(label)).filter(pl.col("bound_ns").is_not_nan(), pl.col("jct_ns").is_not_nan())
        for (label, _), parts in _by_job(results, "jobs").items()
        for part in parts
        if "bound_ns" in part.columns
    ]
    if not frames:
        return pl.DataFrame()
    alike = pl.concat(frames).group_by(keys, maintain_order=True)
    means = pl.col("jct_ns", "bound_ns").mean()
    longest = pl.col("bound_link", "bound_links").sort_by("bound_ns", descending=True).first()
    return alike.agg(pl.len().alias("times"), means, longest)


def stragglers(results: SomeResults) -> pl.DataFrame:
    """Ranks that were late, the worst of each job first: label, source, rank, last_in and delayed_ns (means over
    repetitions and seeds), share (of the repetition's time)."""
    rows = []
    for (label, source), parts in _by_job(results, "ranks").items():
        ranks = pl.concat(parts).filter(pl.col("end_ns").is_not_nan())
        if ranks.is_empty():
            continue
        took = ranks.group_by("case", "iteration").agg(pl.col("end_ns").max() - pl.col("start_ns").min())
        mean = float(took["end_ns"].mean() or 0.0)  # type: ignore[arg-type]
        late = ranks.group_by("rank").agg(pl.col("last_in", "delayed_ns").mean()).filter(pl.col("delayed_ns") > 0)
        late = late.sort("delayed_ns", "rank", descending=[True, False])
        rows += [
            {"label": label, "source": source, **row, "share": row["delayed_ns"] / mean} for row in late.to_dicts()
        ]
    return pl.DataFrame(rows)


def _by_job(results: SomeResults, table: TableName) -> dict[tuple[str, int], list[pl.DataFrame]]:
    """A table's rows by label and traffic source, with a number for each case."""
    found: dict[tuple[str, int], list[pl.DataFrame]] = {}
    for nth, (label, _, frame) in enumerate(labelled(results, table)):
        for (source,), part in frame.with_columns(case=pl.lit(nth)).group_by("source", maintain_order=True):
            found.setdefault((label, int(str(source))), []).append(part)
    return found


def labelled(results: SomeResults, table: TableName) -> Iterator[tuple[str, CaseRow, pl.DataFrame]]:
    """The cases that have a table, each with its label among these results."""
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row, part in one.partitions(table):
            yield renamed.get(row.label, row.label), row, polars_frame(part)
