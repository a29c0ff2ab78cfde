"""A small scenario for each component, in which it is used: under load, with losses, marks and deadlines, so that as
much of it as possible has something to do."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

Json = Any
Where = list[str | int]

CLASSES = Path(__file__).parent / "schemes"
CORRUPTION = {"kind": "corruption", "probability": 0.01}
LOSSLESS = {"kind": "shared-buffer", "buffer": "300KB", "ecn_min": "5KB", "ecn_max": "20KB", "pause_time": "50us"}
MARKING = {"kind": "ecn", "capacity": "30KB", "mark_above": "9KB"}
SMALL = {"kind": "drop-tail", "capacity": "30KB"}
TRIMMING = {"kind": "ndp", "capacity": "36KB", "ecn_min": "7.5KB", "ecn_max": "29KB"}
SYMMETRIC = {"kind": "ecmp", "symmetric": True}
PYTHON = {
    "transport/python": ("classes.py", "Dctcp"),
    "transport/python-rate": ("rates.py", "Dcqcn"),
    "transport/python-telemetry": ("rates.py", "Hpcc"),
    "queue/python": ("queues.py", "Marking"),
    "routing/python": ("paths.py", "Plb"),
}

# What each transport runs over: its queue, and its routing if that is not ECMP.
OVER: dict[str, tuple[Json, Json]] = {
    **dict.fromkeys(
        ("tcp", "cubic", "vegas", "copa", "bbr", "bbr3", "fixed-window", "flowtune", "mptcp"), (SMALL, None)
    ),
    **dict.fromkeys(("dctcp", "d2tcp", "prague", "python"), (MARKING, None)),
    **dict.fromkeys(
        ("min-tcp", "line-rate", "fastpass"), ({"kind": "pfabric", "capacity": "15KB"}, "spray-round-robin")
    ),
    **dict.fromkeys(
        (
            "roce",
            "dcqcn",
            "timely",
            "hpcc",
            "powertcp",
            "theta-powertcp",
            "swift",
            "rdma-dctcp",
            "python-rate",
            "python-telemetry",
        ),
        (LOSSLESS, None),
    ),
    **dict.fromkeys(("rcp", "d3", "pdq"), ({"kind": "drop-tail", "capacity": "60KB"}, SYMMETRIC)),
    "phost": ({"kind": "pfabric", "capacity": "36KB"}, "spray-random"),
    "pias": ({"kind": "classes", "strict": 8, "queue": "drop-tail", "port": MARKING | {"capacity": "60KB"}}, None),
    "homa": ({"kind": "classes", "strict": 8, "queue": "drop-tail"}, "spray-random"),
    "dcpim": (
        {
            "kind": "classes",
            "strict": 8,
            "queue": "drop-tail",
            "port": {"kind": "drop-tail", "capacity": "60KB"},
        },
        "spray-round-robin",
    ),
    "expresspass": ("credit-limiter", SYMMETRIC),
    "sird": ({"kind": "classes", "strict": 2, "queue": "drop-tail", "port": MARKING}, "spray-random"),
    "bfc": ({"kind": "bfc", "queues": 3, "buffer": "6KB"}, None),
    "ndp": ("ndp", "permutation"),
    "daq": ("daq", SYMMETRIC),
    "numfabric": ("weighted-fair", SYMMETRIC),
    "eqds": ("ndp", "bitmap"),
    "uec": (TRIMMING, "reps"),
    "syn": ("drop-tail", "controller"),
    "asy": ("drop-tail", None),
}
# Models without packets, or without losses that they could repair; and what no RESUME may get lost of.
UNHARMED = ("ideal", "max-min", "syn", "asy", "daq", "bfc")

# What a component's scene sets on it, beyond what it must have.
OF_TRANSPORT: dict[str, Json] = {
    **{key: {"min_rto": "30us"} for key in ("tcp", "dctcp", "d2tcp", "pias", "python", "mptcp", "flowtune", "cubic")},
    **{key: {"min_rto": "30us"} for key in ("vegas", "copa", "bbr", "bbr3", "prague")},
    **{key: {"min_rto": "60us"} for key in ("fixed-window", "min-tcp")},
    **{
        key: {"rto": "200us"}
        for key in ("roce", "dcqcn", "timely", "hpcc", "powertcp", "theta-powertcp", "rdma-dctcp", "python-rate", "bfc")
    },
    "python-telemetry": {"rto": "200us"},
}
OF_QUEUE: dict[str, Json] = {
    "drop-tail": SMALL,
    "ecn": MARKING,
    "red": {"capacity": "60KB", "min": "5KB", "max": "30KB", "max_probability": 0.1},
    "classes": {"weights": [2, 1], "queue": {"kind": "drop-tail", "capacity": "15KB"}},
    "shared-buffer": LOSSLESS,
    "cbfc": {"lossless": [1], "credits": "16KB", "ecn_min": "5KB", "ecn_max": "20KB"},
    "ndp": {"ecn_min": "7.5KB", "ecn_max": "29KB"},
    "bfc": {"queues": 3},
    "floodgate": {"window": 0.5, "credit_every": "2us", "queue": LOSSLESS},
    "egress": {"scheduler": "fair-queueing", "aqm": "sojourn", "buffer": {"kind": "private", "capacity": "30KB"}},
}
OF_PART: dict[str, Json] = {
    "strict": {"classes": 2},
    "dwrr": {"weights": [2, 1]},
    "fair-queueing": {"queues": 4},
    "threshold": {"mark_above": "9KB"},
    "red": {"min": "3KB", "max": "20KB", "max_probability": 0.2},
    "codel": {"target": "5us", "interval": "30us"},
    "pie": {"target": "5us", "update": "10us", "max_burst": "50us", "alpha": 1250.0, "beta": 12500.0},
    "dualpi2": {"target": "5us", "update": "6us", "alpha": 500.0, "beta": 10000.0, "mark_above": "8us"},
    "sojourn": {"mark_above": "8us"},
    "selective-drop": {"drop_above": "3KB"},
    "pool": {"size": "60KB"},
    "abm": {"size": "60KB", "interval": "5us", "saturation": "6KB"},
    "private": {"capacity": "30KB"},
    "ingress": {"size": "300KB"},
    "reverie": {"size": "300KB", "gamma": 0.5},
    "pfc": {"pause_time": "50us"},
    "cbfc": {"credits": "16KB"},
}
UNDER_QUEUE = {
    "credit-limiter": "expresspass",
    "pfabric": "line-rate",
    "ndp": "uec",
    "daq": "daq",
    "shared-buffer": "dcqcn",
    "floodgate": "dcqcn",
    "weighted-fair": "numfabric",
    "bfc": "bfc",
}
UNDER_QUEUE |= dict.fromkeys(("ecn", "red", "cbfc", "python", "egress"), "dctcp")
UNDER_ROUTING = {"permutation": "ndp", "controller": "syn"}
UNDER_ROUTING |= dict.fromkeys(("oblivious", "bitmap", "reps", "reps-legacy", "mixed", "python"), "uec")
UNDER_ROUTING |= dict.fromkeys(("conweave", "letflow", "conga", "drill"), "dcqcn")
OF_ROUTING: dict[str, Json] = {
    "wcmp": {"weights": [{"port": "leaf to spine0", "weight": 3}]},
    "hedera": {"interval": "200us", "delay": "50us"},
    **{key: {"entropies": 4} for key in ("bitmap", "mixed")},
    "reps": {"entropies": 16},
    **{key: {"flowlet_gap": "20us"} for key in ("conga", "letflow")},
}
OF_TOPOLOGY: dict[str, Json] = {
    "fat-tree": {"k": 4},
    "leaf-spine": {"spines": 2, "leaves": 2, "hosts_per_leaf": 3},
    "rack": {"hosts": 6},
    "dumbbell": {},
    "clos": {"pods": 2, "leaves": 2, "hosts_per_leaf": 2},
    "rail-optimised": {"servers": 4, "accelerators": 2, "servers_per_rail_switch": 2},
    "dragonfly": {"routers": 2, "global_links": 1, "groups": 3},
    "hpcc": {"file": "drawn.hpcc-topology"},
    "htsim": {"file": "drawn.topo"},
}
EDGE = {"fat-tree": "edge", "rack": "switch", "dumbbell": "switch", "hpcc": "switch", "rail-optimised": "rail"}
EDGE |= {"dragonfly": "router", "htsim": "tor"}
OF_SIZES: dict[str, Json] = {
    "cdf": {"points": [[0, 0], [1000, 0.3], [50000, 1]]},
    "constant": {"size": "20KB"},
    "uniform": {"minimum": "1KB", "maximum": "50KB"},
    "exponential": {"mean": "20KB"},
    "pareto": {"shape": 1.2, "minimum": "2KB", "maximum": "300KB"},
}
OF_DEADLINES: dict[str, Json] = {
    "fixed": {"after": "200us"},
    "uniform": {"minimum": "50us", "maximum": "1ms"},
    "exponential": {"mean": "300us"},
}
OF_PATTERN: dict[str, Json] = {"incast": {"fan_in": 3}, "outcast": {"fan_out": 3}, "pair": {"src": 0, "dst": 5}}
OF_PROCESSING: dict[str, Json] = {
    "fixed": {"time": "1us"},
    "uniform": {"minimum": "1us", "maximum": "2us"},
    "exponential": {"mean": "1us", "maximum": "3us"},
}
OF_FAULT: dict[str, Json] = {
    "corruption": {"probability": 0.01, "between": ["leaf", "spine"]},
    "link-down": {"between": ["leaf0", "spine0"], "at": "100us", "until": "1ms"},
    "link-degraded": {"between": ["leaf0", "spine0"], "rate": "1Gbps", "at": "100us", "until": "1ms"},
    "switch-down": {"node": "spine0", "at": "100us", "until": "1ms"},
    "slow-receiver": {"host": "host0", "rate": "1Gbps", "at": "100us", "until": "1ms"},
    "rank-delay": {"rank": 1, "by": "20us", "until": "1500us"},
    "rank-slow": {"rank": 1, "factor": 2.0, "at": "20us", "until": "200us"},
    "rank-fail": {"rank": 1, "at": "200us", "then": "restart", "after": "50us"},
}
JOBS: dict[str, Json] = {
    "collective": {"operation": "all-reduce", "algorithm": "ring", "size": "100KB", "ranks": 4},
    "training": {
        "tensor": 2,
        "data": 3,
        "layers": 2,
        "forward": "10us",
        "backward": "20us",
        "activations": "20KB",
        "gradients": "60KB",
        "microbatches": 2,
    },
    "moe": {"experts": 4, "tokens": 64, "bytes_per_token": "512B", "compute": "5us", "ranks": 4},
    "kv-cache": {
        "prefill": 2,
        "decode": 3,
        "requests": 3,
        "size": "100KB",
        "prefill_time": "20us",
        "decode_time": "20us",
    },
    "perftest": {"size": "3KB", "messages": 20, "outstanding": 4, "pairs": 2},
    "goal": {"file": "drawn.goal"},
    "chakra": {"files": "drawn", "groups": "drawn-groups.json"},
    "simai": {"file": "drawn.simai"},
}
SERVING: Json = {
    "requests": 12,
    "rate_per_second": 20000.0,
    "prompt": {"kind": "lognormal", "median": 100, "sigma": 0.5, "most": 400},
    "answer": {"kind": "lognormal", "median": 5, "sigma": 0.5, "most": 20},
    "model": {"layers": 2, "kv_heads": 2, "head_size": 32},
    "prefill": {"instances": 2, "tensor": 1, "base": "20us", "per_token": "1us"},
    "decode": {"instances": 1, "tensor": 2, "memory": "200KB", "base": "50us", "per_answer": "1us"},
}
OF_TOKENS: dict[str, Json] = {
    "fixed": {"tokens": 100},
    "lognormal": {"median": 100, "sigma": 0.5, "most": 400},
    "cdf": {"points": [[50, 0.2], [200, 1]]},
}
OF_LIBRARY: dict[str, Json] = {"nccl": {"generation": "hopper"}}
FLOW_LISTS = {"list": "drawn.csv", "hpcc": "drawn.hpcc-flows", "htsim": "drawn.cm"}


def _trace(*nodes: dict[str, Json]) -> str:
    """What a rank does: computes, or takes part in an all-reduce, in nodes of the GPU; but for what they say."""
    graph = []
    for number, said in enumerate(nodes, 1):
        usual = {"NodeType": 7, "comm_type": 0, "comm_size": 40000} if "runtime" not in said else {"NodeType": 4}
        graph.append({"Id": number, "Name": f"node {number}", "is_cpu_op": False, "data_deps": []} | usual | said)
    return json.dumps({"workload_graph": [{key: it for key, it in node.items() if it is not None} for node in graph]})


_COMPUTE: dict[str, Json] = {"runtime": 3}
_REDUCE = _trace(_COMPUTE, {"data_deps": [1]})
# Each has something for the parameter of its name to decide.
_TRACES = {
    "is_cpu_op": _trace({"runtime": 3, "is_cpu_op": None}, {"runtime": 3, "is_cpu_op": None}, {"data_deps": [1, 2]}),
    "cpu_communication": _trace(
        _COMPUTE,
        {"data_deps": [1], "runtime": 5, "is_cpu_op": True, "NodeType": 7} | {"comm_type": 0, "comm_size": 40000},
    ),
    "control": _trace({"runtime": 50}, {"ctrl_deps": [1]}),
    "missing": _trace(_COMPUTE, {"data_deps": [1, 99]}),
    "order_nodes": _trace(
        {"start_time_micros": 9, "comm_size": 400000}, {"start_time_micros": 1}, {"data_deps": [1, 2], "runtime": 80}
    ),
    "repair": _trace({"start_time_micros": 9}, {"start_time_micros": 1}, {"data_deps": [1], "runtime": 80}),
    **{
        name: _trace(_COMPUTE, {"data_deps": [1], "comm_type": number})
        for name, number in (
            ("reduce", 1),
            ("all_gather", 2),
            ("broadcast", 5),
            ("all_to_all", 6),
            ("reduce_scatter", 7),
        )
    },
}
_TIER = "Downlink_speed_Gbps 10\nRadix_Down {}\n{}Downlink_Latency_ns 400\nBundle 1\n"
FILES = {
    "drawn.hpcc-topology": "8 2 7\n6 7\n"
    + "".join(f"{host} {6 + host // 3} 10Gbps 1000ns 0\n" for host in range(6))
    + "6 7 40Gbps 1000ns 0\n",
    "drawn.topo": "Nodes 16\nTiers 3\nPodsize 4\nTier 0\n"
    + _TIER.format(2, "Radix_Up 2\n")
    + "Tier 1\n"
    + _TIER.format(2, "Radix_Up 2\n")
    + "Tier 2\n"
    + _TIER.format(4, ""),
    "drawn.csv": "src,dst,size_bytes,start_ns\n0,1,20000,0\n1,0,3000,1000.5\n3,2,100,1000.5\n",
    "drawn.hpcc-flows": "3\n0 1 3 100 20000 0.000001\n1 2 3 100 1000 0.000002\n3 0 3 100 50000 0.000002\n",
    "requests.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,100,5\n"
    "2023-11-16 18:17:03.9799900,200,3\n2023-11-16 18:17:03.9800100,50,8\n",
    "drawn.cm": "Nodes 4\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 20000 send_done_trigger 1\n"
    "2->3 id 2 trigger 1 size 3000\n1->2 id 3 start 20 size 3000\ntrigger id 1 oneshot\n",
    "drawn.goal": "num_ranks 4\nrank 0 {\na: send 3000b to 1 tag 1\nb: recv 500b from -1 tag 2\nb requires a\n"
    "c: calc 900 cpu 1\nc irequires b\n}\nrank 1 {\nr: recv 3000b from 0 tag -1\ns: calc 2000\ns requires r\n"
    "t: send 500b to 0 tag 2\nt requires s\n}\nrank 2 {\nsend 20000b to 3 cpu 1\n}\nrank 3 {\nrecv 20000b from 2\n}\n",
    "drawn.0.json": _REDUCE,
    "drawn.1.json": _REDUCE,
    **{f"trace-{name}.{rank}.json": trace for name, trace in _TRACES.items() for rank in range(4)},
    "drawn-groups.json": '{"0": [0, 1]}',
    "packages.simai": "HYBRID_DATA_MODEL\n2\none -1 1000 ALLREDUCE 30000 1000 NONE 0 1000 ALLREDUCE 50000 100\n"
    "two -1 1000 ALLGATHER 30000 1000 NONE 0 1000 ALLREDUCE 30000 100\n",
    "plain.py": "from packetloom.schemes import Answer, Pace, TelemetryControl\n\n\nclass Plain(TelemetryControl):\n"
    "    ecn = True\n\n    def answered(self, answer: Answer, pace: Pace) -> None:\n"
    "        pace.rate_bps = max(pace.rate_bps * 0.99, 1e9)\n",
    "drawn.simai": "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 "
    "checkpoints: 0 checkpoint_initiates: 0\n2\none -1 1000 ALLREDUCE 30000 1000 NONE 0 1000 ALLREDUCE 50000 100\n"
    "two -1 1000 ALLGATHER 30000 1000 REDUCESCATTER 30000 1000 NONE 0 100\n",
}
"""Beside the scenarios."""


def _base() -> Json:
    return {
        "topology": {"kind": "leaf-spine", **OF_TOPOLOGY["leaf-spine"], "link": {"rate": "10Gbps", "delay": "1us"}},
        "workload": [
            {
                "sizes": {"kind": "uniform", "minimum": "1KB", "maximum": "120KB"},
                "deadlines": {"kind": "uniform", "minimum": "100us", "maximum": "2ms"},
            },
            {
                "sizes": {"kind": "constant", "size": "20KB"},
                "arrivals": {"kind": "at-once", "rounds": 2},
                "pattern": {"kind": "incast", "fan_in": 4},
                "class": 1,
            },
        ],
        "scheme": [{"name": "any"}],
        "run": {"loads": [0.8], "flows": 60, "max_time": "20ms"},
        "fault": [CORRUPTION | {"between": ["leaf", "spine"]}],
    }


def _with_transport(kind: str, queue: Json = None) -> Json:
    scene = _base()
    of_queue, routing = OVER.get(kind, (None, None))
    scheme = scene["scheme"][0]
    scheme["transport"] = _class("transport", kind) | OF_TRANSPORT.get(kind, {})
    if (queue or of_queue) is not None:
        scheme["queue"] = copy.deepcopy(queue or of_queue)
        scheme["routing"] = copy.deepcopy(routing or {"kind": "ecmp"})
    if kind in UNHARMED:
        del scene["fault"]
    if kind in ("syn", "asy", "ideal", "max-min"):
        scene["topology"]["spines"] = 3
    if kind == "daq":
        scene["workload"][0]["deadlines"] = {"kind": "uniform", "minimum": "1ms", "maximum": "40ms"}
    queues = scheme.get("queue")
    one_class = isinstance(queues, dict) and "weights" in queues
    if kind in ("flowtune", "numfabric") or one_class or queue:
        return scene
    scene["workload"][1]["class"] = 0
    return scene


def _class(section: str, kind: str) -> dict[str, Json]:
    if (place := PYTHON.get(f"{section}/{kind}")) is None:
        return {"kind": kind}
    return {"kind": kind, "file": str(CLASSES / place[0]), "class": place[1]}


def scene(section: str, kind: str) -> tuple[Json, Where]:
    """The scenario, and where in it the component stands."""
    match section:
        case "transport":
            return _with_transport(kind), ["scheme", 0, "transport"]
        case "queue":
            queue = _class("queue", kind) | OF_QUEUE.get(kind, {})
            made = _with_transport(UNDER_QUEUE.get(kind, "tcp"), queue)
            if kind in ("cbfc", "floodgate"):
                del made["fault"]
            return made, ["scheme", 0, "queue"]
        case "scheduler" | "aqm" | "buffer" | "flow_control":
            return _of_egress(section, kind)
        case "routing" | "weight":
            return _of_routing("wcmp" if section == "weight" else kind, section)
        case "connections" | "queue-pairs" | "lengths":
            made = _with_transport({"connections": "tcp", "queue-pairs": "roce", "lengths": "syn"}[section])
            key = "lengths" if section == "lengths" else "connections"
            made["scheme"][0]["transport"][key] = {"kind": kind}
            made["run"]["max_time"] = "200ms"
            return made, ["scheme", 0, "transport", key]
        case "deadlines":
            made = _with_transport("d2tcp")
            made["workload"][0]["deadlines"] = {"kind": kind, **OF_DEADLINES.get(kind, {})}
            return made, ["workload", 0, "deadlines"]
        case "arrivals":
            return _of_arrivals(kind)
        case "tokens" | "model" | "prefill" | "decode":
            made, where = _of_arrivals("serving")
            arrivals = made["workload"][0]["arrivals"]
            if section == "tokens":
                arrivals["prompt"] = {"kind": kind, **OF_TOKENS[kind]}
            return made, [*where, "prompt" if section == "tokens" else section]
        case "library":
            made = _of_arrivals("collective")[0]
            arrivals = {"kind": "collective", "operation": "all-gather", "size": "1MB"}
            made["workload"] = [{"arrivals": arrivals | {"library": {"kind": kind, **OF_LIBRARY.get(kind, {})}}}]
            made["topology"] = {"kind": "rail-optimised", "servers": 4, "accelerators": 2}
            return made, ["workload", 0, "arrivals", "library"]
        case "fault":
            made = _with_transport("dcqcn" if kind == "slow-receiver" else "tcp")
            made["fault"] = [{"kind": kind, **OF_FAULT[kind]}]
            if kind.startswith("rank-"):
                training = {"kind": "training", **JOBS["training"], "repeat": 4}
                made |= {"workload": [{"arrivals": training}], "run": {"max_time": "200ms"}}
            return made, ["fault", 0]
    return _of_tcp(section, kind)


def _of_egress(section: str, kind: str) -> tuple[Json, Where]:
    parts = {
        "scheduler": {"kind": "fifo"},
        "aqm": {"kind": "codel", **OF_PART["codel"]},
        "buffer": {"kind": "private", "capacity": "30KB"},
    }
    if kind in ("dual-queue", "dualpi2"):
        parts["scheduler"] = {"kind": "dual-queue"}
    if kind in ("ingress", "reverie", "pfc"):
        others = {"scheduler": "strict", "aqm": "red", "buffer": "ingress", "flow_control": "pfc"}
        parts = {part: {"kind": other, **OF_PART.get(other, {})} for part, other in others.items()}
        parts["scheduler"]["classes"] = 8
    if kind == "cbfc":
        parts["scheduler"] = {"kind": "strict"}
        parts["aqm"] = {"kind": "red", **OF_PART["red"]}
    parts[section] = {"kind": kind, **OF_PART.get(kind, {})}
    under = {
        "selective-drop": "expresspass",
        "pfabric": "line-rate",
        "dual-queue": "prague",
        "dualpi2": "prague",
        "ingress": "dcqcn",
        "reverie": "dcqcn",
        "pfc": "dcqcn",
        "cbfc": "dcqcn",
    }
    made = _with_transport(under.get(kind, "dctcp"), {"kind": "egress", **parts})
    if kind == "selective-drop":
        made["scheme"][0]["transport"]["aeolus"] = True
    if kind == "cbfc":
        # A lost credit would never come back.
        made.pop("fault", None)
    return made, ["scheme", 0, "queue", section]


def _of_routing(kind: str, section: str) -> tuple[Json, Where]:
    made = _with_transport(UNDER_ROUTING.get(kind, "dctcp"))
    scheme = made["scheme"][0]
    if kind == "conweave":
        scheme["transport"]["recovery"] = "irn"
        del scheme["transport"]["rto"]
    scheme["routing"] = _class("routing", kind) | copy.deepcopy(OF_ROUTING.get(kind, {}))
    inner: Where = ["weights", 0] if section == "weight" else []
    return made, ["scheme", 0, "routing", *inner]


def _of_arrivals(kind: str) -> tuple[Json, Where]:
    made = _with_transport("dctcp")
    where: Where = ["workload", 0, "arrivals"]
    if kind in JOBS:
        del made["fault"]
        made |= {"workload": [{"arrivals": {"kind": kind, **JOBS[kind]}}], "run": {"max_time": "200ms"}}
        return made | {"measure": {"operations": True}}, where
    if kind == "serving":
        del made["fault"]
        made |= {"workload": [{"arrivals": {"kind": kind, **copy.deepcopy(SERVING)}}], "run": {"max_time": "200ms"}}
        return made, where
    if kind in FLOW_LISTS:
        unit = {"start_unit": "ps"} if kind == "htsim" else {}
        made |= {
            "workload": [{"arrivals": {"kind": kind, "file": FLOW_LISTS[kind], **unit}}],
            "run": {"max_time": "20ms"},
        }
        return made, where
    made["workload"][0]["arrivals"] = {"kind": kind}
    if kind in ("at-once", "closed"):
        del made["run"]["loads"]
    if kind == "closed":
        made["run"]["duration"] = "2ms"
    return made, where


def _of_tcp(section: str, kind: str) -> tuple[Json, Where]:
    """Of what has nothing to do with the scheme."""
    made = _with_transport("tcp")
    topology, workload = made["topology"], made["workload"]
    match section:
        case "topology":
            made["topology"] = {"kind": kind, **OF_TOPOLOGY[kind]}
            workload[1]["pattern"]["fan_in"] = 3
            made["fault"] = [CORRUPTION | {"between": ["host", EDGE.get(kind, "leaf")]}]
            return made, ["topology"]
        case "link":
            return made, ["topology", "link"]
        case "forwarding":
            topology |= {"forwarding": {"kind": kind}, "host_link": {"rate": "40Gbps"}}
            return made, ["topology", "forwarding"]
        case "processing":
            topology["processing_per_packet"] = {"kind": kind, **OF_PROCESSING.get(kind, {})}
            return made, ["topology", "processing_per_packet"]
        case "link-retry":
            topology["link_retry"] = {"kind": kind}
            made["fault"][0]["probability"] = 0.3
            return made, ["topology", "link_retry"]
        case "sizes":
            workload[0]["sizes"] = {"kind": kind, **OF_SIZES[kind]}
            return made, ["workload", 0, "sizes"]
        case "pattern":
            workload[0]["pattern"] = {"kind": kind, **OF_PATTERN.get(kind, {})}
            return made, ["workload", 0, "pattern"]
        case "fidelity":
            del made["fault"]
            made["run"]["fidelity"] = {"kind": kind}
            return made, ["run", "fidelity"]
        case "measure":
            return made | {"measure": {}}, ["measure"]
    sections: dict[str, Where] = {"workload": ["workload", 0], "scheme": ["scheme", 0], "run": ["run"]}
    return made, sections[section]
