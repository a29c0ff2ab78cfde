"""Moments of a case that are worth a look: faults, the first pause, the longest queue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from packetloom.pages.network_folding import Links
from packetloom.stats.summary import polars_frame
from packetloom.store.case_rows import CaseRow
from packetloom.store.results import Results

NEVER = {"ps": 2**64 - 1}
"""A point in time that does not come, as cases have it."""
PS_PER_MS = 1e9
WORDS = {"link-down": "link down", "link-degraded": "link slow", "switch-down": "switch down"}


def incidents(
    one: Results, row: CaseRow, ports: pl.DataFrame, network: Mapping[str, Any], links: Links
) -> list[dict[str, Any]]:
    """In order of time: what, from and until when in ms, and the links and nodes that it is about."""
    found = [*_faults(one, row, ports, network, links), *_first_pause(one, row, ports, links)]
    found += _longest_queue(one, row, ports, links)
    return sorted(found, key=lambda moment: moment["from_ms"])


def _faults(
    one: Results, row: CaseRow, ports: pl.DataFrame, network: Mapping[str, Any], links: Links
) -> Iterator[dict[str, Any]]:
    line = next((line for line in one.plan_lines() if line.get("id") == row.case_id and "case" in line), None)
    ends = list(ports.select("node", "peer").iter_rows())
    names = sorted({name for pair in ends for name in pair}, key=_by_kind_and_number)
    for fault in json.loads(line["case"]).get("faults") or [] if line else []:
        if fault.get("at") == NEVER:
            continue
        where = [str(name) for name in fault.get("between") or [fault.get("node") or fault.get("host")] if name]
        if fault.get("between"):
            hit = [place for place, (node, peer) in enumerate(ends) if _is_between(node, peer, where)]
            nodes = []
        else:
            nodes = [place for place, name in enumerate(names) if where and _is(name, where[0])]
            hit = []
        begins, ends_at = (fault.get(key) for key in ("at", "until"))
        what = WORDS.get(fault["kind"], fault["kind"].replace("-", " "))
        yield {
            "text": f"{what}{': ' if where else ''}{' – '.join(where)}",
            "from_ms": begins["ps"] / PS_PER_MS if begins else 0.0,
            "until_ms": ends_at["ps"] / PS_PER_MS if ends_at else None,
            "always": not begins,
            "links": sorted({links.link_of[place] for place in hit if place in links.link_of}),
            "nodes": sorted({network["within"][place] for place in nodes}),
        }


def _by_kind_and_number(name: str) -> tuple[str, int]:
    kind = re.sub(r"\d+$", "", name)
    return kind, int(name[len(kind) :] or 0)


def _is(name: str, wanted: str) -> bool:
    return wanted in (name, re.sub(r"\d+$", "", name))


def _is_between(node: str, peer: str, where: Sequence[str]) -> bool:
    one, other = where
    return (_is(node, one) and _is(peer, other)) or (_is(node, other) and _is(peer, one))


def _first_pause(one: Results, row: CaseRow, ports: pl.DataFrame, links: Links) -> Iterator[dict[str, Any]]:
    table = one.part("pauses", row, ("port", "from_ns"))
    if table is None or not table.num_rows:
        return
    port, from_ns = polars_frame(table).sort("from_ns").row(0)
    yield _at_port("first pause", port, from_ns, ports, links)


def _longest_queue(one: Results, row: CaseRow, ports: pl.DataFrame, links: Links) -> Iterator[dict[str, Any]]:
    table = one.part("series", row, ("port", "time_ns", "queue_bytes"))
    if table is None or not table.num_rows:
        return
    port, time_ns, queue = polars_frame(table).sort("queue_bytes", descending=True, nulls_last=True).row(0)
    if queue:
        yield _at_port("longest queue", port, time_ns, ports, links)


def _at_port(text: str, port: int, time_ns: float, ports: pl.DataFrame, links: Links) -> dict[str, Any]:
    place = int(ports["port"].search_sorted(port))
    hit = [links.link_of[place]] if place in links.link_of else []
    return {
        "text": text,
        "from_ms": time_ns / 1e6,
        "until_ms": time_ns / 1e6,
        "always": False,
        "links": hit,
        "nodes": [],
    }
