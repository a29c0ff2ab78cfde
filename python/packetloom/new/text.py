"""The text of a first scenario."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.new import choices
from packetloom.new.recipes import RECIPES, scaled

SCHEMA = "packetloom.schema.json"
"""The file that the scenario's first line tells an editor to complete by."""
FLOWS = 1000
LOADS = (0.3, 0.6)
SEEDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the scenario is to be. Loads and flows are for workloads that have a load."""

    fabric: str = "leaf-spine"
    workload: str = "web-search"
    schemes: Sequence[str] = ("tcp", "dctcp", "line-rate")
    loads: Sequence[float] | None = None
    flows: int | None = None
    seeds: int = SEEDS
    rate: str = "10Gbps"

    def checked(self) -> Answers:
        """The same, if it can be; raises `PacketloomError` with what to write instead."""
        choices.chosen("--fabric", self.fabric, choices.fabrics())
        traffic = choices.workloads()[choices.chosen("--workload", self.workload, choices.workloads())]
        choices.schemes("--scheme", self.schemes)
        choices.gbps("--rate", self.rate)
        for flag, given in (("--load", self.loads), ("--flows", self.flows)):
            if given is not None and not traffic.loads:
                raise PacketloomError(f"{flag}: the workload {self.workload!r} has none; leave it out")
        return self


def scenario_text(answers: Answers, file: str) -> str:
    """The scenario, with a comment for each choice that one may want to change."""
    parts = [_head(answers, file), _topology(answers), _workload(answers)]
    parts += [_scheme(kind, answers) for kind in answers.schemes]
    parts += [_run(answers), _measure(answers)]
    return "\n".join(parts)


def _measure(answers: Answers) -> str:
    lines = ["[measure]", "queues = true # each port's queue: its mean, p99 and maximum"]
    arrivals = choices.workloads()[answers.workload].table.get("arrivals")
    if isinstance(arrivals, dict) and arrivals["kind"] == "collective":
        lines.append("operations = true # what ranks waited for, and which links bound operations")
    return "\n".join([*lines, ""])


def _head(answers: Answers, file: str) -> str:
    names = [RECIPES[kind].label for kind in answers.schemes]
    compared = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    about = f"{compared}: workload {answers.workload}, fabric {answers.fabric}. Written by `packetloom new`."
    return (
        "\n".join([f"#:schema ./{SCHEMA}", *_comment(about)]) + "\n#\n"
        f"#     packetloom check {file}\n#     packetloom run {file}\n#\n"
        "# Any value written as a list makes a case of each entry. `packetloom list` shows the names that can stand\n"
        "# here, and `packetloom explain NAME` the keys of each, with defaults and sources.\n"
    )


def _topology(answers: Answers) -> str:
    others = ", ".join(choices.other_topologies(answers.fabric))
    about = f"{choices.doc('topology', answers.fabric)} Other kinds: {others}."
    lines = ["[topology]", *_comment(about), f"kind = {_value(answers.fabric)}"]
    lines += [f"{name} = {size} # {doc}" for name, (size, doc) in choices.sizes_of(answers.fabric).items()]
    link = {"rate": answers.rate.replace(" ", ""), "delay": "1us"}
    lines.append(f"link = {_value(link)} # every link, unless others are named")
    if answers.fabric == "dumbbell":
        shared = link | {"rate": f"{choices.gbps('--rate', answers.rate) * choices.BOTTLENECK:g}Gbps"}
        lines.append(f"bottleneck = {_value(shared)} # between the two switches")
    return "\n".join(lines) + "\n"


def _workload(answers: Answers) -> str:
    traffic = choices.workloads()[answers.workload]
    lines = [f"{key} = {_value(value)}" for key, value in traffic.table.items()]
    return "\n".join(["[[workload]]", *_comment(f"{answers.workload}: {traffic.doc}."), *lines]) + "\n"


def _scheme(kind: str, answers: Answers) -> str:
    recipe = RECIPES[kind]
    transport = {"kind": kind, **recipe.transport} if recipe.transport else kind
    queue = scaled(recipe.queue, choices.gbps("--rate", answers.rate))
    keys = {
        "name": recipe.label,
        "transport": transport,
        "queue": (queue if len(queue) > 1 else queue["kind"]) if queue else None,
        "routing": recipe.routing,
        "nic": recipe.nic,
    }
    lines = [f"{key} = {_value(value)}" for key, value in keys.items() if value is not None]
    return "\n".join(["[[scheme]]", *_comment(choices.doc("transport", kind)), *lines]) + "\n"


def _run(answers: Answers) -> str:
    traffic = choices.workloads()[answers.workload]
    lines = ["[run]"]
    if traffic.loads:
        flows = answers.flows or FLOWS
        lines.append(
            f"loads = {_value(list(answers.loads or LOADS))} # bytes offered, as fractions of the hosts' links"
        )
        lines.append(f"flows = {flows} # more flows, more certain tails")
    lines += [f"{key} = {_value(value)}" for key, value in traffic.run.items()]
    lines.append(f"seeds = {answers.seeds} # each scheme sees the same flows under the same seed")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 116, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _value(value: Any) -> str:
    """A value as TOML, tables in line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)
