"""Whether an error comes of an engine that is older than the sources beside it: those of a clone, built before a pull.

Nothing is asked before something has gone wrong, so a start costs nothing more.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "workloads", "benches")
"""What the engine is built of, as the Makefile has it; benches hold scenarios that are compiled in."""


def blamed(error: BaseException) -> str:
    """What to say of an error instead of a traceback; empty where the engine is not to blame, or where this is no
    clone; or that a package is missing which was not among the requirements when the clone was set up."""
    if isinstance(error, ModuleNotFoundError) and _is_required(package := (error.name or "").partition(".")[0]):
        return f"the package {package} is not installed; run make install"
    said = note()
    last = str(error).splitlines() or [""]
    return said and f"{said} ({type(error).__name__}: {last[0]})"


def note() -> str:
    """What to say of the engine; empty where it is as new as its sources, or where this is no clone."""
    clone = Path(__file__).parents[3]
    if not (clone / "Cargo.toml").is_file():
        return ""
    engine = importlib.util.find_spec("packetloom._core")
    if engine is None or engine.origin is None:
        return "the engine is not built; run make install"
    older = is_older(Path(engine.origin), clone)
    return "the engine is older than the sources beside it; run make install" if older else ""


def _is_required(package: str) -> bool:
    requirements = Path(__file__).parents[3] / "requirements.txt"
    if not requirements.is_file():
        return False
    lines = requirements.read_text(encoding="utf-8").lower().splitlines()
    return package.lower() in {line.partition("==")[0] for line in lines}


def is_older(engine: Path, clone: Path) -> bool:
    """Whether a source of the engine was changed after it was built."""
    built = engine.stat().st_mtime
    return any(file.stat().st_mtime > built for file in _sources(clone))


def _sources(clone: Path) -> Iterator[Path]:
    for name in SOURCES:
        place = clone / name
        yield from (file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
