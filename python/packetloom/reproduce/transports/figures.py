"""Figures of the claims that are seen better than read."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl

from packetloom.common.percentiles import quantiles
from packetloom.pages.panels import Curve, Panel
from packetloom.reproduce import PaperFigure
from packetloom.reproduce.measure import Runs, axis_number, per_case
from packetloom.reproduce.samples import port_samples
from packetloom.reproduce.transports.abm import MOST_NS
from packetloom.reproduce.transports.measure import ROUND_TRIP_NS, drain_times, outstanding_credit, to_receiver
from packetloom.reproduce.transports.powertcp import (
    ARRIVALS_NS,
    BURST_NS,
    DCQCN,
    ENDLESS_BYTES,
    HPCC,
    POWERTCP,
    SIMULATOR,
    THETA,
    TIMELY,
)
from packetloom.reproduce.transports.sird import BDP_BYTES, OF_RECEIVERS, RECEIVERS
from packetloom.stats.curves import style_at

COMPARED = (POWERTCP, SIMULATOR, THETA, HPCC, DCQCN, TIMELY)
LOOKS = {scheme: style_at(place) for place, scheme in enumerate(COMPARED)}
SHOWN_NS = 500_000.0
CREDIT_OVER_NS = 10_000.0
POINTS = 200


def short_flows(runs: Runs) -> list[Panel]:
    """PW1: the last tenth of all seeds' flows up to 10 KB."""
    pooled = defaultdict(list)
    for row, flows in per_case(runs["web-search"], ("size_bytes", "fct_ns")):
        pooled[row.scheme].append(flows.filter(pl.col("size_bytes") <= 10_000)["fct_ns"].to_numpy())
    shares = 1 - np.logspace(-1, -3, POINTS)
    curves = [
        Curve(
            scheme,
            LOOKS[scheme],
            (quantiles(np.concatenate(pooled[scheme]), shares) / 1e3).tolist(),
            (100 * (1 - shares)).tolist(),
            points=False,
        )
        for scheme in COMPARED
    ]
    title = "flows up to 10 KB, web search at load 0.6"
    return [Panel(title, "completion time, us", "% of flows that take longer", curves, log_x=True, log_y=True)]


def bursts(runs: Runs) -> list[Panel]:
    """PW2: the queue, and what the link carried over a round trip."""
    queues: dict[bool, list[Curve]] = defaultdict(list)
    links: dict[bool, list[Curve]] = defaultdict(list)
    for row, port in to_receiver(runs["burst"]):
        endless = axis_number(row, "size_bytes") >= ENDLESS_BYTES
        shown = port.filter(pl.col("time_ns") >= BURST_NS - 50_000, pl.col("time_ns") < BURST_NS + SHOWN_NS)
        since_us = ((shown["time_ns"] - BURST_NS) / 1e3).to_list()
        queued = (shown["queue_bytes"] / 1e3).to_list()
        queues[endless].append(Curve(row.scheme, LOOKS[row.scheme], since_us, queued, points=False))
        width = round(ROUND_TRIP_NS / 1e3)
        rates = np.convolve(shown["tx_bytes"].to_numpy() * 8 / 1e3, np.ones(width) / width, "valid").tolist()
        links[endless].append(Curve(row.scheme, LOOKS[row.scheme], since_us[width - 1 :], rates, points=False))
    names = {False: "ten flows of 250 KB", True: "ten flows without an end"}
    return [
        panel
        for endless, name in names.items()
        for panel in (
            Panel(name, "us since they began", "KB before the receiver", queues[endless]),
            Panel(name, "us since they began", "Gb/s to the receiver", links[endless]),
        )
    ]


def shares(runs: Runs) -> list[Panel]:
    """PW3: what each of four flows gets."""
    width = 5 * round(ROUND_TRIP_NS / 1e3)
    panels = []
    for row, senders in port_samples(runs["fairness"], pl.col("node").is_in(list(ARRIVALS_NS))):
        curves = []
        for place, name in enumerate(ARRIVALS_NS):
            sent = senders.filter(pl.col("node") == name).sort("time_ns")
            rates = np.convolve(sent["tx_bytes"].to_numpy() * 8 / 1e3, np.ones(width) / width, "valid")
            ends_ms = sent["time_ns"].to_numpy()[width - 1 :] / 1e6
            curves.append(Curve(name, style_at(place), ends_ms[::10].tolist(), rates[::10].tolist(), points=False))
        panels.append(Panel(row.scheme, "ms", "Gb/s", curves))
    return panels


def draining(runs: Runs) -> list[Panel]:
    """AB4: at the first port, whose class 1 is alone at first."""
    panels = []
    for row, queues in drain_times(runs["drain"]):
        curves = []
        for place, (klass, most_ns) in enumerate(MOST_NS.items()):
            one = queues.filter(pl.col("peer") == "host0", pl.col("class") == klass).sort("time_ns")
            over = (one["drain_ns"] / most_ns).to_list()
            label = f"class {klass}"
            curves.append(Curve(label, style_at(place), (one["time_ns"] / 1e6).to_list(), over, points=False))
        panels.append(Panel(row.scheme, "ms", "time to drain, over the bound", curves))
    return panels


def shared_sender(runs: Runs) -> list[Panel]:
    """SI3: of one seed."""
    panels: dict[str, Panel] = {}
    for row, ports in port_samples(runs["sird-shared-sender"], OF_RECEIVERS):
        curves = []
        for place, host in enumerate(RECEIVERS):
            credit = outstanding_credit(ports, host)
            shown = credit.group_by((pl.col("time_ns") // CREDIT_OVER_NS).alias("nth"), maintain_order=True).mean()
            over_bdp = (shown["credit_bytes"] / BDP_BYTES).to_list()
            curves.append(Curve(host, style_at(place), (shown["time_ns"] / 1e3).to_list(), over_bdp, points=False))
        panels.setdefault(row.scheme, Panel(row.scheme, "us", "credit outstanding, BDPs", curves))
    return list(panels.values())


FIGURES = (
    PaperFigure("SI3", "two receivers share a sender", ("sird-shared-sender",), shared_sender, columns=3),
    PaperFigure("PW1", "the tail of short flows", ("web-search",), short_flows),
    PaperFigure("PW2", "ten flows join one", ("burst",), bursts),
    PaperFigure("PW3", "four flows, one after another", ("fairness",), shares, columns=3),
    PaperFigure("AB4", "how long queues take to drain", ("drain",), draining, columns=3),
)
