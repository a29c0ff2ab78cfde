"""What HPCC's ns-3 simulator measured of a setting: completion times, pauses, a queue and rates over time."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl

from packetloom.errors import PacketloomError
from packetloom.validate.peers.hpcc.settings import Settings

FIRST_ADDRESS = 0x0B000001

FCT = ("src", "dst", "sport", "dport", "size_bytes", "start_ns", "fct_ns", "ideal_ns")
PAUSES = ("time_ns", "node", "is_switch", "port", "is_pause")
QUEUE = ("time_ns", "bytes", "marked")
RATES = ("time_ns", "src", "sport", "gbps", "window_bytes", "acked_bytes", "sent_bytes")


def completions(settings: Settings) -> pl.DataFrame:
    """A row per flow, as they ended, nodes by their numbers, and `nth`: which of its pair's flows it is."""
    node = {end: pl.col(end).map_elements(node_of, pl.Int64) for end in ("src", "dst")}
    table = table_of(settings, "fct", FCT).with_columns(**node)
    numbers = table.with_columns(pl.col("size_bytes", "start_ns", "fct_ns", "ideal_ns", "sport").cast(pl.Int64))
    return numbers.with_columns((pl.col("sport").rank("ordinal").over("src", "dst") - 1).cast(pl.Int64).alias("nth"))


def node_of(address: str) -> int:
    """The node that has an address, in hexadecimal: 11.x.y.1, with its number in x and y."""
    number = int(address, 16) - FIRST_ADDRESS
    return (number >> 16) * 256 + (number >> 8) % 256


def pauses(settings: Settings) -> pl.DataFrame | None:
    """From when until when a node was paused, as PAUSE and RESUME came in there; nothing if no file tells.

    One that nothing ended goes on to the end.
    """
    table = _table_if_any(settings, "pfc", PAUSES)
    if table is None:
        return None
    frames = table.select(pl.col("time_ns").cast(pl.Int64), pl.col("node", "port").cast(pl.Int64), "is_pause")
    frames = frames.sort("node", "port", "time_ns", maintain_order=True)
    ends = pl.col("time_ns").shift(-1).over("node", "port")
    return (
        frames.with_columns(ends.alias("until_ns")).filter(is_pause="1").select("node", "until_ns", from_ns="time_ns")
    )


def queue(settings: Settings) -> pl.DataFrame | None:
    """What waited for the port before the host that most is sent to, each microsecond."""
    table = _table_if_any(settings, "queue", QUEUE)
    return None if table is None else table.select(pl.col("time_ns", "bytes").cast(pl.Int64))


def is_sampled(settings: Settings) -> bool:
    """Whether anything was measured over time."""
    return any(_file(settings, ending).exists() for ending in ("queue", "rate"))


def rates(settings: Settings) -> pl.DataFrame | None:
    """Each sender's rate, and what it has sent so far, every ten microseconds."""
    table = _table_if_any(settings, "rate", RATES)
    if table is None:
        return None
    return table.select(pl.col("time_ns", "src", "sport", "sent_bytes").cast(pl.Int64), pl.col("gbps").cast(pl.Float64))


def _file(settings: Settings, ending: str) -> Path:
    return settings.folder / "out" / f"{settings.name}.{ending}.gz"


def _table_if_any(settings: Settings, ending: str, columns: tuple[str, ...]) -> pl.DataFrame | None:
    return table_of(settings, ending, columns) if _file(settings, ending).exists() else None


def table_of(settings: Settings, ending: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """A file of figures with blanks between them, as texts."""
    path = _file(settings, ending)
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        return pl.DataFrame([line.split() for line in lines], schema=dict.fromkeys(columns, pl.String), orient="row")
    except FileNotFoundError:
        raise PacketloomError(
            f"{path}: there is no such file; what was measured of {settings.path.name} lies beside it"
        ) from None
    except (OSError, EOFError, ValueError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise PacketloomError(f"{path}: damaged ({reason}); restore it from packetloom's source tree") from None
