"""What priority flow control did: where ports were paused, where that began, how far it went, and who was innocent.

A flow waited behind a pause if a port that all its shortest paths share, such as its own host's, was paused in its
class while it was under way. It is innocent if, in all that time, no pause began at a port on any of its shortest
paths, nor at the host that it goes to: then it never crossed what was congested.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from packetloom.errors import PacketloomError
from packetloom.stats.curves import SomeResults, as_list, renaming
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

NO_PAUSES = 'nothing was paused, or not kept: set pauses = true in [measure], with a queue "shared-buffer"'
MOST_NODES = 2_500
"""Of a network whose shortest paths are all counted: some seconds."""
MOST_PORTS = 20
"""Named in a figure."""
POINTS = 300
"""Of a line over time."""
FLOW_COLUMNS = ("flow_id", "src", "dst", "size_bytes", "start_ns", "fct_ns", "slowdown", "class", "measured")


@dataclass(frozen=True, slots=True)
class Paused:
    """A case in which something was paused: its pauses, with the names of the ports, and what they lasted."""

    results: Results
    row: CaseRow
    label: str
    pauses: pl.DataFrame
    ports: pl.DataFrame

    def named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """With what tells the case."""
        load = pl.lit(self.row.load, dtype=pl.Float64).alias("load")
        return frame.select(pl.lit(self.label).alias("label"), load, pl.all())


def paused_cases(results: SomeResults) -> Iterator[Paused]:
    """The cases in which something was paused, and that was kept."""
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row, table in one.partitions("pauses"):
            ports = one.part("ports", row, ("port", "node", "peer", "tier"))
            if not table.num_rows or ports is None:
                continue
            named = polars_frame(ports).sort("port").with_columns(pl.format("{} to {}", "node", "peer").alias("name"))
            lasted = (pl.col("until_ns") - pl.col("from_ns")).alias("paused_ns")
            yield Paused(one, row, renamed.get(row.label, row.label), polars_frame(table).with_columns(lasted), named)


def paused_ports(results: SomeResults) -> pl.DataFrame:
    """By port and class: label, load, class, port, paused (at it) and caused (by what began there), in ns.

    Seeds are averaged. The ports that have most of either, over all cases.
    """
    frames = []
    for case in paused_cases(results):
        sums = [
            case.pauses.group_by(pl.col(key).alias("port"), "class").agg(pl.col("paused_ns").sum().alias(name))
            for key, name in (("port", "paused"), ("origin_port", "caused"))
        ]
        both = sums[0].join(sums[1], on=["port", "class"], how="full", coalesce=True)
        both = both.with_columns(pl.col("paused", "caused").fill_null(0.0))
        named = both.join(case.ports.select("port", "name"), on="port").drop("port").rename({"name": "port"})
        frames.append(case.named(named.sort("port", "class")))
    together = _over_seeds(results, frames, ("label", "load", "class", "port"))
    most = together.group_by("port", maintain_order=True).agg(pl.max_horizontal("paused", "caused").max().alias("most"))
    shown = most.sort("most", descending=True).head(MOST_PORTS)["port"]
    order = pl.col("port").replace_strict(shown, range(len(shown)), default=None)
    return together.filter(pl.col("port").is_in(shown.implode())).sort(order, maintain_order=True)


def pause_reach(results: SomeResults) -> pl.DataFrame:
    """By how many switches had passed pauses on: label, load, class, passed_on, paused (ns) and pauses (how many)."""
    frames = []
    for case in paused_cases(results):
        by_reach = case.pauses.group_by("class", "passed_on").agg(
            pl.col("paused_ns").sum().alias("paused"), pl.len().cast(pl.Float64).alias("pauses")
        )
        frames.append(case.named(by_reach.sort("class", "passed_on")))
    return _over_seeds(results, frames, ("label", "load", "class", "passed_on")).sort("passed_on")


def paused_over_time(results: SomeResults) -> pl.DataFrame:
    """How many ports were paused on average over each stretch of time: label, load, class, time_ns, ports."""
    cases = list(paused_cases(results))
    if not cases:
        raise PacketloomError(NO_PAUSES)
    end = max(float(case.row.counters["simulated_ns"]) for case in cases)
    edges = np.linspace(0, end, POINTS + 1)
    frames = []
    for case in cases:
        for (kind,), own in case.pauses.group_by("class", maintain_order=True):
            paused = sum(
                (overlap(part, edges[:-1], edges[1:]) for (_,), part in own.group_by("port")), np.zeros(POINTS)
            )
            columns = {"class": [kind] * POINTS, "time_ns": edges[:-1], "ports": paused / np.diff(edges)}
            frames.append(case.named(pl.DataFrame(columns)))
    return _over_seeds(results, frames, ("label", "load", "class", "time_ns")).sort("time_ns")


def _over_seeds(results: SomeResults, frames: list[pl.DataFrame], keys: tuple[str, ...]) -> pl.DataFrame:
    """Means over the cases of a label and load: what one of them has nothing of counts as nothing there."""
    if not frames:
        raise PacketloomError(NO_PAUSES)
    seeds: dict[tuple[str, float | None], int] = {}
    several = as_list(results)
    for one in several:
        renamed = renaming(one, several)
        for row in one.rows():
            key = (renamed.get(row.label, row.label), row.load)
            seeds[key] = seeds.get(key, 0) + 1
    count = pl.struct("label", "load").map_elements(lambda at: seeds[at["label"], at["load"]], return_dtype=pl.Int64)
    together = pl.concat(frames).group_by(keys, maintain_order=True).agg(pl.all().sum())
    return together.with_columns(pl.exclude(keys) / count)


def overlap(pauses: pl.DataFrame, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """For how long each stretch of time falls on any of some pauses."""
    begin, end = _merged(pauses)
    lengths = np.concatenate([[0.0], np.cumsum(end - begin)])

    def until(times: NDArray[np.float64]) -> NDArray[np.float64]:
        """For how long there were pauses until then."""
        before = np.searchsorted(begin, times)
        last = np.maximum(before - 1, 0)
        running = np.clip(times - begin[last], 0.0, end[last] - begin[last])
        return np.where(before > 0, lengths[last] + running, 0.0)

    return np.maximum(until(ends) - until(starts), 0.0)


def _merged(pauses: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The beginnings and ends of the stretches of time in which there is any pause, in order."""
    ordered = pauses.sort("from_ns")
    begin, end = ordered["from_ns"].to_numpy(), np.maximum.accumulate(ordered["until_ns"].to_numpy())
    first = np.concatenate([[True], begin[1:] > end[:-1]])
    return begin[first], end[np.concatenate([first[1:], [True]])]


