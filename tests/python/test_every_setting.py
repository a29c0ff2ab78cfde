"""No setting is ignored in silence. Each parameter of each component is changed in a small scenario that uses the
component: then results differ, or the scenario is refused, or a warning names the parameter. And where a component
declares what a parameter needs, the parameter acts once that is there."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from packetloom import PacketloomError, _core
from packetloom.campaign.executor import simulation_of
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import PARTITIONED
from scenes import CORRUPTION, FILES, JOBS, MARKING, scene

Json = Any

REGISTRY: list[Json] = json.loads(_core.registry())
BY_NAME = {f"{one['section']}/{one['kind']}": one for one in REGISTRY}
TAKES_TIME = ("cpu", "wall", "prepar")

ELSEWHERE = {
    "scenario/scenario": "its sections are components of their own; its name and description change no result",
    "precision/precision": "how many seeds a campaign adds: test_precision.py",
    "run/run.precision": "the same",
    "run/run.alike": "what comparisons of results call alike: test_findings.py",
    "scheme/scheme.name": "a name",
    **{
        f"transport/{kind}.quiet_restart": "a flow seldom has nothing on its way there: tcp and others of its family do"
        for kind in ("flowtune", "mptcp")
    },
    **{
        f"transport/{kind}.quiet_restart": "its window comes from a model, which a warning says"
        for kind in ("copa", "bbr", "bbr3")
    },
    "transport/fixed-window.quiet_restart": "goes on with the initial window, which is the fixed one",
    "transport/min-tcp.quiet_restart": "a timeout that is not estimated is longer than a flow is quiet",
    "transport/prague.classic_fallback": "queues of milliseconds: tests in crates/packetloom-windowed/src/prague.rs",
    "transport/cubic.fast_convergence": "a chance of few runs: tests in crates/packetloom-windowed/src/cubic.rs",
    "transport/flowtune.timeout_threshold": "the allocator's rates keep windows from being full at a timeout",
    "transport/dcqcn.hyper_increase": "comes long after the last mark only: tests in crates/packetloom-rdma/src/dcqcn",
    **{
        f"arrivals/simai.{name}": "whether a file has such an operation is known when it is run only"
        for name in ("all_to_all", "broadcast", "reduce", "server")
    },
}
"""What is not looked for here, and why."""

CROWDED: dict[str, Json] = {"workload.1.arrivals": {"kind": "at-once", "rounds": 20}}
ELEPHANTS: dict[str, Json] = {
    "workload": [
        {
            "sizes": {"kind": "constant", "size": "20MB"},
            "arrivals": "at-once",
            "pattern": {"kind": "incast", "fan_in": 2, "receiver": 0},
        }
    ],
    "fault": None,
    "run.loads": None,
    "run.flows": None,
    "run.max_time": "200ms",
}
# One flow on a path of 90 us, all of whose first acknowledgements are lost: that of what is sent again is of all.
QUIET: dict[str, Json] = {
    "workload": [
        {
            "sizes": {"kind": "constant", "size": "60KB"},
            "arrivals": "at-once",
            "pattern": {"kind": "pair", "src": 0, "dst": 5},
        }
    ],
    "run.loads": None,
    "run.flows": 1,
    "topology.host_link": {"rate": "10Gbps", "delay": "30us"},
    "fault": [{"kind": "link-down", "between": ["host0", "leaf0"], "at": "50us", "until": "300us"}],
    "own.initial_window": 12,
    "own.min_rto": "400us",
    "own.timestamps": False,
    "own.initial_rtt": "10us",
}
LONE: dict[str, Json] = {name: QUIET[name] for name in ("workload", "run.loads", "run.flows")} | {"fault": None}
# Five large flows to a host, and room for them to wait in.
WAITING: dict[str, Json] = ELEPHANTS | {
    "workload": [
        {
            "sizes": {"kind": "constant", "size": "2MB"},
            "arrivals": "at-once",
            "pattern": {"kind": "incast", "fan_in": 5, "receiver": 0},
        }
    ],
    "scheme.0.queue": {"kind": "ndp", "capacity": "400KB", "ecn_min": "50KB", "ecn_max": "200KB"},
}
PLAIN: dict[str, Json] = {"own.file": "plain.py", "own.class": "Plain", "own.base_rtt": "2us"}
TWO_JOBS: dict[str, Json] = {
    "workload": [
        {"arrivals": {"kind": "collective", "operation": "all-reduce", "algorithm": one, "size": "100KB", "ranks": 4}}
        for one in ("ring", "direct")
    ],
    "run": {"max_time": "200ms"},
    "fault": None,
}
FOUR_STEPS: Json = {"kind": "training", **JOBS["training"], "repeat": 4}
NVLS: Json = {"kind": "nccl", "algorithm": "nvls-tree"}
TWO_RATES: dict[str, Json] = {"topology.host_link": {"rate": "40Gbps", "delay": "1us"}}

PACKAGES: dict[str, Json] = {"own.file": "packages.simai", "own.ranks": 4, "own.ranks_per_package": 2}
GO_BACK_N: dict[str, Json] = {
    "own.recovery": "go-back-n",
    "own.rto": "200us",
    "own.base_rtt": "1us",
    "own.initial_window": 50,
}

ALSO: dict[str, tuple[dict[str, Json], list[Json] | None]] = {
    "transport.max_rto": ({"own.min_rto": "30us"}, ["40us", "100us"]),
    **{f"transport/{kind}.max_rto": ({"own.backoff": True}, ["70us", "150us"]) for kind in ("fixed-window", "min-tcp")},
    "transport.quiet_restart": (QUIET, None),
    **{
        f"transport/uec.{name}": (WAITING, values)
        for name, values in (
            ("gamma", [0.1, 1.0]),
            ("max_decrease", [0.1, 0.9]),
            ("adapt_threshold", [1, 2]),
            ("adjust_every", None),
        )
    },
    "transport/uec.fast_below": ({}, ["10us", "0ns"]),
    "transport/uec.fast_increase": (LONE | {"own.initial_window": 4, "own.fast_below": "20us"}, [1.0, 0.0]),
    "transport/swift.window": (GO_BACK_N, ["bdp"]),
    "transport/swift.variable_window": (GO_BACK_N | {"own.window": "bdp", "own.initial_rate": "2Gbps"}, None),
    "transport/hpcc.variable_window": (
        {"own.variant": "hpcc-ns3", "own.window": "bdp", "own.base_rtt": "5us"},
        [False],
    ),
    "transport/swift.reset_threshold": (CROWDED, [1, 2]),
    "transport/python-telemetry.window": (PLAIN, ["bdp"]),
    "transport/python-telemetry.variable_window": (PLAIN | {"own.window": "bdp"}, None),
    "transport/python-telemetry.cnp_interval": (PLAIN | {"own.cnp": "packet"}, ["5us", "500us"]),
    **{
        f"routing/{kind}.penalty_trim": (
            CROWDED | {"scheme.0.queue": {"kind": "ndp", "capacity": "9KB"}, "scheme.0.transport": {"kind": "eqds"}},
            [1, 0, 15],
        )
        for kind in ("bitmap", "mixed")
    },
    "routing/reps.explore": (
        CROWDED | {"fault": [CORRUPTION | {"probability": 0.2, "between": ["leaf", "spine"]}], "own.freeze": "50us"},
        [1, 64],
    ),
    "routing/reps.explore_first": ({}, [4, 64]),
    "routing/conga.ageing": (CROWDED | {"own.max_age": "20us"}, None),
    "routing/conga.cap": (
        CROWDED
        | {
            "topology.host_link": {"rate": "100Gbps"},
            "own.bits": 2,
            "own.dre_alpha": 0.9,
            "own.dre_interval": "100us",
        },
        None,
    ),
    "routing/conweave.flush_default": (CROWDED, ["1us", "10us"]),
    "measure/measure.alone": (TWO_JOBS, None),
    **{
        f"arrivals/chakra.{name}": ({"own.files": f"trace-{name}", "own.groups": None}, None)
        for name in (
            "is_cpu_op",
            "control",
            "order_nodes",
            "all_gather",
            "reduce_scatter",
            "all_to_all",
            "broadcast",
            "reduce",
        )
    },
    "arrivals/chakra.all_gather_size": ({"own.files": "trace-all_gather", "own.groups": None}, None),
    "arrivals/chakra.server": (
        {"own.files": "trace-all_gather", "own.groups": None, "own.all_gather": "hierarchical", "own.server": 2},
        [1, 4],
    ),
    "arrivals/chakra.cpu_communication": (
        {"own.files": "trace-cpu_communication", "own.groups": None, "own.cpu_communication": "compute"},
        ["refuse"],
    ),
    "arrivals/chakra.repair": ({"own.files": "trace-repair", "own.groups": None, "own.repair": "keep"}, ["refuse"]),
    "arrivals/chakra.missing": (
        {"own.files": "trace-missing", "own.groups": None, "own.missing": "drop"},
        ["refuse"],
    ),
    "arrivals/simai.ranks": (PACKAGES, [2]),
    "arrivals/simai.ranks_per_package": (PACKAGES, [4, 1]),
    "queue/shared-buffer.alpha_by_rate": (
        CROWDED
        | {
            "topology.host_link": {"rate": "10Gbps"},
            "topology.link": {"rate": "40Gbps", "delay": "1us"},
            "own.buffer": "100KB",
            "own.alpha": 0.0625,
        },
        [True, False],
    ),
    "transport/mptcp.reduction": ({"own.min_rto": "200us"}, None),
    **{
        f"transport/{kind}.timeout_threshold": ({"own.min_rto": "200us"} | CROWDED, None)
        for kind in ("flowtune", "pias")
    },
    **{f"transport/vegas.{name}": (ELEPHANTS, None) for name in ("alpha", "beta", "gamma", "variant")},
    **{f"transport/copa.{name}": (ELEPHANTS, None) for name in ("delta", "competes")},
    "transport/copa.min_rtt_window": (ELEPHANTS, ["100us", "1ms"]),
    **{
        f"transport/{kind}.{name}": (ELEPHANTS, None)
        for kind in ("bbr", "bbr3")
        for name in ("startup_gain", "cwnd_gain", "pacing_margin", "send_quantum")
    },
    **{f"transport/bbr.{name}": (ELEPHANTS, None) for name in ("probe_gain", "bandwidth_window", "whole_packets")},
    "transport/bbr.min_rtt_window": (ELEPHANTS, ["1ms"]),
    "transport/bbr.probe_rtt_duration": (ELEPHANTS | {"own.min_rtt_window": "1ms"}, ["1ms", "100us"]),
    **{
        f"transport/bbr3.{name}": (ELEPHANTS | {"own.probe_wait": "500us"}, None)
        for name in ("down_gain", "loss_threshold", "beta", "headroom")
    },
    "transport/bbr3.drain_gain": (ELEPHANTS | {"scheme.0.queue": "drop-tail"}, None),
    "transport/bbr3.probe_wait": (ELEPHANTS, ["500us", "100us"]),
    "transport/bbr3.probe_rtt_interval": (ELEPHANTS, ["1ms"]),
    "transport/bbr3.probe_rtt_duration": (ELEPHANTS | {"own.probe_rtt_interval": "1ms"}, ["1ms", "100us"]),
    "transport/bbr3.min_rtt_window": (ELEPHANTS | {"own.probe_rtt_interval": "1ms"}, ["1500us", "500us"]),
    **{
        f"transport/prague.{name}": (ELEPHANTS | {"own.rtt_transition": 2}, None)
        for name in ("rtt_scaling", "rtt_target")
    },
    "transport/prague.rtt_transition": (ELEPHANTS, [2, 50]),
    "transport/cubic.reno_recovers": (ELEPHANTS | {"own.min_rto": "1ms"}, None),
    "transport/cubic.c": (ELEPHANTS | {"own.reno_friendly": False, "own.min_rto": "1ms"}, [10000, 1000]),
    "transport/pias.aging": ({"own.thresholds": ["1KB", "3KB", "9KB", "20KB", "40KB", "60KB", "90KB"]}, None),
    "transport/d3.beta": (CROWDED, None),
    "transport.ack_duplicates": ({"own.rto": None, "own.chunk": 4}, None),
    **{
        f"transport/{one}.variable_window": (
            {"own.variant": "ns3-datacenter", "own.window": "bdp", "own.base_rtt": "5us"},
            None,
        )
        for one in ("powertcp", "theta-powertcp")
    },
    **{f"transport/{one}.min_rate": ({}, ["5Gbps", "9Gbps"]) for one in ("powertcp", "theta-powertcp")},
    "transport/sird.min_window_network": ({"own.gain": 1.0}, [1.0, 0.9]),
    "transport/hpcc.pint_base": ({"own.variant": "hpcc-ns3", "own.base_rtt": "20us"}, None),
    "transport/python-rate.base_rtt": ({"own.window": "bdp"}, None),
    "transport/syn.pack": ({"own.lengths": "bimodal"}, None),
    **{
        f"transport/uec.oversubscription_{name}": ({"own.control": "rccc"}, None)
        for name in ("increase", "decrease", "target", "gain")
    },
    **{
        f"{one}.unsafe_headroom": ({"own.unsafe_headroom": True, "own.headroom": "1KB"}, [False])
        for one in ("queue/shared-buffer", "buffer/ingress", "buffer/reverie")
    },
    **{f"transport/{one}.variable_window": ({"own.initial_rate": "5Gbps"}, None) for one in ("roce", "bfc")},
    "transport/bfc.class": ({}, [0]),
    "transport/bfc.lone_packets_first": (CROWDED | {"workload.1.sizes.size": "800B"}, None),
    "transport/daq.max_queue": ({"own.interval": "20us"}, ["10us", "1us"]),
    "transport/daq.high_load": ({"own.max_queue": "5us", "own.interval": "20us"}, None),
    "transport/daq.interval": ({"own.max_queue": "5us"}, ["20us", "10us"]),
    "transport/timely.t_high": ({}, ["60us", "51us"]),
    "transport/swift.min_window": ({"own.base_target": "1us"} | CROWDED, [1.0, 0.5]),
    "connections/pool.take": ({"own.warm": 3}, None),
    "queue-pairs/pool.take": ({"own.warm": 3}, None),
    **{f"queue-pairs.{name}": ({}, ["20us", "100us"]) for name in ("req_timeout", "rep_timeout")},
    **{f"fidelity/steady.{name}": (ELEPHANTS, None) for name in ("tolerance", "round_trips", "stretch")},
    "fidelity/flows.collectives": (
        {
            "workload": TWO_JOBS["workload"],
            "run.loads": None,
            "run.flows": None,
            "run.max_time": "200ms",
            "scheme.0.routing": "spray-random",
            "fault": None,
        },
        None,
    ),
    "fidelity/flows.calibrate": (
        {
            "workload": TWO_JOBS["workload"],
            "run.loads": None,
            "run.flows": None,
            "run.max_time": "200ms",
            "scheme.0.routing": "spray-random",
            "fault": None,
        },
        None,
    ),
    **{f"fidelity/links.{name}": ({"own.flows": 1}, None) for name in ("representatives", "neighbours")},
    **{
        f"queue/ndp.{name}": (CROWDED | {"own.capacity": "1packets", "own.weight": 1}, values)
        for name, values in (("header_capacity", ["200B"]), ("service", None))
    },
    "queue/daq.query_share": ({"workload.1.pattern.query": "100B"}, None),
    **{
        f"{section}/cbfc.{name}": ({}, values)
        for section in ("queue", "flow_control")
        for name, values in (("credit_size", ["1KB", "4KB"]), ("packet_overhead", ["100B"]))
    },
    "queue/floodgate.delay_above": (CROWDED | {"topology.leaves": 4, "topology.spines": 1}, [0.0]),
    "queue/floodgate.voqs": (CROWDED, [1]),
    "queue.ecn_by_rate": (TWO_RATES, None),
    "aqm/threshold.by_rate": (TWO_RATES, None),
    "aqm/red.by_rate": (TWO_RATES, None),
    "queue/classes.port_marks": ({"scheme.0.transport": {"kind": "dctcp", "min_rto": "30us"}}, None),
    "buffer/ingress.egress_alpha": (
        {"scheme.0.queue.flow_control": {"kind": "pfc", "lossless": [2]}, "fault": None},
        [0.001, 0.01],
    ),
    "buffer/ingress.alpha_by_rate": (
        CROWDED
        | {
            "topology.host_link": {"rate": "10Gbps"},
            "topology.link": {"rate": "40Gbps", "delay": "1us"},
            "own.size": "100KB",
            "own.alpha": 0.0625,
        },
        [True, False],
    ),
    "queue/shared-buffer.egress_alpha": ({"own.lossless": [2], "own.pause_time": None, "fault": None}, [0.001, 0.01]),
    **{f"routing/permutation.{name}": (CROWDED, None) for name in ("penalty_after", "penalty_above", "penalty_rounds")},
    **{
        f"routing/{kind}.{name}": ({"own.balances": "data"}, None)
        for kind in ("conga", "drill")
        for name in ("next_hops", "ports", "destination_port")
    },
    "routing/plb.suspend": ({}, ["1us", "10us"]),
    **{
        f"fault/{kind}.job": ({"workload": [{"arrivals": FOUR_STEPS}] * 2, "own.job": 0}, [1])
        for kind in ("rank-delay", "rank-slow", "rank-fail")
    },
    # Whichever fails, all stop; but not all are of the same copy of the model.
    "fault/rank-fail.rank": ({"own.then": "without-replica"}, [2, 4]),
    "fault/link-degraded.learn_after": ({"scheme.0.routing": "conga"}, None),
    "library/nccl.algorithm": ({"workload.0.arrivals.operation": "all-reduce", "own.mode": "tuner"}, None),
    "library/nccl.nvls": (
        {"workload.0.arrivals.operation": "all-reduce", "workload.0.arrivals.size": "100MB", "own.mode": "tuner"},
        None,
    ),
    "library/nccl.generation": (
        {"workload.0.arrivals.operation": "all-reduce", "workload.0.arrivals.size": "100MB", "own.mode": "tuner"},
        ["ampere", "blackwell"],
    ),
    "scheduler/dual-queue.l4s": ({"scheme.0.transport": {"kind": "dctcp", "min_rto": "30us"}}, None),
    "aqm/dualpi2.overload": (ELEPHANTS | {"own.alpha": 100000.0, "own.beta": 100000.0}, None),
    "aqm/dualpi2.mark_above_packets": ({"own.mark_above": None}, [1, 2]),
    "scheduler/strict.classes": (ELEPHANTS | {"scheme.0.transport": "pias", "own.classes": 8}, [2]),
    "library/nccl.pxn": ({"workload.0.arrivals.operation": "all-to-all"}, None),
    "library/nccl.pat": (
        {"topology.servers": 16, "topology.accelerators": 1, "workload.0.arrivals.size": "1KB", "own.mode": "tuner"},
        [False],
    ),
    "topology/leaf-spine.oversubscription": ({"own.spines": None}, [1, 3]),
    "topology/rail-optimised.reduction": (
        {
            "own.scale_up": {"rate": "100Gbps", "delay": "0.2us"},
            "own.reduction": "200Gbps",
            "workload": [
                {"arrivals": {"kind": "collective", "operation": "all-reduce", "size": "1MB", "library": NVLS}}
            ],
            "run": {"max_time": "200ms"},
            "fault": None,
        },
        ["5Gbps"],
    ),
    "library/nccl.nvlinks": (
        {"workload.0.arrivals.ranks": 2, "workload.0.arrivals.size": "100MB", "own.mode": "tuner"},
        [4, 1],
    ),
    "library/nccl.min_channels": ({"own.max_channels": 64}, [32]),
    "arrivals/serving.speed": (
        {"own.file": "requests.csv", **{f"own.{key}": None for key in ("rate_per_second", "prompt", "answer")}},
        None,
    ),
    "model/model.hidden": ({"workload.0.arrivals.all_reduce": "messages"}, None),
    "arrivals/training.all_to_all": ({"own.experts": 3}, None),
    "measure.flows_interval": ({"own.flows": [1, 2]}, None),
}
"""What a scenario needs beside a component's scene for a parameter to have something to do, by keys of the scenario or
of the component (`own.`), and values to try; such things are chances of a run, and nobody's mistake."""


