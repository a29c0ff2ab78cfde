"""Figures that a peer's runs gave, held against those of ours over seeds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.percentiles import quantile
from packetloom.errors import PacketloomError
from packetloom.validate.comparison import Row
from packetloom.validate.draws import Draws
from packetloom.validate.peers.agreement import (
    MEAN_WITHIN,
    NONE,
    P99_WITHIN,
    PEERS_FOLDER,
    Deviations,
    agreement,
    drawn,
)


@dataclass(frozen=True, slots=True)
class Statistic:
    """What a peer's figure is of one seed's flows, and how near ours must come to it."""

    title: str
    of: pl.Expr
    within: float
    points: bool = False


def read_figures(name: str) -> dict[str, Any]:
    """What was measured on a peer, as `validation/` has it."""
    path = PEERS_FOLDER / name
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise missing(path) from None
    except tomllib.TOMLDecodeError as error:
        raise PacketloomError(f"{path}: damaged ({error}); restore it from packetloom's source tree") from None


def missing(path: Path) -> PacketloomError:
    """A file with what others measured is not there."""
    return PacketloomError(
        f"{path}: there is no such file; other simulators' figures come with packetloom's source tree: "
        "clone it and run `make validate` there"
    )


def read_table(path: Path) -> pl.DataFrame:
    """A table of what others measured."""
    try:
        return pl.read_csv(path)
    except FileNotFoundError:
        raise missing(path) from None
    except (OSError, EOFError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise PacketloomError(f"{path}: damaged ({reason}); restore it from packetloom's source tree") from None


def fct_statistics(fct_us: pl.Expr) -> dict[str, Statistic]:
    """Those of completion times: means and medians like means, tails and the last flow like tails."""
    return {
        "fct_mean": Statistic("mean FCT in us", fct_us.mean(), MEAN_WITHIN),
        "fct_last": Statistic("FCT of the last flow in us", fct_us.max(), P99_WITHIN),
        **{
            f"fct_p{percent}": Statistic(
                f"p{percent} of the FCT in us",
                quantile(fct_us, percent / 100),
                MEAN_WITHIN if percent == 50 else P99_WITHIN,
            )
            for percent in (50, 90, 99)
        },
    }


def figure_rows(
    case: str,
    source: str,
    theirs: Mapping[str, Any],
    flows: pl.DataFrame,
    statistics: Mapping[str, Statistic],
    deviations: Deviations = NONE,
) -> list[Row]:
    """A row for each statistic that the peer has a figure of: a number, or one for each of its draws."""
    rows = []
    for name, statistic in statistics.items():
        if name not in theirs:
            continue
        texts = (f"{case} {name}", f"{case}: {statistic.title}", source)
        of_theirs = draws_of(theirs[name])
        of_ours = per_seed(flows, statistic.of)
        if len(of_theirs) == len(of_ours) == 1:
            row = agreement(
                *texts,
                of_theirs[0],
                of_ours[0],
                statistic.within,
                deviations.get(name),
                points=statistic.points,
            )
        else:
            draws = Draws(of_theirs, of_ours)
            row = drawn(*texts, draws, statistic.within, deviations.get(name), points=statistic.points)
        rows.append(row)
    return rows


def draws_of(figure: float | list[float]) -> tuple[float, ...]:
    """What a file has of a peer: a figure of one run, or a list of those of several."""
    return tuple(map(float, figure)) if isinstance(figure, list) else (float(figure),)


def per_seed(table: pl.DataFrame, statistic: pl.Expr) -> tuple[float, ...]:
    """A statistic of each seed's part of a table."""
    values = table.group_by("seed", maintain_order=True).agg(value=statistic)["value"]
    return tuple(float(value) for value in values)
