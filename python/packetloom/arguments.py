"""Options that may stand without a value, which the parser of the command line does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence

from packetloom.ray_executor import AUTO, LOCAL

ADDRESS = re.compile(r"[^\s=/-][^\s=]*:\d+|ray://.*")


def with_values(arguments: Sequence[str]) -> list[str]:
    """`--ray` alone, or before what is no address, means Ray on this machine."""
    written: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        alone = argument == "--ray" and not (following in (AUTO, LOCAL) or ADDRESS.fullmatch(following))
        written.append(f"--ray={LOCAL}" if alone else argument)
    return written
