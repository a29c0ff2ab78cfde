"""Where a campaign was run and with what, in a few words: the network, the flows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from packetloom.common.quantities import size_said
from packetloom.store.results import Results

Keys = Mapping[str, Any]
NETWORKS = {
    "fat-tree": "a fat tree",
    "leaf-spine": "a leaf-spine fabric",
    "rack": "a rack",
    "dumbbell": "a dumbbell",
    "clos": "a Clos network",
    "rail-optimised": "a rail-optimised network",
    "dragonfly": "a dragonfly",
}
JOBS = {
    "training": "training",
    "moe": "a mixture of experts",
    "kv-cache": "transfers of key-value caches",
    "serving": "requests to a served model",
    "perftest": "a perftest",
    "goal": "a schedule in GOAL",
    "chakra": "a Chakra trace",
    "simai": "a workload of SimAI",
}


def setting_text(several: Sequence[Results], flows: int = 0) -> str:
    """The network and the workload of the first folder's first case, with so many flows of each; empty if unknown."""
    one = several[0]
    line = next((line for line in one.plan_lines() if "case" in line), None)
    if line is None:
        return ""
    case = json.loads(line["case"])
    hosts = _hosts(one)
    network = NETWORKS.get(case["topology"]["kind"], "a network from a file")
    where = f"{network} of {hosts} hosts" if hosts else network
    what = _workload(case["workloads"])
    if _is_job(_first(case["workloads"])) or not flows or any(name.startswith("workload") for name in one.axes):
        return f"{what} on {where}"
    return f"{what.replace('flows', 'a flow', 1) if flows == 1 else f'{flows:,} {what}'} on {where}"


def _hosts(one: Results) -> int:
    """How many hosts have ports in the first case that has any."""
    for _, ports in one.partitions("ports", ["node"]):
        if ports.num_rows:
            names = pc.unique(ports["node"].combine_chunks()).to_pylist()
            return sum(name.startswith("host") for name in names)
    return 0


def _workload(workloads: Sequence[Keys]) -> str:
    measured = [one for one in workloads if not one.get("background")] or list(workloads)
    background = len(workloads) - len(measured)
    text = _flows(_first(workloads))
    if len(measured) > 1:
        text += f" and {len(measured) - 1} more workload{'s' if len(measured) > 2 else ''}"
    return text + (" beside background flows" if background else "")


def _first(workloads: Sequence[Keys]) -> Keys:
    """The first that is no background; nothing where a program sent all traffic."""
    return next((one for one in workloads if not one.get("background")), workloads[0] if workloads else {})


def _is_job(workload: Keys) -> bool:
    return (workload.get("arrivals") or {}).get("kind") in ("collective", *JOBS)


def _flows(workload: Keys) -> str:
    arrivals, pattern = workload.get("arrivals") or {}, workload.get("pattern") or {}
    if arrivals.get("kind") == "collective":
        size = arrivals.get("size")
        return f"the operation {arrivals.get('operation')}" + (f" of {size_said(size['bytes'])}" if size else "")
    if arrivals.get("kind") in JOBS:
        return JOBS[arrivals["kind"]]
    if arrivals.get("kind") == "list":
        return "flows of a list"
    text = _sizes(workload.get("sizes") or {})
    return f"{text} to one host at once" if pattern.get("kind") == "incast" else text


def _sizes(sizes: Keys) -> str:
    match sizes.get("kind"):
        case "cdf" if sizes.get("name"):
            return f"{sizes['name']} flows"
        case "constant":
            return f"flows of {size_said(sizes['size']['bytes'])}"
        case "uniform":
            return f"flows of {size_said(sizes['minimum']['bytes'])} to {size_said(sizes['maximum']['bytes'])}"
        case "exponential":
            return f"flows of {size_said(sizes['mean']['bytes'])} on average"
    return "flows"
