"""What all schemes of a first scenario have alike, so that nothing but the schemes decides between them.

RDMA has the preset of RoCE as it is deployed, which `packetloom explain dcqcn` shows with its sources; the others get
its packet size, and are acknowledged as it is. What belongs to switches and to routing a preset of a transport can't
set: from 100 Gb/s on, marks from 150 to 1500 KB, what `roce lossless` sets on NVIDIA's switches (manuals of Onyx 3.10
and Cumulus Linux 5); and of jobs four queue pairs between two hosts (NCCL_IB_QPS_PER_CONNECTION, which Meta's clusters
raise, too, SIGCOMM 2024; the IETF's draft on training fabrics tests 1 to 32, and flowlets with 4).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from packetloom import _core
from packetloom.new.recipes import DEPLOYED_GBPS

DEPLOYED = (
    "As deployed from 100 Gb/s on: the preset (`packetloom explain {kind}`); marks from 150 to 1500 KB (NVIDIA's "
    "switches: `roce lossless`); four queue pairs between two hosts of a job."
)
"""What a scenario says of it."""
PRESET = "deployed"
LARGE, USUAL = 4096, 1460
"""Bytes that a packet carries: of RDMA and Ultra Ethernet, and of all others."""
QUEUE_PAIRS = 4
HEADER = 40
"""Bytes of a header of those that have the usual payload."""


@cache
def _defaults() -> dict[str, dict[str, str | None]]:
    """Of each transport what its parameters are where they are left out."""
    found = {}
    for component in json.loads(_core.registry()):
        if component["section"] == "transport":
            found[component["kind"]] = {one["name"]: one["default"] for one in component["params"]}
    return found


def goes_back(kind: str) -> bool:
    """Whether a transport repeats all that follows a loss; that of a last packet it notices by a timeout alone."""
    return _defaults()[kind].get("recovery") == "go-back-n"


def is_rdma(kind: str) -> bool:
    """Whether a transport is between queue pairs, with traffic classes that PFC may pause."""
    return "preset" in _defaults()[kind]


def alike(kinds: Sequence[str], gbps: float) -> dict[str, dict[str, Any]]:
    """For each of the transports that are compared, what it has to be told to be like the others.

    Acknowledgements of several packets belong to links of 100 Gb/s and more: at 10 Gb/s four packets of 4 KB are most
    of what a path holds.
    """
    known = _defaults()
    has_size = [kind for kind in kinds if "mss" in known[kind]]
    coalesces = {kind for kind in has_size if "ack_every" in known[kind]}
    payload = f"{LARGE if coalesces else USUAL}B"
    is_single = len(kinds) < 2 and not coalesces
    told: dict[str, dict[str, Any]] = {kind: {"preset": PRESET} if is_rdma(kind) else {} for kind in kinds}
    for kind in kinds:
        # HPCC's run.py has 1 Gb/s, of links of 100.
        if gbps <= 1 and known[kind].get("min_rate") == "1Gbps":
            told[kind]["min_rate"] = f"{gbps * 10:g}Mbps"
    for kind in has_size:
        if not is_rdma(kind) and known[kind]["mss"] != payload and not is_single:
            told[kind]["mss"] = payload
    if gbps < DEPLOYED_GBPS or not all(kind in coalesces or "delayed_ack" not in known[kind] for kind in kinds):
        for kind in coalesces:
            told[kind]["ack_every"] = 1 if is_rdma(kind) else f"{LARGE}B"
    return told


def packet_of(queue: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, str]:
    """What a queue has to be told that goes by the size of packets, where that is not the usual one."""
    payload = int(str(told.get("mss", f"{USUAL}B")).removesuffix("B"))
    is_told = queue.get("kind") == "credit-limiter" and payload != USUAL
    return {"data": f"{payload + HEADER}B"} if is_told else {}


def queue_pairs(kind: str, routing: str | Mapping[str, Any] | None, gbps: float, is_job: bool) -> Any:
    """The routing, with as many queue pairs as deployed between two hosts where a job's messages share them."""
    if not (is_job and gbps >= DEPLOYED_GBPS and routing == "ecmp" and is_rdma(kind)):
        return routing
    return {"kind": routing, "queue_pairs": QUEUE_PAIRS}
