"""Collective operations by kind and network, which are never averaged together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

FABRIC = "fabric"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation by a network."""

    operation: str
    network: str

    def text(self, *, has_networks: bool) -> str:
        """Its name; with its network where there are several."""
        return f"{self.operation} ({self.network})" if has_networks else self.operation


def operations_of(table: pl.DataFrame) -> Iterator[tuple[Kind, pl.DataFrame]]:
    """The collective operations that were done, by kind and network; results of older versions know of one network."""
    if "network" not in table.columns:
        table = table.with_columns(network=pl.lit(FABRIC))
    done = table.filter(pl.col("jct_ns").is_not_nan())
    for (operation, network), own in done.group_by("operation", "network", maintain_order=True):
        yield Kind(str(operation), str(network)), own


def bus_gbps(own: pl.DataFrame) -> float:
    """The bus bandwidth of all operations together: what long ones carried counts for more than what short ones did."""
    took = own["jct_ns"].to_numpy()
    return float((own["bus_gbps"].to_numpy() * took).sum() / took.sum()) if took.sum() else math.nan


def exposed_ns(iterations: pl.DataFrame) -> pl.Series:
    """Of each repetition that was done, its time beyond what its busiest rank computes."""
    done = iterations.filter(pl.col("jct_ns").is_not_nan())
    return (done["jct_ns"] - done["compute_ns"]).clip(lower_bound=0.0)


def between_ends_ns(iterations: pl.DataFrame) -> float:
    """What lies between the ends of two repetitions of a job on average; not a number where fewer than two ended.

    Ranks begin a repetition while others end the last one: a job is as fast as this says, whatever each one takes.
    """
    ends = (iterations["start_ns"] + iterations["jct_ns"]).drop_nans().to_numpy()
    return float(ends.max() - ends.min()) / (len(ends) - 1) if len(ends) > 1 else math.nan
