"""The text of a first scenario."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.new import choices, equal, fabrics, recipes
from packetloom.new.choices import Chosen, Traffic
from packetloom.new.recipes import DEPLOYED_GBPS, LINK_DELAY_NS, on_path, scaled

SCHEMA = "packetloom.schema.json"
"""The file that the scenario's first line tells an editor to complete by."""
FLOWS = 1000
WHOLE, AT = "never", " # never: the network is whole"
MOST_BESIDE = 80
"""A longer explanation does not stand beside its key."""
MOST_ON_A_LINE = 199
"""A longer table has a line for each of its keys."""
LOADS = (0.3, 0.5)
"""At which web search is steady within a minute or two, on sixteen hosts."""
SEEDS = 3
JOB_SEEDS = 10
"""A job ends with its slowest message, so the paths that are drawn move it more than they move a mean over flows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the scenario is to be. Loads and flows are for workloads that have a load."""

    fabric: str = "leaf-spine"
    workload: str = "web-search"
    schemes: Sequence[str] = ("tcp", "dctcp", "line-rate")
    loads: Sequence[float] | None = None
    flows: int | None = None
    about_flows: str = "more flows, more certain tails; `packetloom check` says if it can be steady"
    cool_down: str | None = None
    seeds: int | None = None
    rate: str = "10Gbps"
    oversubscription: Sequence[float] = ()
    failed_link: bool = False
    folder: Path = Path()
    """The scenario's, which the files that it names are sought from."""
    paths: Mapping[str, recipes.Path] = field(default_factory=dict)
    """By the scheme's name what its flows have before them, once the fabric is known."""

    @property
    def gbps(self) -> float:
        """The links' rate as a number."""
        return choices.gbps("--rate", self.rate)

    @property
    def traffic(self) -> Traffic:
        """The workload."""
        return choices.traffic(self.workload, self.folder)

    @property
    def chosen(self) -> list[Chosen]:
        """The schemes."""
        return [choices.scheme(name, self.folder) for name in self.schemes]

    def checked(self) -> Answers:
        """The same, if it can be; raises `PacketloomError` with what to write instead."""
        fabrics.checked(self.fabric)
        traffic = self.traffic
        choices.schemes("--scheme", self.schemes)
        choices.gbps("--rate", self.rate)
        if self.oversubscription:
            fabrics.oversubscribed(self.fabric, self.oversubscription)
        if self.failed_link:
            fabrics.failing_link(self.fabric)
        for flag, given in (("--load", self.loads), ("--flows", self.flows)):
            if given is not None and not traffic.loads:
                raise PacketloomError(f"{flag}: the workload {self.workload!r} has none; leave it out")
        return self


def scenario_text(answers: Answers, file: str) -> str:
    """The scenario, with a comment for each choice that one may want to change."""
    parts = [_head(answers, file), _topology(answers), _workload(answers)]
    parts += _schemes(answers)
    if answers.failed_link:
        parts.append(_fault(answers))
    return "\n".join([*parts, _run(answers), *_measure(answers)])


def _measure(answers: Answers) -> list[str]:
    lines = []
    # Flow-level models have no queues.
    if any(one.recipe.queue for one in answers.chosen):
        lines.append("queues = true # each port's queue: its mean, p99 and maximum")
    if answers.traffic.is_job:
        lines.append("operations = true # what ranks waited for, and which links bound operations")
    return ["\n".join(["[measure]", *lines, ""])] if lines else []


def _head(answers: Answers, file: str) -> str:
    names = [one.label for one in answers.chosen]
    compared = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    about = f"{compared}: workload {answers.workload}, fabric {answers.fabric}. Written by `packetloom new`."
    return (
        "\n".join([f"#:schema ./{SCHEMA}", *_comment(about)]) + "\n#\n"
        f"#     packetloom check {file}\n#     packetloom run {file}\n#\n"
        "# Any value written as a list makes a case of each entry. `packetloom list` shows the names that can stand\n"
        "# here, and `packetloom explain NAME` the keys of each, with defaults and sources.\n"
    )


def _topology(answers: Answers) -> str:
    kind, fabric = fabrics.kind(answers.fabric), fabrics.fabric(answers.fabric)
    others = ", ".join(choices.other_topologies(kind))
    about = f"{choices.doc('topology', kind)} Other kinds: {others}."
    lines = ["[topology]", *_comment(about), f"kind = {_value(kind)}"]
    if fabrics.is_file(answers.fabric):
        file = choices.from_folder("--fabric", answers.fabric, answers.folder)
        return "\n".join([*lines, f"file = {_value(file)}"]) + "\n"
    sizes = dict(fabric.sizes)
    if answers.oversubscription:
        sizes.pop("spines", None)  # which follow
        sizes |= fabrics.oversubscribed(answers.fabric, answers.oversubscription)
    for name, size in sizes.items():
        doc = choices.doc_of_key("topology", kind, name).partition(" Left out:")[0].rstrip(".")
        lines.append(f"{name} = {_value(size)}" + (f" # {doc}" if len(doc) < MOST_BESIDE else ""))
    link = {"rate": answers.rate.replace(" ", ""), "delay": f"{LINK_DELAY_NS // 1000}us"}
    lines.append(f"link = {_value(link)} # every link, unless others are named")
    lines += [f"{name} = {_value(value)}" for name, value in fabric.links(answers.gbps).items()]
    return "\n".join(lines) + "\n"


