"""Quantities as people write them: 22.5KB, 200us, 10Gbps."""

from __future__ import annotations

SIZES = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3))
TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3))


def size_text(size_bytes: float) -> str:
    """A size, in powers of 1000."""
    if size_bytes in (0, float("inf")):
        return "0" if size_bytes == 0 else "∞"
    return _scaled(size_bytes, SIZES, "B")


def time_text(time_ns: float) -> str:
    """A time."""
    return _scaled(time_ns, TIMES, "ns")


def axis_text(axis: str, value: object) -> str:
    """A value on an axis of the grid, with the axis' name; names such as scheme.transport.min_rto_ns hold the unit."""
    short = ".".join(axis.split(".")[-2:])
    name, _, unit = short.rpartition("_")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if unit == "bytes":
            return f"{name} {size_text(value)}"
        if unit == "ns":
            return f"{name} {time_text(value)}"
        if unit == "gbps":
            return f"{name} {value:g}Gbps"
        if unit == "packets":
            return f"{name} {value:g} packets"
    return f"{short} {value}"


def _scaled(value: float, units: tuple[tuple[str, float], ...], smallest: str) -> str:
    for unit, factor in units:
        if value >= factor:
            return f"{value / factor:.10g}{unit}"
    return f"{value:.10g}{smallest}"
