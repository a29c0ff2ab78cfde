"""What is known of a scenario before it runs: `packetloom check`, and `packetloom.check`."""

from __future__ import annotations

from dataclasses import dataclass

from packetloom.campaign.forecast import Forecast, forecast, told
from packetloom.scenario import confounders
from packetloom.scenario.facts import doubts, facts
from packetloom.scenario.override_texts import Overrides
from packetloom.scenario.plan import Plan, ScenarioSource, read_plan
from packetloom.scenario.run_lengths import first_round, said_of_more


@dataclass(frozen=True, slots=True)
class Checked:
    """A scenario without a mistake, and what is known of it before it runs."""

    cases: int
    """Those that run; of a precision, those that run first."""
    most_cases: int
    """Those that a precision may ask for; without one, `cases`."""
    warnings: tuple[str, ...]
    """What was probably not meant."""
    facts: tuple[str, ...]
    """What networks and traffic come to: hosts, bisection bandwidth, offered load, how long a run has to be."""
    unequal: tuple[str, ...]
    """In what the schemes differ beside themselves, such as packet size and buffer."""
    cost: Forecast
    """`packet_hops`, `cpu_s`, `wall_s` on the cores here, `memory_bytes`, `disk_bytes`."""
    advice: tuple[str, ...]
    """The cost in words, and what would make it less."""


def check(scenario: ScenarioSource, *, overrides: Overrides = ()) -> Checked:
    """Checks a scenario (a file, a dict, a `Scenario`, or a results folder) without running it.

    A mistake raises `ScenarioError` or `PacketloomError` with the key and what to write. `overrides` are `key=value`
    texts, as for `packetloom check --set`.

    Examples:
        >>> found = packetloom.check(scenario)
        >>> found.cases
        8
        >>> 0 < found.cost.cpu_s < 60
        True
    """
    return checked(read_plan(scenario, overrides))


def checked(plan: Plan) -> Checked:
    """The same of a plan."""
    first = first_round(plan)
    cost = forecast(first)
    return Checked(
        cases=len(first),
        most_cases=len(plan.cases),
        warnings=(*plan.warnings, *doubts(plan.cases)),
        facts=tuple(facts(plan.cases)),
        unequal=tuple(confounders.lines(confounders.unequal(plan.cases))),
        cost=cost,
        advice=(*told(cost, plan), *said_of_more(plan)),
    )
