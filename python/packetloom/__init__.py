"""packetloom: a packet-level simulator of datacenter networks.

import packetloom

results = packetloom.run("examples/demo.toml")
print(packetloom.summary(results))
packetloom.plot("slowdown-by-load", results)
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes a while to load: see `start`
if TYPE_CHECKING:
    from typing import Any

    from packetloom.api import run
    from packetloom.errors import ArgumentError, Interrupted, InvariantError, PacketloomError, ScenarioError
    from packetloom.exchange.fct import read_fct
    from packetloom.plots import plot
    from packetloom.report import write_report
    from packetloom.results import Results
    from packetloom.scenario import Scenario, Scheme
    from packetloom.schemes.notebook import component, scheme
    from packetloom.search import largest_held
    from packetloom.statistics import summary

    __version__: str

__all__ = [
    "ArgumentError",
    "Interrupted",
    "InvariantError",
    "PacketloomError",
    "Results",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "__version__",
    "component",
    "largest_held",
    "plot",
    "read_fct",
    "run",
    "scheme",
    "summary",
    "write_report",
]

_HOME = {
    "ArgumentError": "errors",
    "Interrupted": "errors",
    "InvariantError": "errors",
    "PacketloomError": "errors",
    "Results": "results",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Scheme": "scenario",
    "component": "schemes.notebook",
    "largest_held": "search",
    "plot": "plots",
    "read_fct": "exchange.fct",
    "run": "api",
    "scheme": "schemes.notebook",
    "summary": "statistics",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    """Loads a part when it is first used, so that the command line starts at once."""
    if name == "__version__":
        from packetloom import _core

        return _core.version()
    if name in _HOME:
        import importlib

        return getattr(importlib.import_module(f"packetloom.{_HOME[name]}"), name)
    raise AttributeError(f"module 'packetloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
