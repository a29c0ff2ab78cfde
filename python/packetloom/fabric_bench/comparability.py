"""What must be equal for two results to be compared, as the drafts list it; and what crosses the fabric's edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from packetloom.fabric_bench.cases import Case, cases_of, message_size
from packetloom.fabric_bench.catalogue import Test
from packetloom.fabric_bench.measures import algo_factor
from packetloom.fabric_bench.tables import byte_text, cell
from packetloom.store.results import Results

HEADER = (
    "test",
    "part",
    "scheme",
    "N",
    "accelerators per node",
    "fabric",
    "placement",
    "B_acc (Gb/s)",
    "leaf oversubscription",
    "collective",
    "S",
    "algo_factor",
    "transport",
    "load balancing",
    "S_fabric per participant",
    "time in node (us)",
)
EXPERTS = "experts' all-to-all"
BY_HOSTS = ("oblivious", "bitmap", "reps", "reps-legacy", "mixed", "permutation")
"""The routings by which hosts choose a path for each packet; for a flow of ROD, they choose one."""
CONTROLS = {"nscc": "NSCC", "rccc": "RCCC", "both": "NSCC and RCCC", "none": "no control"}


def comparability(test: Test, runs: Mapping[str, Results]) -> list[list[str]]:
    """A row for each part, scheme, N and algorithm of a test; what sizes have is listed in their order."""
    rows: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
    for part, results in runs.items():
        for case in cases_of(part, results):
            fixed, varied = _row(test.id, case)
            kept = rows.setdefault(fixed, [])
            if varied[0] not in [one[0] for one in kept]:
                kept.append(varied)
    found = []
    for fixed, kept in rows.items():
        size, edge, inside = (", ".join(dict.fromkeys(texts)) for texts in zip(*kept, strict=True))
        found.append([*fixed[:10], size, *fixed[10:], edge, inside])
    return found


def _row(test: str, case: Case) -> tuple[tuple[str, ...], tuple[str, str, str]]:
    ranks = participants(case)
    operation = operation_of(case)
    factor = cell(algo_factor("all-to-all" if operation == EXPERTS else operation, ranks))
    edge, inside = fabric_bytes(case)
    fixed = (
        test,
        case.part,
        case.scheme,
        cell(ranks),
        cell(per_node(case)),
        fabric(case),
        placement(case),
        cell(case.host_rate / 1e9),
        oversubscription(case),
        operation + algorithm(case),
        factor,
        transport(case),
        balancing(case),
    )
    return fixed, (byte_text(_size(case)), byte_text(edge) if is_job(case) else "–", cell(inside))


def _size(case: Case) -> float:
    arrivals = case.arrivals(main_source(case))
    if arrivals["kind"] == "moe":
        return float(arrivals["tokens"] * arrivals["top_k"] * arrivals["bytes_per_token"]["bytes"])
    if arrivals["kind"] == "training":
        return float(arrivals["gradients"]["bytes"])
    return float(message_size(case, main_source(case)))


def per_node(case: Case) -> int:
    """Accelerators that share a server with a switch in it."""
    topology = case.topology
    return int(topology["accelerators"]) if topology.get("scale_up") else 1


def participants(case: Case) -> int:
    """Hosts that the main workload's flows are from or to."""
    flows = case.frame("flows", "source", "src", "dst").filter(pl.col("source") == main_source(case))
    return int(pl.concat([flows["src"], flows["dst"]]).n_unique()) if flows.height else 0


def operation_of(case: Case) -> str:
    """What the participants do together."""
    arrivals = case.arrivals(main_source(case))
    named = {"training": "all-reduce", "moe": EXPERTS, "kv-cache": "send-receive"}
    return str(arrivals.get("operation") or named.get(arrivals["kind"], "send-receive"))


def algorithm(case: Case) -> str:
    """How a collective operation is carried out."""
    jobs = case.frame("jobs", "algorithm")
    return "" if jobs.is_empty() else f" ({jobs['algorithm'][0]})"


def fabric(case: Case) -> str:
    """The drafts' topology, and its sizes."""
    one = case.topology
    match one["kind"]:
        case "leaf-spine":
            return f"A: {one['leaves']} leaves of {one['hosts_per_leaf']}, {one['spines']} spines"
        case "clos":
            return f"B: {one['pods']} pods of {one['leaves']} leaves of {one['hosts_per_leaf']}"
        case "rail-optimised":
            return f"C: {one['servers']} servers of {one['accelerators']}"
        case "rack":
            return f"one switch, {one['hosts']} hosts"
        case kind:
            return f"{kind}: {one.get('file', '')}"


