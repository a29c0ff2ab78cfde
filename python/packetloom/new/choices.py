"""What `packetloom new` can be asked for: what the simulator's own catalogue names."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.common.suggest import meant
from packetloom.errors import PacketloomError
from packetloom.new.recipes import ALIASES, CLASSES, OPTIONS, RECIPES, Recipe

RATE = re.compile(r"(\d+(?:\.\d+)?) *([MGT])bps")
MOST_GBPS = 100_000
GBPS = {"M": 0.001, "G": 1.0, "T": 1000.0}


@dataclass(frozen=True, slots=True)
class Traffic:
    """A workload's table, what it says of itself, and whether it needs a load."""

    doc: str
    table: Mapping[str, Any]
    loads: bool = False
    is_job: bool = False
    run: Mapping[str, Any] = field(default_factory=dict)
    at_gbps: Callable[[float], Mapping[str, Any]] = lambda _: {}
    """What depends on the rate of the links: more of the table."""


@functools.cache
def _components(section: str) -> dict[str, dict[str, Any]]:
    return {entry["kind"]: entry for entry in json.loads(_core.registry()) if entry["section"] == section}


def doc(section: str, kind: str) -> str:
    """What the catalogue says of a component."""
    text: str = _components(section)[kind]["doc"]
    return text


def other_topologies(fabric: str) -> list[str]:
    """All that the catalogue has beside this one."""
    return [kind for kind in _components("topology") if kind != fabric]


def doc_of_key(section: str, kind: str, name: str) -> str:
    """What the catalogue says of a component's parameter, if anything."""
    parameter = _named(_components(section)[kind], name)
    return parameter["doc"].rstrip(".") if parameter else ""


def _named(component: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((one for one in component["params"] if one["name"] == name), None)


def workloads() -> dict[str, Traffic]:
    """Flow sizes at a load; a permutation, an incast; collective operations; training and inference; requests."""
    found = {
        name: _at_a_load(name, "flow sizes of a distribution, between random pairs, at a load")
        for name in _core.distributions()
    }
    found["permutation"] = Traffic(
        "every host sends 1 MB to one other host, all at once",
        {"sizes": {"kind": "constant", "size": "1MB"}, "arrivals": "at-once", "pattern": "permutation"},
    )
    found["incast"] = Traffic(
        "4, 8 and 15 hosts send 30 KB each to one host, every 5 ms",
        {
            "sizes": {"kind": "constant", "size": "30KB"},
            "arrivals": {"kind": "periodic", "interval": "5ms"},
            "pattern": {"kind": "incast", "receiver": 0, "fan_in": [4, 8, 15]},
        },
        run={"duration": "50ms"},
    )
    for operation in _operations():
        table = {"kind": "collective", "operation": operation, "size": "8MB", "repeat": 2}
        found[operation] = Traffic("a collective operation of all hosts, 8 MB, twice", {"arrivals": table}, is_job=True)
    found |= {name: Traffic(doc, {"arrivals": table}, is_job=True) for name, (doc, table) in JOBS.items()}
    return found | {"serving": Traffic(SERVING, {}, at_gbps=lambda gbps: {"arrivals": _serving(gbps)})}


def _at_a_load(sizes: str, doc: str) -> Traffic:
    return Traffic(doc, {"sizes": sizes, "arrivals": "poisson", "pattern": "random-pairs"}, loads=True)


def traffic(name: str, folder: Path = Path()) -> Traffic:
    """The workload of that name; or flows of the sizes in a file, named as from the scenario's folder."""
    if not _is_file(name):
        return workloads()[chosen("--workload", name, workloads(), "; or a file of sizes, such as sizes.csv")]
    sizes = from_folder("--workload", name, folder)
    sizes = sizes if _is_file(sizes) else f"./{sizes}"
    return _at_a_load(sizes, "flow sizes of a file of your own, between random pairs, at a load")


def _is_file(name: str) -> bool:
    """As scenarios have it: names have no dots and no folders."""
    return any(letter in name for letter in "./\\")


def from_folder(flag: str, name: str, folder: Path) -> str:
    """The file as a scenario in this folder names it."""
    if not Path(name).is_file():
        raise PacketloomError(f"{flag} {name}: there is no such file")
    return os.path.relpath(name, folder)


JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "training": (
        "two steps of training on 16 accelerators: tensor, data and pipeline parallel, messages in eight pieces",
        {
            "kind": "training",
            "tensor": 2,
            "data": 4,
            "pipeline": 2,
            "layers": 8,
            "microbatches": 4,
            "forward": "200us",
            "activations": "2MB",
            "gradients": "10MB",
            "repeat": 2,
            "chunks": 8,
        },
    ),
    "moe": (
        "tokens go to 16 experts and back, two to a token",
        {"kind": "moe", "experts": 16, "top_k": 2, "tokens": 128, "bytes_per_token": "14336B", "repeat": 2},
    ),
    "kv-cache": (
        "eight ranks send caches of 4 MB to eight others",
        {"kind": "kv-cache", "prefill": 8, "decode": 8, "size": "4MB"},
    ),
    "perftest": (
        "messages of two sizes from eight hosts to eight others, as ib_write_bw sends them",
        {"kind": "perftest", "pairs": 8, "size": ["4KiB", "64KiB"], "messages": 200, "outstanding": 32},
    ),
}