def innocent_flows(results: SomeResults) -> pl.DataFrame:
    """Of each flow that waited behind a pause, for how long, behind which port, and whether it is innocent.

    label, load, seed, flow_id, src, dst, size_bytes, start_ns, fct_ns, slowdown, measured, waited_ns (of the port on
    all its shortest paths that was paused longest while it was under way), port (that one), origin (where most of these
    pauses began), passed_on (by how many switches, at most), innocent.
    """
    frames = [found for case in paused_cases(results) if (found := _waiting(case)) is not None]
    if not frames:
        raise PacketloomError(NO_PAUSES)
    return pl.concat(frames)


def _waiting(case: Paused) -> pl.DataFrame | None:
    table = case.results.part("flows", case.row, FLOW_COLUMNS)
    if table is None:
        return None
    flows = polars_frame(table)
    ways = _Ways.of(case.ports)
    if ways is None:
        return None
    kind = _transports_class(case)
    end = float(case.row.counters["simulated_ns"])
    starts = flows["start_ns"].to_numpy()
    ends = np.where(np.isnan(flows["fct_ns"].to_numpy()), end, starts + flows["fct_ns"].to_numpy())
    of_class = np.full(len(flows), kind) if kind is not None else flows["class"].to_numpy()
    src, dst = (ways.hosts(flows[key].to_numpy()) for key in ("src", "dst"))
    waited, guilty = np.zeros(len(flows)), np.zeros(len(flows), dtype=bool)
    behind = np.full(len(flows), -1)
    for (port, number), own in case.pauses.group_by("port", "class", maintain_order=True):
        on_all = ways.on_all(int(port), src, dst) & (of_class == number)
        here = np.where(on_all, overlap(own, starts, ends), 0.0)
        behind = np.where(here > waited, port, behind)
        waited = np.maximum(waited, here)
    for (origin, number), own in case.pauses.group_by("origin_port", "class", maintain_order=True):
        crosses = ways.on_any(int(origin), src, dst) & (of_class == number)
        guilty |= crosses & (overlap(own, starts, ends) > 0)
    found = flows.with_columns(
        pl.Series("waited_ns", waited),
        pl.Series("port", behind),
        pl.Series("innocent", ~guilty),
        pl.Series("ends_ns", ends),
    ).filter(pl.col("waited_ns") > 0)
    names = dict(case.ports.select("port", "name").iter_rows())
    where = [_origin(case.pauses, flow) for flow in found.iter_rows(named=True)]
    named = found.with_columns(
        pl.col("port").replace_strict(names, return_dtype=pl.String),
        pl.Series("origin", [names[origin] for origin, _ in where], dtype=pl.String),
        pl.Series("passed_on", [reach for _, reach in where], dtype=pl.Int64),
    )
    seed = pl.lit(case.row.seed, dtype=pl.Int64).alias("seed")
    columns = [name for name in FLOW_COLUMNS if name != "class"]
    return case.named(
        named.select(seed, *columns, "waited_ns", "port", "origin", "passed_on", "innocent").sort(
            "waited_ns", descending=True
        )
    )


