"""What the fabric view shows: the network in layers, and what its links carried and held, over time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.common.quantities import said, size_said_roughly
from packetloom.pages.incidents import incidents
from packetloom.pages.network_folding import Links, fold
from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.pauses import overlap
from packetloom.stats.summary import polars_frame
from packetloom.stats.timelines import ns_per_byte
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

MOST_FRAMES = 120
MOST_NUMBERS = 1_500_000
"""In all frames of all cases together: a page of some megabytes."""
MOST_LINKS = 60_000
"""In all cases together."""
FLOWS_SHOWN = 40
INSIDE = "scale-up"
"""The kind of a switch inside a server."""
ROUTER = "router"
"""The kind of a dragonfly's."""
GLOBAL_LENGTH = 3
"""So many hops a global link counts for: a way with two is longer than any with one."""
PORT_COLUMNS = (
    "port",
    "node",
    "peer",
    "tier",
    "tx_packets",
    "tx_bytes",
    "utilisation",
    "link_gbps",
    "framing_bytes",
    "drops",
    "lost",
    "corrupted",
    "pauses",
    "paused_ns",
    "queue_mean_bytes",
    "queue_p99_bytes",
    "queue_max_bytes",
)
FLOW_COLUMNS = ("flow_id", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown")


def fabric_view(results: SomeResults) -> dict[str, Any] | None:
    """The first seed of every series and load, as many as a page can hold; None if no case has ports."""
    several = as_list(results)
    chosen: dict[tuple[str, float | None], tuple[Results, CaseRow, pl.DataFrame]] = {}
    left_out: set[tuple[str, float | None]] = set()
    links = 0
    for one in several:
        renamed = renaming(one, several)
        for row, ports in one.partitions("ports", PORT_COLUMNS):
            key = (renamed.get(row.label, row.label), row.load)
            if not ports.num_rows or key in chosen:
                continue
            links += ports.num_rows
            if links > MOST_LINKS and chosen:
                left_out.add(key)
            else:
                chosen[key] = (one, row, polars_frame(ports).sort("port"))
    if not chosen:
        return None
    numbers = sum(3 * len(ports) for _, _, ports in chosen.values())
    frames = max(1, min(MOST_FRAMES, MOST_NUMBERS // numbers))
    topologies: list[dict[str, Any]] = []
    cases = []
    for (label, load), (one, row, ports) in chosen.items():
        network, links_shown = fold(topology(ports))
        if network not in topologies:
            topologies.append(network)
        at = [label, *([] if load is None else [f"load {load:g}"]), *([] if row.seed is None else [f"seed {row.seed}"])]
        case = {"name": ", ".join(at), "topology": topologies.index(network), "totals": _totals(ports, links_shown)}
        over_time = _over_time(one, row, ports, frames)
        paused = _paused(one, row, ports, over_time["times_ms"])
        series = _folded(over_time | paused | _lost(ports), links_shown)
        moments = incidents(one, row, ports, network, links_shown)
        cases.append(case | series | {"flows": _flows(one, row), "moments": moments})
    return {"topologies": topologies, "cases": cases, "left_out": len(left_out)}


def topology(ports: pl.DataFrame) -> dict[str, Any]:
    """Nodes with their layer, which is how many links it is to the nearest host; and links, a port each.

    Switches inside servers are a layer below the hosts, apart from the network that joins servers.
    """
    names = sorted(set(ports["node"]) | set(ports["peer"]), key=_by_kind_and_number)
    number = {name: place for place, name in enumerate(names)}
    links = [(number[node], number[peer]) for node, peer in ports.select("node", "peer").iter_rows()]
    layer = _layers(len(names), [number[name] for name in names if _kind(name) == "host"], links)
    if any(_kind(name) == INSIDE for name in names):
        layer = [0 if _kind(name) == INSIDE else above + 1 for name, above in zip(names, layer, strict=True)]
    nodes = [
        {"number": place, "name": name, "kind": _kind(name), "layer": layer[place]} for place, name in enumerate(names)
    ]
    lengths = _lengths([place for place, name in enumerate(names) if _kind(name) == ROUTER], links)
    return {"nodes": nodes, "links": links} | ({"lengths": lengths} if lengths else {})


def _lengths(routers: Sequence[int], links: Sequence[tuple[int, int]]) -> list[int]:
    """How many hops links count for in a dragonfly, where packets take one global link at most; empty elsewhere.

    Its groups are the largest runs of routers, of one size, in which each is linked to all others.
    """
    linked = set(links)

    def are_groups(size: int) -> bool:
        groups = [routers[first : first + size] for first in range(0, len(routers), size)]
        return all((one, other) in linked for group in groups for one in group for other in group if one != other)

    sizes = [size for size in range(1, len(routers)) if len(routers) % size == 0 and are_groups(size)]
    if not sizes:
        return []
    group = {router: place // sizes[-1] for place, router in enumerate(routers)}
    joins_groups = (one in group and other in group and group[one] != group[other] for one, other in links)
    return [GLOBAL_LENGTH if is_global else 1 for is_global in joins_groups]


def _kind(name: str) -> str:
    return re.sub(r"\d+$", "", name)


def _by_kind_and_number(name: str) -> tuple[str, int]:
    kind = _kind(name)
    return kind, int(name[len(kind) :] or 0)


def _layers(nodes: int, hosts: Sequence[int], links: Sequence[tuple[int, int]]) -> list[int]:
    neighbours: list[list[int]] = [[] for _ in range(nodes)]
    for node, peer in links:
        neighbours[node].append(peer)
        neighbours[peer].append(node)
    layer = dict.fromkeys(hosts or range(nodes), 0)
    for node in (found := list(layer)):
        for other in neighbours[node]:
            if other not in layer:
                layer[other] = layer[node] + 1
                found.append(other)
    return [layer.get(node, 0) for node in range(nodes)]


def _totals(ports: pl.DataFrame, links: Links) -> list[str]:
    """What there is to say of each link's whole run."""
    lines = [_total(port) for port in ports.iter_rows(named=True)]
    if len(links.starts) == len(lines):
        return [lines[place] for place in links.order]
    sent, lost = links.sum(ports["tx_bytes"].to_list()), links.sum(_lost_packets(ports).tolist())
    used = links.mean((1e4 * ports["utilisation"].to_numpy()).tolist())
    return [
        f"{count} links: {size_said_roughly(sent[at])} sent, mean utilisation {used[at] / 100:.3g} %, {lost[at]:,} lost"
        for at, count in enumerate(links.counts)
    ]


def _total(port: Mapping[str, Any]) -> str:
    sent, share = size_said_roughly(port["tx_bytes"]), 100 * port["utilisation"]
    text = f"{sent} sent, utilisation {share:.3g} %, {port['drops']:,} drops"
    text += "".join(f", {port[name]:,} {name}" for name in ("lost", "corrupted") if port[name])
    if port["pauses"]:
        text += f", paused {port['pauses']:,} times for {said(port['paused_ns'], 'ns')}"
    if not np.isnan(port["queue_mean_bytes"]):
        queue = [size_said_roughly(port[f"queue_{name}_bytes"]) for name in ("mean", "p99", "max")]
        text += ", queue mean {}, p99 {}, largest {}".format(*queue)
    return text


def _lost_packets(ports: pl.DataFrame) -> NDArray[np.int64]:
    """What a port's queue dropped, and what was lost or damaged on its link."""
    return ports.select(pl.sum_horizontal("drops", "lost", "corrupted")).to_series().to_numpy()


def _lost(ports: pl.DataFrame) -> dict[str, Any]:
    lost = _lost_packets(ports)
    return {"lost": [lost.tolist()]} if lost.any() else {}


def _folded(series: dict[str, Any], links: Links) -> dict[str, Any]:
    """The frames of each quantity, by link: of the ports of one, utilisation is the mean, the queue the longest."""
    ways = {"utilisation": links.mean, "queue": links.largest, "paused": links.largest, "lost": links.sum}
    return {
        name: [ways[name](frame) for frame in frames] if name in ways else frames for name, frames in series.items()
    }


def _over_time(one: Results, row: CaseRow, ports: pl.DataFrame, frames: int) -> dict[str, Any]:
    """Frames of the samples: utilisation in hundredths of a percent, its mean; queues in bytes, the largest.

    Without samples there is one frame: the whole run, and of queues the mean.
    """
    series = one.part("series", row)
    samples = pl.DataFrame() if series is None else polars_frame(series)
    if samples.is_empty():
        whole = {"times_ms": [], "utilisation": [_hundredths(ports["utilisation"].to_numpy())]}
        queues = ports["queue_mean_bytes"].to_numpy()
        return whole if np.isnan(queues).any() else whole | {"queue": [np.rint(queues).astype(int).tolist()]}
    times = samples["time_ns"].unique().sort().to_numpy()
    interval_ns = float(np.diff(times).min()) if len(times) > 1 else row.counters["simulated_ns"]
    together = -(-len(times) // frames)
    at = tuple(
        np.searchsorted(known, column.to_numpy())
        for known, column in ((times, samples["time_ns"]), (ports["port"].to_numpy(), samples["port"]))
    )
    sent, queue = np.zeros((2, len(times), len(ports)))
    sent[at], queue[at] = samples["tx_bytes"].to_numpy(), samples["queue_bytes"].to_numpy()
    starts = np.arange(0, len(times), together)
    lengths = np.diff([*starts, len(times)])[:, None] * interval_ns
    used = np.add.reduceat(sent, starts) * ns_per_byte(ports, row) / lengths
    return {
        "times_ms": (times[starts] / 1e6).tolist(),
        "utilisation": [_hundredths(frame) for frame in used],
        "queue": np.rint(np.maximum.reduceat(queue, starts)).astype(int).tolist(),
    }


def _paused(one: Results, row: CaseRow, ports: pl.DataFrame, times_ms: list[float]) -> dict[str, Any]:
    """For which share of each frame a class of each port was paused, in hundredths of a percent, where any was."""
    table = one.part("pauses", row, ("port", "from_ns", "until_ns"))
    if table is None or not table.num_rows:
        return {}
    end = float(row.counters["simulated_ns"])
    starts = np.array(times_ms) * 1e6 if times_ms else np.zeros(1)
    ends = np.maximum(np.append(starts[1:], end), starts)
    lengths = np.maximum(ends - starts, 1e-9)
    place = {port: nth for nth, port in enumerate(ports["port"])}
    shares = np.zeros((len(starts), len(ports)))
    for (port,), own in polars_frame(table).group_by("port"):
        shares[:, place[port]] = overlap(own, starts, ends) / lengths
    return {"paused": [_hundredths(frame) for frame in shares]}


def _hundredths(shares: NDArray[np.float64]) -> list[int]:
    """Shares in hundredths of a percent."""
    hundredths: list[int] = np.rint(np.nan_to_num(shares) * 10_000).astype(int).tolist()
    return hundredths


def _flows(one: Results, row: CaseRow) -> list[dict[str, Any]]:
    """The flows that fared worst: those that never finished, then by slowdown."""
    table = one.part("flows", row, FLOW_COLUMNS)
    if table is None:
        return []
    flows = polars_frame(table)
    worst = flows.with_columns(pl.col("slowdown").fill_nan(None), pl.col("fct_ns").fill_nan(None)).sort(
        "slowdown", "flow_id", descending=[True, False], nulls_last=False
    )
    shown = worst.head(FLOWS_SHOWN).select(
        pl.col("flow_id").alias("id"),
        "src",
        "dst",
        "size_bytes",
        (pl.col("start_ns") / 1e6).alias("start_ms"),
        (pl.col("fct_ns") / 1e6).alias("fct_ms"),
        "slowdown",
    )
    return shown.to_dicts()
