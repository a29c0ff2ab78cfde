"""What all schemes of a first scenario have alike, so that nothing but the schemes decides between them.

As it is deployed from 100 Gb/s on, RDMA has packets of 4096 B, InfiniBand's and so RoCE's largest; acknowledgements for
16384 B, UET's interval, as InfiniBand allows to coalesce them; marks from 150 to 1500 KB, what `roce lossless` sets on
NVIDIA's switches (manuals of Onyx 3.10 and Cumulus Linux 5), with acknowledgements and CNPs in a class of their own
that goes first; DCQCN's steps of increase, of 40 and 400 Mb/s at 40 Gb/s (SIGCOMM 2015, section 5), in proportion to
the rate, as HPCC's run.py has its own; and of jobs four queue pairs between two hosts (NCCL_IB_QPS_PER_CONNECTION; the
IETF's draft on training fabrics tests 1 to 32, and flowlets with 4).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from packetloom import _core
from packetloom.new.recipes import DEPLOYED_GBPS

DEPLOYED = (
    "As deployed from 100 Gb/s on: packets of 4096 B, RoCE's largest; an acknowledgement for 16384 B, as in UET, of a "
    "class that goes first; marks from 150 to 1500 KB (NVIDIA's switches: `roce lossless`); DCQCN's steps in "
    "proportion to the rate (SIGCOMM 2015: 40 and 400 Mb/s at 40 Gb/s); four queue pairs between two hosts of a job."
)
"""What a scenario says of it."""
LARGE, USUAL = 4096, 1460
"""Bytes that a packet carries: of RDMA and Ultra Ethernet, and of all others."""
ACK_BYTES = 16384
DCQCN_GBPS = 40
ADDED_MBPS = {"additive_increase": 40, "hyper_increase": 400}
"""What DCQCN's steps add at `DCQCN_GBPS`."""
QUEUE_PAIRS = 4


@cache
def _defaults() -> dict[str, dict[str, str | None]]:
    """Of each transport what its parameters are where they are left out."""
    found = {}
    for component in json.loads(_core.registry()):
        if component["section"] == "transport":
            found[component["kind"]] = {one["name"]: one["default"] for one in component["params"]}
    return found


def is_rdma(kind: str) -> bool:
    """Whether a transport is between queue pairs, with traffic classes that PFC may pause."""
    return "ack_class" in _defaults()[kind]


def alike(kinds: Sequence[str], gbps: float) -> dict[str, dict[str, Any]]:
    """For each of the transports that are compared, what it has to be told to be like the others."""
    known = _defaults()
    has_size = [kind for kind in kinds if "mss" in known[kind]]
    coalesces = {kind for kind in has_size if "ack_every" in known[kind]}
    payload = f"{LARGE if coalesces else USUAL}B"
    is_single = len(kinds) < 2 and not coalesces
    told: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
    for kind in has_size:
        if known[kind]["mss"] != payload and not is_single:
            told[kind]["mss"] = payload
    everyone = all(kind in coalesces or "delayed_ack" not in known[kind] for kind in kinds)
    for kind in coalesces:
        told[kind] |= _acknowledgements(is_rdma(kind), everyone)
    if "dcqcn" in told and gbps != DCQCN_GBPS:
        told["dcqcn"] |= {key: _rate(mbps * gbps / DCQCN_GBPS) for key, mbps in ADDED_MBPS.items()}
    return told


def _acknowledgements(is_rdma: bool, coalesced: bool) -> dict[str, Any]:
    """For 16384 B each; or for each packet, where one of the others can't but do so."""
    if is_rdma:
        return {"ack_class": 0} | ({"ack_every": ACK_BYTES // LARGE} if coalesced else {})
    return {} if coalesced else {"ack_every": f"{LARGE}B"}


def queue_pairs(kind: str, routing: str | Mapping[str, Any] | None, gbps: float, is_job: bool) -> Any:
    """The routing, with as many queue pairs as deployed between two hosts where a job's messages share them."""
    if not (is_job and gbps >= DEPLOYED_GBPS and routing == "ecmp" and is_rdma(kind)):
        return routing
    return {"kind": routing, "queue_pairs": QUEUE_PAIRS}


def _rate(mbps: float) -> str:
    return f"{mbps / 1000:g}Gbps" if mbps >= 1000 else f"{mbps:g}Mbps"
