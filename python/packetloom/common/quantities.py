"""Quantities as people write them: 22.5KB, 200us, 10Gbps."""

from __future__ import annotations

import re

BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
"""The units of sizes that scenarios take."""
SIZES = (("GB", 1e9), ("MB", 1e6), ("KB", 1e3))
TIMES = (("s", 1e9), ("ms", 1e6), ("us", 1e3))
MOST_DECIMALS = 6
SPOKEN = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def size_text(size_bytes: float) -> str:
    """A size, in powers of 1000."""
    if size_bytes in (0, float("inf")):
        return "0" if size_bytes == 0 else "∞"
    return _scaled(size_bytes, SIZES, "B")


def size_said(size_bytes: float) -> str:
    """The same as a person would say it: 22.5 KB."""
    factor, name = next(((factor, name) for name, factor in SIZES if size_bytes >= factor), (1.0, "bytes"))
    return f"{size_bytes / factor:.10g} {name}"


def size_said_roughly(size_bytes: float) -> str:
    """The same in three digits."""
    factor, name = next(((factor, name) for name, factor in SIZES if size_bytes >= factor), (1.0, "bytes"))
    return f"{significant(size_bytes / factor, 3)} {name}"


def time_text(time_ns: float) -> str:
    """A time."""
    return _scaled(time_ns, TIMES, "ns")


FAULT_AT = re.compile(r"fault\.(?:(\d+)\.)?at(?:_ns)?")
"""The axis of when something breaks."""
NEVER = "never"
FAN_IN = "pattern.fan_in"
OVERSUBSCRIPTION = "oversubscription"
"""What ends so is a ratio: 2:1."""


def axis_text(axis: str, value: object) -> str:
    """A value on an axis of the grid, with the axis' name; names such as scheme.transport.min_rto_ns hold the unit."""
    if match := FAULT_AT.fullmatch(axis):
        fault = f"fault {match[1]}" if match[1] else "fault"
        at = time_text(value) if isinstance(value, int | float) else value
        return f"no {fault}" if value == NEVER else f"{fault} at {at}"
    short = ".".join(axis.split(".")[-2:]).removeprefix(FIRST_WORKLOAD)
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
        if short.endswith(OVERSUBSCRIPTION):
            return f"{short} {value:.10g}:1"
        return f"{short} {value:.10g}"
    return f"{short} {value}"


# Most scenarios vary keys of one workload only.
FIRST_WORKLOAD = "workload[0]."

SCALES_OF_AXES = {"bytes": ("KB", 1e3), "ns": ("us", 1e3), "gbps": ("Gb/s", 1.0), "packets": ("packets", 1.0)}


def axis_scale(axis: str) -> tuple[str, float]:
    """What an axis of the grid is called in a figure, with its unit, and how many of the axis' own are one of it."""
    short = ".".join(axis.split(".")[-2:])
    if short == FAN_IN:
        return "senders", 1.0
    name, _, unit = short.rpartition("_")
    if unit not in SCALES_OF_AXES:
        return short, 1.0
    shown, per = SCALES_OF_AXES[unit]
    return f"{name} ({shown})", per


def axis_value_text(axis: str, value: object) -> str:
    """A value on an axis of the grid, without the axis' name."""
    if FAULT_AT.fullmatch(axis):
        return time_text(value) if isinstance(value, int | float) else str(value)
    text = axis_text(axis, value)
    unit = axis.rpartition("_")[2]
    if unit == "packets":
        return text.removesuffix(" packets").rpartition(" ")[2] + " packets"
    return text.partition(" ")[2]


def _scaled(value: float, units: tuple[tuple[str, float], ...], smallest: str) -> str:
    for unit, factor in units:
        if value >= factor:
            return f"{value / factor:.10g}{unit}"
    return f"{value:.10g}{smallest}"


def said(value: float, unit: str, digits: int = 3) -> str:
    """A number as a person would say it: 2.21 ms, not 2,208,585 ns. Units: ratio, ns, share, gbps, count."""
    if unit == "ns":
        factor, name = _spoken_unit(value)
        return f"{significant(value / factor, digits)} {name}"
    if unit == "share":
        return f"{significant(100 * value, digits)} %"
    if unit == "gbps":
        return f"{significant(value, digits)} Gb/s"
    return significant(value, digits) if unit == "ratio" else f"{value:,.4g}"


def said_within(value: float, half: float | None, unit: str) -> str:
    """The same with half of its interval, in one unit and with as many decimals: 2.21 ± 0.05 ms."""
    text = said(value, unit)
    if half is None:
        return text
    number, _, name = text.partition(" ")
    factor = {"ns": _spoken_unit(value)[0], "share": 0.01}.get(unit, 1.0)
    decimals, half = len(number.partition(".")[2]), half / factor
    if f"{half:.{MOST_DECIMALS}f}".strip("0.") == "":
        # Rounding makes such differences between seeds of which nothing differs.
        return f"{number} ± 0{name and f' {name}'}"
    while f"{half:.{decimals}f}".strip("0.") == "":
        decimals += 1  # or it would read as if nothing were uncertain
    if decimals > len(number.partition(".")[2]):
        number = f"{value / factor:,.{decimals}f}"
    return f"{number} ± {half:,.{decimals}f}{name and f' {name}'}"


def significant(value: float, digits: int) -> str:
    """A number with so many significant digits, and all the digits before its point."""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:#.{digits}g}".removesuffix(".")


def in_percent(share: float, *, signed: bool = False) -> str:
    """A fraction in percent, of two significant digits, or all before the point: `5.1 %`, `110 %`."""
    percent = 100 * share
    text = f"{percent:,.0f}" if abs(percent) >= 9.95 else f"{percent:.2g}"
    return f"{'+' if signed and share >= 0 else ''}{text} %"


def _spoken_unit(time_ns: float) -> tuple[float, str]:
    return next(((factor, unit) for factor, unit in SPOKEN if abs(time_ns) >= factor), (1.0, "ns"))