def _workload(answers: Answers) -> str:
    traffic = answers.traffic
    lines: list[str] = []
    for key, value in {**traffic.table, **traffic.at_gbps(answers.gbps)}.items():
        line = f"{key} = {_value(value)}"
        if isinstance(value, Mapping) and len(line) > MOST_ON_A_LINE:
            own = [f"{name} = {_value(inner)}" for name, inner in value.items()]
            lines += [f"[workload.{key}]", *own]
        else:
            lines.append(line)
    return "\n".join(["[[workload]]", *_comment(f"{answers.workload}: {traffic.doc}."), *lines]) + "\n"


def _schemes(answers: Answers) -> list[str]:
    """A table for each scheme; what is no scheme's own they all have alike."""
    chosen = answers.chosen
    told = equal.alike([one.kind for one in chosen], answers.gbps)
    return [_scheme(one, told[one.kind] | _repair(one.kind, answers), answers) for one in chosen]


def _repair(kind: str, answers: Answers) -> dict[str, str]:
    """What a link that fails loses must come again, which RoCE's go-back-n only sees to after a timeout."""
    return {"rto": "4ms"} if answers.failed_link and equal.goes_back(kind) else {}


def _scheme(one: Chosen, told: Mapping[str, Any], answers: Answers) -> str:
    recipe, gbps = one.recipe, answers.gbps
    own = {**on_path(one.transport, answers.paths.get(one.label)), **told}
    queue = scaled(recipe.queue, gbps, fabrics.fabric(answers.fabric).ports)
    if answers.failed_link:
        queue = _for_faults(queue, answers)
    queue |= equal.packet_of(queue, own)
    keys = {
        "name": one.label,
        "transport": {"kind": one.kind, **own} if own else one.kind,
        "queue": (queue if len(queue) > 1 else queue["kind"]) if queue else None,
        "routing": equal.queue_pairs(one.kind, recipe.routing, gbps, answers.traffic.is_job),
        "nic": recipe.nic,
    }
    about = one.doc
    if equal.is_rdma(one.kind) and gbps >= DEPLOYED_GBPS:
        about += f" {equal.DEPLOYED.format(kind=one.kind)}"
    lines = [f"{key} = {_value(value)}" for key, value in keys.items() if value is not None]
    return "\n".join(["[[scheme]]", *_comment(about), *lines]) + "\n"


def _for_faults(queue: Mapping[str, Any], answers: Answers) -> dict[str, Any]:
    """What a queue must have for what a link that fails loses: a RESUME, without which a link would stall, or packets,
    which would take window for ever."""
    if queue.get("kind") == "shared-buffer":
        return {**queue, "pause_time": _pause_time(answers)}
    if queue.get("kind") == "floodgate":
        return {**queue, "resync_after": "1ms", "queue": _for_faults(queue["queue"], answers)}
    return dict(queue)


def _pause_time(answers: Answers) -> str:
    """50 us, or what a PAUSE can say on the fastest link: 65535 times what 512 bits take."""
    fastest = answers.gbps * (fabrics.SCALE_UP if "scale_up" in fabrics.fabric(answers.fabric).links(1.0) else 1)
    return f"{min(50, int(65535 * 512 / fastest / 1000))}us"


def _fault(answers: Answers) -> str:
    about = (
        "The whole network, and one in which a link is down from the start, as routing knows. With a later `at`, and "
        '`learn_after = "1ms"`, what is lost until it knows counts, too.'
    )
    keys = {
        "kind": "link-down",
        "between": list(fabrics.failing_link(answers.fabric)),
        "at": [WHOLE, "0us"],
        "learn_after": "0us",
    }
    lines = [f"{key} = {_value(value)}" + (AT if key == "at" else "") for key, value in keys.items()]
    return "\n".join(["[[fault]]", *_comment(about), *lines]) + "\n"


def _run(answers: Answers) -> str:
    traffic = answers.traffic
    lines = ["[run]"]
    if traffic.loads:
        flows = answers.flows or FLOWS
        lines.append(
            f"loads = {_value(list(answers.loads or LOADS))} # bytes offered, as fractions of the hosts' links"
        )
        lines.append(f"flows = {flows} # {answers.about_flows}")
        lines.append('warm_up = "auto" # flows are not measured until queues have had time to settle')
        if answers.cool_down:
            lines.append(f'cool_down = "{answers.cool_down}" # nor those that would end while traffic drains')
    lines += [f"{key} = {_value(value)}" for key, value in traffic.run.items()]
    seeds = answers.seeds or (JOB_SEEDS if traffic.is_job else SEEDS)
    lines.append(f"seeds = {seeds} # each scheme sees the same flows under the same seed")
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
