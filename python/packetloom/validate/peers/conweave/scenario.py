"""A setting of ConWeave's ns-3 simulator as a scenario, with the peer's packets, clock, hash and memory manager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packetloom.errors import PacketloomError
from packetloom.validate.peers.hpcc.scenario import flow_file
from packetloom.validate.peers.hpcc.settings import DCQCN, Settings

# Its LB_MODE, and what that is.
ECMP, DRILL, CONGA, LETFLOW, CONWEAVE = 0, 2, 3, 6, 9
SCHEMES = {ECMP: "ECMP", DRILL: "DRILL", CONGA: "CONGA", LETFLOW: "LetFlow", CONWEAVE: "ConWeave"}
# network-load-balance.cc has these, and no key for them.
FLOWLET_GAP, DRE_INTERVAL, METRICS_AGE = "100us", "50us", "500us"
# Without the sender, and destination ports ORed with the class.
FLOWLET_KEY = "conweave-ns3"
NACK_INTERVAL, PAUSE_TIME = "4us", "5us"
# A setting is about so long; uplinks' bytes are summed up as often as the peer's own analysis does.
SUMMED_EACH = "100us"


def scheme_of(settings: Settings) -> int:
    """Who balances."""
    mode = int(settings.number("LB_MODE"))
    if mode not in SCHEMES:
        known = ", ".join(f"{mode} ({name})" for mode, name in SCHEMES.items())
        raise PacketloomError(f"{settings.path}: LB_MODE {mode} is not replayed; these are: {known}")
    return mode


def replay_scenario(settings: Settings, folder: Path, seeds: int) -> dict[str, Any]:
    """The scenario that replays a setting; its flows are put into `folder`, the first of them at time 0."""
    if settings.mode != DCQCN or settings.flag("ENABLE_IRN") or not settings.flag("ENABLE_PFC"):
        raise PacketloomError(
            f"{settings.path}: only DCQCN with PFC is replayed: CC_MODE 1, ENABLE_PFC 1, ENABLE_IRN 0"
        )
    return {
        "topology": {"kind": "hpcc", "file": str(settings.file("TOPOLOGY_FILE").absolute()), "whole_ns": True},
        "workload": [{"arrivals": {"kind": "hpcc", "file": str(flow_file(settings, folder).absolute())}}],
        "scheme": [
            {
                "name": settings.name,
                "transport": _transport(settings),
                "queue": _queue(settings),
                "routing": _routing(settings),
            }
        ],
        "run": {"seeds": seeds},
        "measure": {"reordering": True, "series_interval": SUMMED_EACH},
    }


def _transport(settings: Settings) -> dict[str, Any]:
    if settings.flag("HAS_WIN"):
        raise PacketloomError(f"{settings.path}: HAS_WIN 1 is not replayed; write 0")
    return {
        "kind": "dcqcn",
        "variant": "mellanox",
        "mss": f"{settings.number('PACKET_PAYLOAD_SIZE'):g}B",
        "class": 3,
        "ack_class": 0,
        "window": "none",
        "variable_window": False,
        "rto": "4ms",
        "nack_interval": NACK_INTERVAL,
        "nack_is_cnp": True,
        "gain": settings.number("EWMA_GAIN"),
        "alpha_interval": f"{settings.text('ALPHA_RESUME_INTERVAL')}us",
        "decrease_interval": f"{settings.text('RATE_DECREASE_INTERVAL')}us",
        "increase_interval": f"{settings.text('RP_TIMER')}us",
        "fast_recovery": int(settings.number("FAST_RECOVERY_TIMES")),
        "additive_increase": settings.rate("RATE_AI"),
        "hyper_increase": settings.rate("RATE_HAI"),
        "min_rate": settings.rate("MIN_RATE"),
        "clamp_target_rate": settings.flag("CLAMP_TARGET_RATE"),
    }


def _queue(settings: Settings) -> dict[str, Any]:
    own = settings.network.host_rate
    rates = {rate for _, _, rate, _ in settings.network.links}
    lows, highs, chances = (settings.by_rate(key) for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"))
    if any((lows[rate], highs[rate], chances[rate]) != (lows[own], highs[own], chances[own]) for rate in rates):
        raise PacketloomError(f"{settings.path}: KMIN_MAP, KMAX_MAP or PMAX_MAP differ between the links' rates")
    return {
        "kind": "shared-buffer",
        "mmu": "conweave-ns3",
        "buffer": f"{settings.number('BUFFER_SIZE'):g}MiB",
        "ties": "ns-3",
        "pause_time": PAUSE_TIME,
        "ecn_min": f"{lows[own] * 1000:.0f}B",
        "ecn_max": f"{highs[own] * 1000:.0f}B",
        "ecn_probability": chances[own],
        "ecn_by_rate": False,
    }


def _routing(settings: Settings) -> dict[str, Any]:
    own: dict[int, dict[str, Any]] = {
        ECMP: {"kind": "ecmp"},
        DRILL: {"kind": "drill", "memory_per": "destination", "balances": "data"},
        LETFLOW: {"kind": "letflow", "flowlet_gap": FLOWLET_GAP, "flowlet_key": FLOWLET_KEY, "first": "random"},
        CONGA: {
            "kind": "conga",
            "flowlet_gap": FLOWLET_GAP,
            "flowlet_key": FLOWLET_KEY,
            "dre_interval": DRE_INTERVAL,
            "max_age": METRICS_AGE,
            "ageing": "ticks",
            "cap": False,
            "candidates": 4,
            "stays": False,
            "balances": "data",
        },
    }
    scheme = scheme_of(settings)
    chosen = own[scheme] if scheme in own else _conweave(settings)
    return chosen | {"hash": "hpcc-ns3", "ports": "host"}


def _conweave(settings: Settings) -> dict[str, Any]:
    keys = {
        "expiry": "CONWEAVE_TX_EXPIRY_TIME",
        "reply_extra": "CONWEAVE_REPLY_TIMEOUT_EXTRA",
        "path_pause": "CONWEAVE_PATH_PAUSE_TIME",
        "flush_extra": "CONWEAVE_EXTRA_VOQ_FLUSH_TIME",
        "flush_default": "CONWEAVE_DEFAULT_VOQ_WAITING_TIME",
    }
    # The simulator's round trip is that of the links' delays, four of 1 us.
    given = {ours: f"{settings.number(theirs):g}us" for ours, theirs in keys.items()}
    return {"kind": "conweave", "base_rtt": "4us"} | given