def placement(case: Case) -> str:
    """Which hosts have which ranks, and how these lie on rails."""
    arrivals = case.arrivals(main_source(case))
    if arrivals.get("placement"):
        return "listed"
    if "order" in arrivals:
        on_rails = ", rail = place in the server" if case.topology["kind"] == "rail-optimised" else ""
        return f"{arrivals['order']}{on_rails}"
    return str(case.workload(main_source(case))["pattern"]["kind"])


def oversubscription(case: Case) -> str:
    """What hosts of a leaf can send over what its uplinks can."""
    one = case.topology
    match one["kind"]:
        case "leaf-spine":
            uplinks = one["spines"] * one["link"]["rate"]["bps"]
            return cell(float(one["hosts_per_leaf"] * case.host_rate / uplinks))
        case "clos":
            return cell(float(one["leaf_oversubscription"]))
        case "rail-optimised":
            return cell(float(one["oversubscription"] or 1))
        case _:
            return "none"


def _control(uec: Mapping[str, Any]) -> str:
    """Who controls congestion: what was written, or what the service goes with."""
    return str(uec["control"] or ("nscc" if uec["service"] in ("rud", "rod") else "none"))


def transport(case: Case) -> str:
    """The transport, UET's service, and whether PFC or CBFC is on."""
    one, queue = case.transport, case.spec["scheme"]["queue"]
    by_part = queue.get("flow_control", {}).get("kind")
    has_pfc = by_part == "pfc" or (queue["kind"] == "shared-buffer" and queue["lossless"])
    pfc = ", CBFC" if "cbfc" in (by_part, queue["kind"]) else ", PFC" if has_pfc else ", no PFC"
    if one["kind"] == "uec":
        trims = "trimming" if queue["kind"] == "ndp" else "no trimming"
        return f"UET {one['service'].upper()}, {CONTROLS[_control(one)]}, {trims}{pfc}"
    if one["kind"] in ("roce", "dcqcn"):
        control = ", DCQCN" if one["kind"] == "dcqcn" else ""
        connection = "UC" if one["recovery"] == "none" else "RC"
        recovery = "" if one["recovery"] == "none" else f", {one['recovery']}"
        return f"RoCE {connection}{control}{recovery}{pfc}"
    return f"{one['kind']}{pfc}"


def balancing(case: Case) -> str:
    """The strategy, with the gap of flowlets."""
    one: dict[str, Any] = case.routing
    if case.transport.get("service") == "rod" and one["kind"] in BY_HOSTS:
        return "one path"
    gap = one.get("flowlet_gap")
    return f"{one['kind']}, gap {gap['ps'] / 1e6:g} us" if gap else str(one["kind"])


def main_source(case: Case) -> int:
    """The first workload that the case waits for."""
    return next(place for place, one in enumerate(case.spec["workloads"]) if not one["background"])


def is_job(case: Case) -> bool:
    """Whether the main workload is one job, of which a repetition has so many bytes."""
    return "repeat" in case.arrivals(main_source(case))


def fabric_bytes(case: Case) -> tuple[float, float]:
    """Of one repetition of the main workload: bytes across the fabric's edge, and the time within nodes in us.

    The bytes are for each participant that sends. The time is that in which any flow within a node was under way.
    """
    flows = case.frame("flows", "source", "src", "dst", "size_bytes", "start_ns", "fct_ns").filter(
        pl.col("source") == main_source(case)
    )
    together = per_node(case)
    inside = pl.col("src") // together == pl.col("dst") // together if together > 1 else pl.lit(False)
    repeated = max(1, int(case.arrivals(main_source(case)).get("repeat") or 1))
    senders = max(1, int(flows["src"].n_unique()))
    crossing = float(flows.filter(~inside)["size_bytes"].sum())
    within = flows.filter(inside & pl.col("fct_ns").is_not_nan())
    return crossing / senders / repeated, _covered_ns(within) / repeated / 1e3


def _covered_ns(flows: pl.DataFrame) -> float:
    """The length of the union of the flows' times."""
    covered, end = 0.0, -1.0
    for start, took in flows.sort("start_ns").select("start_ns", "fct_ns").iter_rows():
        if start + took > end:
            covered += start + took - max(start, end)
            end = start + took
    return covered