def alternatives(section: str, param: Mapping[str, Json]) -> list[Json]:
    """Other values of a parameter; none of a text, which names something."""
    name, kind, default = param["name"], param["kind"], param["default"]
    if (values := VALUES.get(f"{section}.{name}")) is not None:
        return values
    if param["section"]:
        return list(_components(param["section"], default))
    match kind.split()[:2]:
        case ["a", "time" | "time,"]:
            return _scaled(default) or ["1us", "30us", "300us", "2ms", "10ns"]
        case ["a", "size" | "size,"]:
            return _scaled(default) or ["20B", "3KB", "20KB", "300KB", "1B"]
        case ["a", "rate" | "rate,"]:
            return _scaled(default) or ["5Gbps", "1Gbps", "100Mbps"]
        case ["a", "whole"]:
            least = int(found[1]) if (found := re.search(r"at least (\d+)", kind)) else 0
            usual = int(default) if default else least + 1
            return [one for one in (usual + 1, usual * 2, usual // 2, 1) if one >= least and str(one) != default]
        case ["a", "number"]:
            return _numbers(kind, default)
        case ["true", "or"]:
            return [default != "true"]
        case ["one", "of"]:
            return [one for one in kind.removeprefix("one of ").split(", ") if one != default]
    return []


VALUES: dict[str, list[Json]] = {
    "topology.switch_delays": [["1us", "2us", "3us"], ["1us", "2us"], ["1us"]],
    **{
        f"topology.{name}": [{"rate": "5Gbps"}, {"delay": "2us"}]
        for name in ("core_link", "link", "host_link", "bottleneck", "global_link")
    },
    "topology.scale_up": [{"rate": "100Gbps", "delay": "0.2us"}],
    "transport.thresholds": [["1KB", "10KB"]],
    "transport.cutoffs": [["1KB", "10KB", "20KB"]],
    "transport.weights": [[1, 5, 2]],
    "queue.weights": [[1, 5]],
    "scheduler.weights": [[1, 5]],
    "buffer.alphas": [[0.1], [4]],
    "queue.lossless": [[1], [2], [5], []],
    "queue.port": [{"kind": "drop-tail", "capacity": "12KB"}],
    "queue.queue": [{"kind": "drop-tail", "capacity": "9KB"}],
    "arrivals.placement": [[5, 4, 3, 2, 1, 0], [3, 2, 1, 0], [5, 4, 3, 2, 1], [1, 0]],
    "sizes.name": ["web-search"],
    "tokens.points": [[[60, 0.2], [200, 1]]],
    "sizes.points": [[[0, 0], [2000, 0.5], [50000, 1]]],
    "measure.flows": [[1, 2]],
    "measure.capture": [["leaf0 to spine0"]],
    "routing.weights": [[{"port": "leaf to spine0", "weight": 2}]],
    "weight.port": ["leaf to spine1"],
    "fault.between": [["leaf1", "spine1"], ["leaf0", "spine1"]],
    "fault.node": ["spine1"],
    "fault.host": ["host1"],
    "run.loads": [[0.4]],
    "run.seeds": [[2]],
    "scheme.queue": [{"kind": "drop-tail", "capacity": "12KB"}],
    "scheme.nic": [MARKING, {"kind": "drop-tail", "capacity": "9KB"}],
    "scheme.transport": [{"kind": "cubic"}],
    "scheme.routing": [{"kind": "spray-random"}],
}


def _components(section: str, default: str | None) -> Iterator[Json]:
    """Those of a section that need no more than values that are made up here."""
    for one in REGISTRY:
        if one["section"] != section or one["kind"] == default:
            continue
        required = [param for param in one["params"] if param["required"]]
        values = {param["name"]: alternatives(section, param)[:1] for param in required}
        if all(values.values()):
            kind = {} if one["kind"] == section else {"kind": one["kind"]}
            yield kind | {name: value for name, (value,) in values.items()}


def _scaled(default: str | None) -> list[Json]:
    """Twice, half, a tenth and a hundredth of an amount with its unit."""
    found = re.fullmatch(r"([\d.]+)\s*(\w+)", default or "")
    if not found or not float(found[1]):
        return []
    amount, unit = float(found[1]), found[2]
    whole = unit in ("B", "packets")
    scaled = [amount * factor for factor in (2, 0.5, 0.1, 0.01)]
    return list(dict.fromkeys(f"{max(1, round(one)) if whole else format(one, 'g')}{unit}" for one in scaled))


def _numbers(kind: str, default: str | None) -> list[Json]:
    bounds = re.match(r"a number from (\S+) to (\S+)", kind)
    assert bounds is not None
    least, most = float(bounds[1]), float(bounds[2])
    usual = float(default) if default else None
    tried = [usual * 2, usual / 2, usual * 0.9] if usual is not None else []
    tried += [(least + min(most, least + 10)) / 2, least, min(most, least + 2), 1.5, 2]
    return [one for one in dict.fromkeys(tried) if least <= one <= most and one != usual]


@cache
def outcome(text: str) -> tuple[str, tuple[str, ...]]:
    """What came of a scenario, as a hash of all of its results, or "" if it is refused; and the warnings."""
    try:
        plan = read_plan(json.loads(text))
        core = simulation_of(plan.cases[0]).run(1)
    except PacketloomError:
        return "", ()
    found = hashlib.sha1(core.fingerprint.encode(), usedforsecurity=False)
    counters = {name: value for name, value in core.counters.items() if not name.startswith(TAKES_TIME)}
    found.update(json.dumps(counters, sort_keys=True).encode())
    for table in PARTITIONED:
        for name, column in sorted(getattr(core, table).items()):
            found.update(name.encode())
            found.update(column.tobytes() if isinstance(column, np.ndarray) else repr(column).encode())
    return found.hexdigest(), (*plan.warnings, *plan.cases[0].doubts, *core.warnings)


def at(made: Json, where: list[str | int]) -> Json:
    for key in where:
        made = made[key]
    return made


def put(made: Json, where: list[str | int], key: str, value: Json) -> None:
    """Sets a dotted key of the component (`own.`) or the scenario; numbers are places in lists; None takes it out."""
    *path, last = key.split(".")
    inside = at(made, where) if path[:1] == ["own"] else made
    for name in path[1 if path[:1] == ["own"] else 0 :]:
        inside = inside[int(name)] if isinstance(inside, list) else inside.setdefault(name, {})
    if value is None:
        inside.pop(last, None)
    else:
        inside[last] = value


def fate(made: Json, where: list[str | int], name: str, values: list[Json]) -> str:
    """What becomes of a parameter's other values: "differs", "warned", "refused" or "ignored"."""
    before, _ = outcome(json.dumps(made))
    assert before, "the scene itself is refused"
    found = "refused"
    for value in values:
        changed = copy.deepcopy(made)
        if at(changed, where).get(name) == value:
            continue
        at(changed, where)[name] = value
        after, warnings = outcome(json.dumps(changed))
        if after and any(f".{name}: " in warning for warning in warnings):
            return "warned"
        if after and after != before:
            return "differs"
        found = "ignored" if after else found
    return found


def beside(param: Mapping[str, Json]) -> dict[str, Json]:
    """What a component says that a parameter needs, as far as it is other parameters of its own."""
    keys = {}
    for need in param["needs"]:
        if "is" in need:
            word = need["is"][0]
            keys[f"own.{need['key']}"] = {"true": True, "false": False}.get(word, word)
        elif "above" in need:
            keys[f"own.{need['key']}"] = SET.get(need["key"], need["above"] + 1)
        elif "key" in need:
            keys[f"own.{need['key']}"] = SET[need["key"]]
    return keys


SET: dict[str, Json] = {
    "ecn_min": "5KB",
    "pause_time": "50us",
    "scale_up": {"rate": "100Gbps", "delay": "0.2us"},
    "file": "requests.csv",
    "pool": "60KB",
    "query": "100B",
    "oversubscription": 2,
    "clock_error": "1us",
    "loss": 0.3,
    "ack_every": 4,
    "port": MARKING | {"mark_above": "1packets"},
}
"""Values of parameters that others need."""


REFUSED = (
    "queue/shared-buffer.unsafe_headroom",
    "buffer/ingress.unsafe_headroom",
    "buffer/reverie.unsafe_headroom",
    *(f"arrivals/chakra.{name}" for name in ("cpu_communication", "missing", "repair")),
)
"""Parameters that allow what is refused otherwise, by other values than theirs."""


@pytest.fixture(scope="module", autouse=True)
def _files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    place = tmp_path_factory.mktemp("drawn")
    for name, content in FILES.items():
        (place / name).write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        yield


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in ELSEWHERE])
def test_no_parameter_is_ignored(name: str) -> None:
    component = BY_NAME[name]
    section, kind = component["section"], component["kind"]
    wrong = []
    for param in component["params"]:
        full = f"{name}.{param['name']}"
        if full in ELSEWHERE or param["kind"] == "text":
            continue
        values = alternatives(section, param)
        also, others = ALSO.get(full) or ALSO.get(f"{section}.{param['name']}") or ({}, None)
        made, where = scene(section, kind)
        if not also and fate(made, where, param["name"], others or values) == "ignored":
            wrong.append(f"{param['name']}: ignored")
        needed = beside(param) | also
        if needed:
            for key, value in needed.items():
                put(made, where, key, value)
            # The scene itself runs: where it does no more, that is by this parameter.
            acts = ("differs", "refused") if full in REFUSED else ("differs",)
            if (found := fate(made, where, param["name"], others or values)) not in acts:
                wrong.append(f"{param['name']}: {found} with {needed}")
    assert not wrong, "\n".join(wrong)


def test_what_is_left_out_here_is_there() -> None:
    params = {f"{name}.{param['name']}" for name, one in BY_NAME.items() for param in one["params"]}
    assert set(ELSEWHERE) <= params | set(BY_NAME)
    sections = {f"{one['section']}.{param['name']}" for one in REGISTRY for param in one["params"]}
    assert set(ALSO) <= params | sections
