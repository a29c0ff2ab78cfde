"""A set of measurements: the machine, which constants are whose, and what is asked of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from packetloom.stats.perftest import perftest
from packetloom.store.results import Results
from packetloom.validate.hardware.machines import DCTCP_GROUPS, Machine
from packetloom.validate.hardware.measurements import Measurement, file_of, measurements

SERVER_GBYTES = 388.0
"""GB/s: what tables of shares are shares of, eight NICs of 48.5 (aliyun/SimAI cef83f9ddd: calbusbw.h, CX7_BW)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Why a set is missed, as far as runs have shown it, and the errors that it has then."""

    why: str
    median: float
    nine_of_ten: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSet:
    """A file of measurements, the scenarios that repeat them, and what is asked of the two together."""

    file: str
    by: str
    """What predicts them: "packets", or "tuner", NCCL's cost model alone."""
    what: str
    constants: str
    """Which constants are whose."""
    machine: Machine
    value: Callable[[Measurement, Results], float]
    median: float
    """The median error that is asked for."""
    nine_of_ten: float | None = None
    """The error that nine of ten may have, where that is asked for."""
    judged_from: int = 0
    """Smaller operations are decided by hosts: they are reported and not judged."""
    most_bytes: int | None = None
    """What all ranks together may have for a measurement to be repeated: more takes too long."""
    most_ranks: int | None = None
    """And how many these may be."""
    part: str = ""
    """Of several sets of a file, which."""
    says: str = ""
    """What the measurements of such a part say of themselves."""
    missed: Missed | None = None
    is_quick: bool = True

    @property
    def name(self) -> str:
        """Its own."""
        return "-".join(filter(None, (self.file, self.by, self.part)))

    @property
    def is_shipped(self) -> bool:
        """Whether its measurements come with packetloom."""
        return file_of(self.file).is_file()

    def measured(self, folder: Path) -> list[Measurement]:
        """The measurements that are repeated; an operation has a byte for each rank at least."""
        found = [one for one in measurements(self.file, folder) if not one.size_bytes or one.size_bytes >= one.ranks]
        found = [one for one in found if self.says in one.what]
        most_bytes, most_ranks = self.most_bytes or math.inf, self.most_ranks or math.inf
        return [one for one in found if one.ranks * one.size_bytes <= most_bytes and one.ranks <= most_ranks]


def time_us(one: Measurement, results: Results) -> float:
    """What the operation takes."""
    return _job(one, results)["jct_ns"] / 1e3


def share_of_nics(one: Measurement, results: Results) -> float:
    """Its bus bandwidth over that of a server's NICs."""
    return _job(one, results)["bus_gbps"] / 8 / SERVER_GBYTES


def share_of_exchange(one: Measurement, results: Results) -> float:
    """An all-to-all's bus bandwidth over what a NIC allows, which only data for other servers takes (calbusbw.cc)."""
    server = one.ranks // one.servers
    most = SERVER_GBYTES / server * (one.ranks - 1) / (one.ranks - server)
    return _job(one, results)["bus_gbps"] / 8 / most


def goodput_gbps(_: Measurement, results: Results) -> float:
    """Of the only flow."""
    flow = results.to_polars("flows").row(0, named=True)
    return float(flow["size_bytes"] * 8 / flow["fct_ns"])


def rate_of_messages(one: Measurement, results: Results) -> float:
    """Of a perftest with messages of this size, in the measurement's unit."""
    tests = perftest(results)
    row = tests.filter(tests["size_bytes"] == one.size_bytes).row(0, named=True)
    return float(row["messages_per_second"] / 1e6 if one.unit == "Mpps" else row["rate_gbps"])


def exchange_us(_: Measurement, results: Results) -> float:
    """What a dispatch takes. A combine has the same traffic the other way; in a job some ranks begin it before others,
    and those who measure it begin together."""
    jobs = results.to_polars("jobs")
    return float(jobs.filter(jobs["name"] == "dispatch")["jct_ns"][0] / 1e3)


def group_mbps(one: Measurement, results: Results) -> float:
    """The mean of a group of DCTCP's senders in the last second, headers included, as published figures are: those of
    S1 and S3 add up to the rate of the link that they share."""
    group = next(name for name in DCTCP_GROUPS if f"group {name}" in one.what)
    ports = results.to_polars("ports")
    senders = ports.filter(ports["node"].is_in([f"host{host}" for host in DCTCP_GROUPS[group]]))
    series = results.to_polars("series")
    last = series.filter((series["time_ns"] >= 4e9) & series["port"].is_in(senders["port"].to_list()))
    return float(last["tx_bytes"].sum()) * 8 / 1e6 / len(senders)


def _job(one: Measurement, results: Results) -> dict[str, float]:
    jobs = results.to_polars("jobs")
    return jobs.filter(jobs["size_bytes"] == one.size_bytes).row(0, named=True)
