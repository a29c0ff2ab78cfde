"""When ranks did what, for the page's script: some ranks of one repetition of each scheme."""

from __future__ import annotations

from typing import Any

import polars as pl

from packetloom.pages.waits.tables import labelled
from packetloom.stats.curves import SomeResults, as_list

NS_PER_MS = 1e6
MOST_CASES = 8
MOST_RANKS = 32
MOST_BARS = 4000
"""Of a case: what can't be seen needs not be drawn, and a page should stay small."""
KINDS = ("compute", "operation", "send", "receive")


def timeline(results: SomeResults) -> dict[str, Any] | None:
    """Of each label's first seed and each job the last repetition that was done; nothing if no operations were kept.

    Ranks that are on the critical path come first where there are too many, then the lowest numbers. Bars are [row,
    from_ms, until_ms, kind, name]; the path's parts [row, from_ms, until_ms, sender's row or -1, what].
    """
    several = as_list(results)
    paths = {(label, row.case_id): frame for label, row, frame in labelled(several, "critical_path")}
    cases: dict[str, dict[str, Any]] = {}
    for label, row, operations in labelled(several, "operations"):
        path = paths.get((label, row.case_id))
        if path is None:
            continue
        for (source,), of_job in path.group_by("source", maintain_order=True):
            own = operations.filter(pl.col("source") == source)
            name = label if path["source"].n_unique() == 1 else f"{label}, workload {source}"
            cases.setdefault(name, _case(name, own, of_job))
    if not cases:
        return None
    return {"cases": list(cases.values())[:MOST_CASES], "kinds": KINDS, "left_out": max(len(cases) - MOST_CASES, 0)}


def _case(name: str, operations: pl.DataFrame, paths: pl.DataFrame) -> dict[str, Any]:
    iteration = paths["iteration"].max()
    path = paths.filter(pl.col("iteration") == iteration)
    own = operations.filter(pl.col("iteration") == iteration, pl.col("end_ns").is_not_nan())
    ranks = _shown(own, path)
    row_of = {rank: place for place, rank in enumerate(ranks)}
    start = float(path["start_ns"].min() or 0.0)  # type: ignore[arg-type]
    bars = own.filter(pl.col("rank").is_in(ranks), pl.col("end_ns") > pl.col("begin_ns"))
    longest = bars.sort(pl.col("end_ns") - pl.col("begin_ns"), descending=True, maintain_order=True).head(MOST_BARS)
    longest = longest.sort("begin_ns", "rank", "place")
    names = list(dict.fromkeys([*longest["name"], *path["name"]]))
    place_of = {text: place for place, text in enumerate(names)}

    def ms(time_ns: float) -> float:
        return round((time_ns - start) / NS_PER_MS, 6)

    return {
        "name": name,
        "iteration": iteration,
        "start_ms": start / NS_PER_MS,
        "end_ms": ms(float(path["end_ns"].max() or 0.0)),  # type: ignore[arg-type]
        "ranks": ranks,
        "ranks_left_out": own["rank"].n_unique() - len(ranks),
        "bars_left_out": bars.height - longest.height,
        "names": names,
        "bars": [
            [row_of[bar["rank"]], ms(bar["begin_ns"]), ms(bar["end_ns"]), _kind(bar["kind"]), place_of[bar["name"]]]
            for bar in longest.iter_rows(named=True)
        ],
        "path": [
            [
                row_of[part["rank"]],
                ms(part["start_ns"]),
                ms(part["end_ns"]),
                row_of.get(part["message_from"], -1),
                part["spent_on"],
                part["link"],
            ]
            for part in path.iter_rows(named=True)
            if part["rank"] in row_of
        ],
    }


def _kind(kind: str) -> int:
    return KINDS.index(kind) if kind in KINDS else KINDS.index("operation")


def _shown(operations: pl.DataFrame, path: pl.DataFrame) -> list[int]:
    """Ranks in order: all, or those on the path for longest and then the first."""
    every = operations["rank"].unique().sort().to_list()
    if len(every) <= MOST_RANKS:
        return every
    took = path.with_columns(took=pl.col("end_ns") - pl.col("start_ns")).group_by("rank").agg(pl.col("took").sum())
    on_path = took.sort("took", "rank", descending=[True, False])["rank"].to_list()
    return sorted(list(dict.fromkeys([*on_path, *every]))[:MOST_RANKS])
