"""A setting of HPCC's ns-3 simulator as a scenario, with the peer's own packets, clock, hash and memory manager."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packetloom.common.files import explain_os_error, write_text
from packetloom.errors import PacketloomError
from packetloom.validate.peers.hpcc import measured
from packetloom.validate.peers.hpcc.settings import DCQCN, DCTCP, HPCC, NO_CONTROL, TIMELY, Settings

SAMPLED_EACH = "1us"


def replay_scenario(settings: Settings, folder: Path, seeds: int) -> dict[str, Any]:
    """The scenario that replays a setting; its flows are put into `folder`, the first of them at time 0."""
    transport = {
        "mss": f"{settings.number('PACKET_PAYLOAD_SIZE'):g}B",
        "class": 3,
        "ack_class": 3,  # whatever ACK_HIGH_PRIO says: its switches never hear of that
        "ack_duplicates": False,
    }
    return {
        "topology": {"kind": "hpcc", "file": str(settings.file("TOPOLOGY_FILE").absolute()), "whole_ns": True},
        "workload": [{"arrivals": {"kind": "hpcc", "file": str(flow_file(settings, folder).absolute())}}],
        "scheme": [
            {
                "name": settings.name,
                "transport": transport | _window(settings) | _control(settings),
                "queue": _queue(settings),
                "routing": {"kind": "ecmp", "hash": "hpcc-ns3"},
            }
        ],
        "run": {"seeds": seeds},
        "measure": _measure(settings),
    }


def _measure(settings: Settings) -> dict[str, Any]:
    sampled = {"series_interval": SAMPLED_EACH} if measured.is_sampled(settings) else {}
    return sampled | ({"pauses": True} if measured.pauses(settings) is not None else {})


def start_of(settings: Settings) -> int:
    """When the peer's first flow starts, in ns; here that is time 0."""
    return min(flow.start_ns for flow in settings.flows)


def flow_file(settings: Settings, folder: Path) -> Path:
    """The setting's flows, written as the simulator's own file with the first of them at time 0."""
    first = start_of(settings)
    flows = sorted(settings.flows, key=lambda flow: flow.start_ns)
    # ConWeave's have no port.
    ports = ["" if flow.port is None else f"{flow.port} " for flow in flows]
    lines = [
        f"{flow.src} {flow.dst} {flow.group} {port}{flow.size_bytes} {seconds_text(flow.start_ns - first)}\n"
        for flow, port in zip(flows, ports, strict=True)
    ]
    return write_flow_file(folder / "flows" / f"{settings.name}.txt", lines)


def write_flow_file(path: Path, lines: Sequence[str]) -> Path:
    """A flow.txt of the simulator, of its lines."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{len(lines)}\n" + "".join(lines))
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    return path


def seconds_text(ns: int) -> str:
    """A time as a flow.txt has it."""
    return f"{ns // 10**9}.{ns % 10**9:09}"


def _window(settings: Settings) -> dict[str, Any]:
    if not settings.flag("HAS_WIN"):
        return {"window": "none", "variable_window": False}
    if not settings.flag("GLOBAL_T"):
        raise PacketloomError(f"{settings.path}: GLOBAL_T 0 is not replayed; write 1")
    return {"window": "bdp", "variable_window": settings.flag("VAR_WIN")}


def _control(settings: Settings) -> dict[str, Any]:
    own = {NO_CONTROL: _roce, DCQCN: _dcqcn, HPCC: _hpcc, TIMELY: _timely, DCTCP: _dctcp}
    return own[settings.mode](settings)


def _roce(_: Settings) -> dict[str, Any]:
    return {"kind": "roce"}


def _dcqcn(settings: Settings) -> dict[str, Any]:
    return {
        "kind": "dcqcn",
        "variant": "mellanox",
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


def _hpcc(settings: Settings) -> dict[str, Any]:
    return {
        "kind": "hpcc",
        "variant": "hpcc-ns3",
        "utilisation": settings.number("U_TARGET"),
        "max_stage": int(settings.number("MI_THRESH")),
        "additive_increase": settings.rate("RATE_AI"),
        "min_rate": settings.rate("MIN_RATE"),
        "fast_react": settings.flag("FAST_REACT"),
        "sample_feedback": settings.flag("SAMPLE_FEEDBACK"),
        "multi_rate": settings.flag("MULTI_RATE"),
        "quantise": True,
        "int_multiple": int(settings.number("INT_MULTI")),
    }


def _timely(settings: Settings) -> dict[str, Any]:
    return {
        "kind": "timely",
        "variant": "hpcc-ns3",
        "additive_increase": settings.rate("RATE_AI"),
        "hyper_increase": settings.rate("RATE_HAI"),
        "min_rate": settings.rate("MIN_RATE"),
    }


def _dctcp(settings: Settings) -> dict[str, Any]:
    return {
        "kind": "rdma-dctcp",
        "gain": settings.number("EWMA_GAIN"),
        "additive_increase": settings.rate("DCTCP_RATE_AI"),
        "min_rate": settings.rate("MIN_RATE"),
    }


def _queue(settings: Settings) -> dict[str, Any]:
    if not settings.flag("USE_DYNAMIC_PFC_THRESHOLD"):
        raise PacketloomError(f"{settings.path}: USE_DYNAMIC_PFC_THRESHOLD 0 is not replayed; write 1")
    return {
        "kind": "shared-buffer",
        "mmu": "hpcc-ns3",
        "buffer": f"{settings.number('BUFFER_SIZE'):g}MiB",
        "pause_frame": "43B",
        "ties": "ns-3",
        **(_marks(settings) if settings.flag("ENABLE_QCN") else {}),
    }


def _marks(settings: Settings) -> dict[str, Any]:
    """Thresholds at the hosts' rate, in units of 1000 B; at other rates they must be in proportion, as ours are."""
    lows, highs = settings.by_rate("KMIN_MAP"), settings.by_rate("KMAX_MAP")
    chances = settings.by_rate("PMAX_MAP")
    own = settings.network.host_rate
    for rate in lows:
        if (
            lows[rate] * own != lows[own] * rate
            or highs[rate] * own != highs[own] * rate
            or chances[rate] != chances[own]
        ):
            raise PacketloomError(f"{settings.path}: KMIN_MAP and KMAX_MAP are not in proportion to the links' rates")
    return {
        "ecn_min": f"{lows[own] * 1000:.0f}B",
        "ecn_max": f"{highs[own] * 1000:.0f}B",
        "ecn_probability": chances[own],
    }