def _origin(pauses: pl.DataFrame, flow: dict[str, float]) -> tuple[int, int]:
    """Where most of the pauses began that a flow waited behind, and by how many switches they had been passed on."""
    own = pauses.filter(
        pl.col("port") == flow["port"], pl.col("until_ns") > flow["start_ns"], pl.col("from_ns") < flow["ends_ns"]
    )
    by_origin = own.group_by("origin_port").agg(pl.col("paused_ns").sum()).sort("paused_ns", "origin_port")
    return int(by_origin["origin_port"][-1]), int(own["passed_on"].max())  # type: ignore[arg-type]


def _transports_class(case: Paused) -> int | None:
    """The class of all flows, where the transport has one of its own."""
    line = next((line for line in case.results.plan_lines() if line["id"] == case.row.case_id), None)
    if line is None:
        return None
    number = json.loads(line["case"])["scheme"]["transport"].get("class")
    return number if isinstance(number, int) else None


@dataclass(frozen=True, slots=True)
class _Ways:
    """How many shortest paths there are from each node to each other, and how long they are."""

    number: dict[str, int]
    ends: dict[int, tuple[int, int]]
    """Of each port, its node and the one at the other end of its link."""
    length: NDArray[np.int16]
    count: NDArray[np.float64]
    is_host: NDArray[np.bool_]

    @staticmethod
    def of(ports: pl.DataFrame) -> _Ways | None:
        """Of a network; None if it is too large."""
        names = sorted(set(ports["node"]) | set(ports["peer"]))
        if len(names) > MOST_NODES:
            return None
        number = {name: place for place, name in enumerate(names)}
        rows = ports.select("port", "node", "peer").iter_rows()
        ends = {port: (number[node], number[peer]) for port, node, peer in rows}
        is_host = np.array([name.startswith("host") for name in names])
        links = np.zeros((len(names), len(names)))
        for node, peer in ends.values():
            links[node, peer] += 1.0
        length = np.full(links.shape, -1, dtype=np.int16)
        count = np.zeros(links.shape)
        np.fill_diagonal(length, 0)
        np.fill_diagonal(count, 1.0)
        onwards = np.where(is_host[:, None], 0.0, links)  # hosts pass nothing on
        ways, hops = links, 1
        while (new := (ways > 0) & (length < 0)).any():
            length[new], count[new] = hops, ways[new]
            ways, hops = np.where(new, ways, 0.0) @ onwards, hops + 1
        return _Ways(number, ends, length, count, is_host)

    def hosts(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes of hosts."""
        found, places = np.unique(numbers, return_inverse=True)
        return np.array([self.number[f"host{host}"] for host in found], dtype=np.int64)[places]

    def _through(self, port: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many of the shortest paths go by a port's link."""
        node, peer = self.ends[port]
        before, after = self.length[src, node], self.length[peer, dst]
        is_on = (before >= 0) & (after >= 0) & (before + 1 + after == self.length[src, dst])
        return np.where(is_on, self.count[src, node] * self.count[peer, dst], 0.0)

    def on_any(self, port: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether any of them does, or whether the port is that of the host to which they go."""
        node, _ = self.ends[port]
        is_on: NDArray[np.bool_] = (dst == node) if self.is_host[node] else self._through(port, src, dst) > 0
        return is_on

    def on_all(self, port: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether all of them do."""
        through = self._through(port, src, dst)
        is_on: NDArray[np.bool_] = (through > 0) & (through == self.count[src, dst])
        return is_on