SERVING = (
    "requests to a language model of a billion parameters (the shape of Llama 3.2 1B, 32,768 B a token): eight "
    "accelerators process prompts and send keys and values to four pairs, which generate the answers. A token takes "
    "6 us (2.5 GFLOP at 400 TFLOP/s), and reading the weights of a billion parameters 1 ms. The two rates are 30 and "
    "60 % of what the first eight process; with links slower than that, of what one of them sends"
)
KEYS_AND_VALUES_GBIT = 8 * 32_768 * 1_100 / 1e9
"""Of a mean prompt: 1,100 tokens."""
PROMPTS_PER_SECOND = 1 / (1e-3 + 1_100 * 6e-6)
"""Of one of the eight."""


def _serving(gbps: float) -> dict[str, Any]:
    # While few prompts wait, the first instance gets most of them, and sends for all.
    sends_per_second = gbps / KEYS_AND_VALUES_GBIT
    most = sends_per_second if sends_per_second < PROMPTS_PER_SECOND else 8 * PROMPTS_PER_SECOND
    return {
        "kind": "serving",
        "requests": 200,
        "rate_per_second": [max(1, round(float(f"{share * most:.2g}"))) for share in (0.3, 0.6)],
        "prompt": {"kind": "lognormal", "median": 800, "sigma": 0.8, "most": 8192},
        "answer": {"kind": "lognormal", "median": 100, "sigma": 0.7, "most": 1024},
        "model": {"layers": 16, "kv_heads": 8, "head_size": 64},
        "prefill": {"instances": 8, "tensor": 1, "batch_tokens": 2048, "base": "1ms", "per_token": "6us"},
        "decode": {"instances": 4, "tensor": 2, "memory": "40GB", "base": "1ms", "per_cached_token": "5ns"},
    }


def _operations() -> list[str]:
    """Of the catalogue's operations those that every host has an equal part in, of a size."""
    parameter = _named(_components("arrivals")["collective"], "operation")
    known = parameter["kind"].removeprefix("one of ").split(", ") if parameter else []
    return [operation for operation in known if operation.startswith("all-") or operation == "reduce-scatter"]


def transports() -> dict[str, str]:
    """The transports that `new` has a recipe for, each with what the catalogue says of it."""
    return {kind: doc("transport", kind) for kind in RECIPES}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scheme that was asked for: its transport's kind, what the scenario says of that, its recipe, what it is."""

    kind: str
    transport: Mapping[str, Any]
    recipe: Recipe
    label: str
    doc: str


def scheme(name: str, folder: Path = Path()) -> Chosen:
    """The scheme of that name; or a transport that is a class in Python, "FILE.py:CLASS"."""
    file, colon, class_name = name.rpartition(":")
    if colon and file.endswith(".py"):
        return _of_class(file, class_name, folder)
    if name.endswith(".py"):
        raise PacketloomError(f"--scheme {name}: which class of it? Write {name}:CLASS")
    named = _chosen_scheme("--scheme", name)
    kind, recipe = OPTIONS[named] if named in OPTIONS else (named, RECIPES[named])
    return Chosen(kind, recipe.transport, recipe, recipe.label, doc("transport", kind))


def _chosen_scheme(flag: str, name: str) -> str:
    known = [*RECIPES, *OPTIONS]
    return chosen(flag, ALIASES.get(name, name), known, "; or a class of your own, FILE.py:CLASS")


def _of_class(file: str, class_name: str, folder: Path) -> Chosen:
    from_there = from_folder("--scheme", file, folder)
    (component,) = json.loads(_core.explain_class(file, class_name))
    if (recipe := CLASSES.get(component["kind"])) is None or component["section"] != "transport":
        what = f"it is a {component['section']}, and these are transports"
        raise PacketloomError(f"--scheme {file}:{class_name}: {what}; write it beside one in the file")
    return Chosen(component["kind"], {"file": from_there, "class": class_name}, recipe, class_name, component["doc"])


def chosen(flag: str, value: str, names: Iterable[str], more: str = "") -> str:
    """The value, if it is one of the names."""
    known = list(names)
    if value in known:
        return value
    hint = meant(value, known, "choose one of")
    raise PacketloomError(f"{flag} {value}: there is no such choice; {hint}{'' if hint.endswith('?') else more}")


def gbps(flag: str, value: str) -> float:
    """A link's rate as a number."""
    match = RATE.fullmatch(value.strip())
    rate = float(match[1]) * GBPS[match[2]] if match else 0.0
    if not 0 < rate <= MOST_GBPS:
        raise PacketloomError(f"{flag} {value}: write a rate with its unit, such as 10Gbps; {MOST_GBPS} Gb/s at most")
    return rate


def loads(flag: str, values: Iterable[str]) -> list[float]:
    """Loads as numbers: fractions of the hosts' link."""
    return [_load(flag, part) for value in values for part in value.split(",")]


def _load(flag: str, text: str) -> float:
    try:
        load = float(text)
    except ValueError:
        load = 0.0
    if not 0 < load <= 1:
        raise PacketloomError(f"{flag} {text}: a load is a fraction of the hosts' link, such as 0.6")
    return load


def schemes(flag: str, values: Iterable[str]) -> list[str]:
    """Schemes, each named once."""
    named = [part.strip() for value in values for part in value.split(",")]
    for name in named:
        if not name.rpartition(":")[0].endswith(".py") and not name.endswith(".py"):
            _chosen_scheme(flag, name)
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice:
        raise PacketloomError(f"{flag} {twice}: it is named twice; name each once")
    return named


def ratios(flag: str, values: Iterable[str]) -> list[float]:
    """Oversubscriptions as numbers."""
    found = []
    for part in (part for value in values for part in value.split(",")):
        try:
            ratio = float(part)
        except ValueError:
            ratio = 0.0
        if not 1 <= ratio <= 100:
            raise PacketloomError(f"{flag} {part}: it is what hosts can send over what uplinks carry, such as 2")
        found.append(ratio)
    return found
