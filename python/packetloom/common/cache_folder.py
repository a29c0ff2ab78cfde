"""Where the cache is: of results, and of what is compiled of a user's classes."""

from __future__ import annotations

import os
from pathlib import Path

PLACE = "PACKETLOOM_CACHE"
OFF = "off"


def cache_folder() -> Path | None:
    """Where the cache is; nothing if it is switched off."""
    place = os.environ.get(PLACE, "")
    if place == OFF:
        return None
    if place:
        return Path(place).expanduser()
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "packetloom"
