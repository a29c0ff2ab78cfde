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

    from packetloom.campaign.api import estimate, run
    from packetloom.campaign.check import check
    from packetloom.campaign.fidelity import fidelity
    from packetloom.campaign.search import largest_held
    from packetloom.errors import (
        ArgumentError,
        Interrupted,
        InvariantError,
        PacketloomError,
        ScenarioError,
        ScenarioWarning,
    )
    from packetloom.exchange import export
    from packetloom.exchange.fct import read_fct
    from packetloom.network.network import EventKind, Network
    from packetloom.pages.compare import compare
    from packetloom.pages.plots import plot
    from packetloom.pages.report import report
    from packetloom.scenario.plan import Scenario, Scheme
    from packetloom.schemes.notebook import component, scheme
    from packetloom.stats.summary import size_bins, summary
    from packetloom.store.results import Results
    from packetloom.tuning.api import tune
    from packetloom.tuning.outcome import Tuning

    __version__: str

__all__ = [
    "ArgumentError",
    "EventKind",
    "Interrupted",
    "InvariantError",
    "Network",
    "PacketloomError",
    "Results",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Scheme",
    "Tuning",
    "__version__",
    "check",
    "compare",
    "component",
    "estimate",
    "export",
    "fidelity",
    "largest_held",
    "plot",
    "read_fct",
    "report",
    "run",
    "scheme",
    "size_bins",
    "summary",
    "tune",
]

_HOME = {
    "ArgumentError": "errors",
    "Interrupted": "errors",
    "InvariantError": "errors",
    "EventKind": "network.network",
    "Network": "network.network",
    "PacketloomError": "errors",
    "Results": "store.results",
    "Scenario": "scenario.plan",
    "ScenarioError": "errors",
    "ScenarioWarning": "errors",
    "Scheme": "scenario.plan",
    "Tuning": "tuning.outcome",
    "check": "campaign.check",
    "compare": "pages.compare",
    "component": "schemes.notebook",
    "estimate": "campaign.api",
    "export": "exchange",
    "fidelity": "campaign.fidelity",
    "largest_held": "campaign.search",
    "plot": "pages.plots",
    "read_fct": "exchange.fct",
    "report": "pages.report",
    "run": "campaign.api",
    "scheme": "schemes.notebook",
    "size_bins": "stats.summary",
    "summary": "stats.summary",
    "tune": "tuning.api",
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
