"""How evenly the switches of hosts use their uplinks over time, as ConWeave's authors measure it."""

from __future__ import annotations

import tomllib

import polars as pl

from packetloom.store.results import Results
from packetloom.validate.peers.hpcc.settings import Settings, read_text


def imbalance(settings: Settings) -> float | None:
    """What was measured there, if it was."""
    path = settings.folder / "figures.toml"
    measured: dict[str, float] = tomllib.loads(read_text(path))["imbalance"] if path.exists() else {}
    return measured.get(settings.name)


def imbalances(settings: Settings, results: Results) -> list[float]:
    """Of each seed, the mean over leaves and samples of (largest - smallest) / mean of what the uplinks sent.

    Samples count while flows arrive, and where anything was sent.
    """
    hosts = set(settings.network.hosts)
    links = {(one, other) for one, other, _, _ in settings.network.links}
    leaves = {other for one, other in links if one in hosts} | {one for one, other in links if other in hosts}
    number = {end: pl.col(end).str.extract(r"(\d+)$").cast(pl.Int64) for end in ("node", "peer")}
    ports = results.to_polars("ports").with_columns(**number)
    uplinks = ports.filter(pl.col("node").is_in(leaves), ~pl.col("peer").is_in(hosts)).select("seed", "port", "node")
    sent = results.to_polars("series").join(uplinks.unique(), ("seed", "port"))
    last_start = max(flow.start_ns for flow in settings.flows) - min(flow.start_ns for flow in settings.flows)
    of_leaf = sent.filter(pl.col("time_ns") < last_start).group_by("seed", "node", "time_ns")
    bytes_ = pl.col("tx_bytes")
    spread = of_leaf.agg(((bytes_.max() - bytes_.min()) / bytes_.mean()).alias("spread"))
    per_seed = spread.filter(pl.col("spread").is_finite()).group_by("seed").agg(pl.col("spread").mean())
    return [float(value) for value in per_seed.sort("seed")["spread"]]
