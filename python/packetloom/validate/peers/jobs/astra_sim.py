"""Collective operations and Chakra traces on ASTRA-sim's analytical networks: `validation/astra_sim/rows.csv`.

Its "congestion unaware" network gives each message a way of its own, so it is replayed by a link for each two ranks, of
two latencies where it is a switch; so is "congestion aware" where ranks have such links.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packetloom.validate.comparison import Check
from packetloom.validate.peers.agreement import PEERS_FOLDER, Deviation
from packetloom.validate.peers.jobs.replay import job_on, read_rows, replay_of

SOURCE = "astra_sim/rows.csv"
TRACES = PEERS_FOLDER / "astra_sim" / "traces"
COLLECTIVE = re.compile(r"(?P<operation>\S+) (?P<algorithm>\S+) (?P<network>\S+) n=(?P<ranks>\S+) size=(?P<size>\d+)")
TRACE = re.compile(r"trace (?P<trace>\S+) on (?P<network>\S+)")
SHIPPED = re.compile(r"ship_(?P<kind>\w+)_(?P<ranks>\d+)")
PIECES = re.compile(r"splits (\d+), active (\d+)")
ALGORITHMS = {
    "ring": "ring",
    "direct": "direct",
    "halvingDoubling": "halving-doubling",
    "doubleBinaryTree": "tree",
    "direct+ring": "hierarchical",
    "direct+direct": "hierarchical",
}
# Of two dimensions, what each message has to itself, and what a link takes.
DIMENSIONS = re.compile(r"bandwidth \[(\S+), (\S+)\] GiB/s, latency \[(\S+), (\S+)\] ns")
# Its GB are GiB, and all other rows have 50 GiB/s and 500 ns.
GIB_PER_SECOND = 8 << 30
BITS_PER_SECOND = 50 * GIB_PER_SECOND
LATENCY_NS = 500


# Runs of the trace with links of 500 ns and of 1000 ns take 41,063 and 43,063 ns, theirs 40,062 and 41,062: a latency
# more for each of two sends, one after the other.
KNOWN = {
    "T_sends_3_SU": Deviation(
        "A send ends here when its sender knows that the message has arrived, a way back later, as in ASTRA-sim's own "
        "ns-3 network (`qp_finish`); in the analytical network senders know it at once. Two sends follow each other, "
        "so it is twice the latency, with 500 ns as with 1000",
        (1.049, 1.049),
    )
}


def astra_sim_comparisons() -> list[Check]:
    """All of them."""
    return [replay_of("astra-sim", SOURCE, read_rows(SOURCE), _what, _scenario, KNOWN)]


def _what(row: Mapping[str, str]) -> str:
    pieces = PIECES.search(row["settings"])
    in_pieces = "" if pieces is None or pieces[1] == "1" else f", {pieces[0]}"
    return f"ASTRA-sim, {row['network']}, {row['case']}{in_pieces}"


def _scenario(row: Mapping[str, str], folder: Path) -> dict[str, Any]:
    if collective := COLLECTIVE.fullmatch(row["case"]):
        if "x" in collective["ranks"]:
            servers, accelerators = int(collective["ranks"].split("x")[1]), int(collective["ranks"].split("x")[0])
            topology, ranks = _rails(servers, accelerators, collective, row["settings"]), servers * accelerators
        else:
            ranks = int(collective["ranks"])
            topology = _mesh(ranks, collective["network"], folder)
        return job_on(topology, _collective(collective, ranks, row["settings"]))
    trace = TRACE.fullmatch(row["case"])
    assert trace is not None, row["case"]
    arrivals, ranks = _trace(trace["trace"], folder)
    return job_on(_mesh(ranks, trace["network"], folder), arrivals)


def _collective(of: re.Match[str], ranks: int, settings: str) -> dict[str, Any]:
    # The size of an all-gather is each rank's.
    size = int(of["size"]) * (ranks if of["operation"] == "all-gather" else 1)
    arrivals = {
        "kind": "collective",
        "operation": of["operation"],
        "algorithm": ALGORITHMS[of["algorithm"]],
        "ranks": ranks,
    }
    pieces = PIECES.search(settings)
    assert pieces is not None, settings
    splits, active = int(pieces[1]), int(pieces[2])
    if splits == 1 or of["algorithm"] == "doubleBinaryTree":  # two trees, a piece for each
        return {**arrivals, "size": f"{size}B"}
    if active == 1:  # one after the other
        return {**arrivals, "size": f"{size // splits}B", "repeat": splits}
    return {**arrivals, "size": f"{size}B", "channels" if active == splits else "chunks": splits}


def _trace(name: str, folder: Path) -> tuple[dict[str, Any], int]:
    """How a trace is read, and how many ranks it has."""
    if shipped := SHIPPED.fullmatch(name):
        # ASTRA-sim's own: the same for each rank but for the node's number.
        ranks = int(shipped["ranks"])
        content = (TRACES / f"{shipped['kind']}_1MB.et").read_bytes()
        prefix = folder / name
        for rank in range(ranks):
            prefix.with_name(f"{name}.{rank}.et").write_bytes(content)
        return {"kind": "chakra", "files": str(prefix)}, ranks
    arrivals = {"kind": "chakra", "files": str(TRACES / name / "t")}
    groups = TRACES / name / "groups.json"
    if groups.exists():
        arrivals["groups"] = str(groups)
    return arrivals, len(list((TRACES / name).glob("t.*.et")))


def _mesh(ranks: int, network: str, folder: Path) -> dict[str, Any]:
    """A link for each two ranks."""
    latency_ns = LATENCY_NS * (2 if network == "Switch" else 1)
    pairs = [(one, other) for one in range(ranks) for other in range(one)]
    file = folder / f"mesh-{ranks}-{latency_ns}.txt"
    links = [f"{other} {one} {BITS_PER_SECOND / 1e9:.7f}Gbps {latency_ns}ns 0" for one, other in pairs]
    file.write_text("\n".join([f"{ranks} 0 {len(pairs)}", "", *links, ""]), encoding="utf-8")
    return {"kind": "hpcc", "file": str(file)}


def _rails(servers: int, accelerators: int, of: re.Match[str], settings: str) -> dict[str, Any]:
    """Accelerators with links to each other, and a switch for each rail.

    Where messages go straight to all others at once, each has a link's rate to itself: a host's link has that of all.
    """
    found = DIMENSIONS.search(settings)
    assert found is not None, settings
    inside, across, inside_ns, across_ns = map(float, found.groups())
    is_direct = of["algorithm"].endswith("+direct")
    # A message crosses two of these links; in the first dimension one of theirs, unless that is a switch.
    links = 2 if of["network"].startswith("Switch") else 1
    return {
        "kind": "rail-optimised",
        "servers": servers,
        "accelerators": accelerators,
        "servers_per_rail_switch": servers,
        "scale_up": {
            "rate": f"{round(inside * (accelerators - 1) * GIB_PER_SECOND)}bps",
            "delay": f"{inside_ns * links / 2}ns",
        },
        "host_link": {
            "rate": f"{round(across * (servers - 1 if is_direct else 1) * GIB_PER_SECOND)}bps",
            "delay": f"{across_ns}ns",
        },
        "forwarding": "cut-through",
    }
