"""What finished cases take of memory and disk, foreseen from what they record.

The constants are what runs of all examples came to, and a slow test holds them to it. Tables are compressed, so a row
takes fewer bytes than its columns, and a file takes some kilobytes that say what its columns are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from packetloom import _core

PS_PER_S = 1e12
SERVING = "serving"
FOLDER_DISK_BYTES = 12e3
"""The scenario, the marker, and the tables of cases without a row."""
CASE_DISK_BYTES = 30e3
"""Its rows in `plan.jsonl` and `cases.parquet`, and the empty files of its flows and ports."""
JOBS_DISK_BYTES = 30e3
"""Those of its jobs, repetitions and ranks;"""
OPERATIONS_DISK_BYTES = 54e3
"""of operations, critical paths, timelines and traces."""
FLOW_DISK_BYTES = 50.0
MESSAGE_DISK_BYTES = 21.0
"""A row of a flow of random size and start, and of a job's message, which is much like the last one: by packets 17 to
30, but 4 where nothing shares a link."""
PORT_DISK_BYTES = 30.0
"""A row of a port that carries something: 28 to 34 on networks of 256 to 1,152 ports."""
REQUESTS_DISK_BYTES = 14e3
REQUEST_DISK_BYTES = 95.0
"""The file of requests to a language model, and a row of it: 20 to 1,000 requests take 15 to 109 kB."""
FLUID_MESSAGE_DISK_BYTES = 4.0
FLUID_OPERATION_DISK_BYTES = 210.0
"""The same without packets, where what is alike takes equally long: 170 where no rank is late, 260 where some are."""
WHOLES_DISK_BYTES = 200e3
WHOLE_MESSAGE_DISK_BYTES = 3.0
WHOLE_OPERATION_DISK_BYTES = 0.065
"""Where operations are wholes, of `jobs.parquet` and critical paths, and for each message and operation of a rank:
steps of `examples/gpt-16k.toml` on 512 to 16,384 ranks take 0.42 to 4.5 MB."""
OPERATION_DISK_BYTES = 260.0
"""Of an operation of a rank in all the tables that have it."""
SAMPLE_DISK_BYTES = 2.4
"""Of a sample of a port: most are as the one before. Idle ports take 1.7 to 2.1, busy ones 3.4."""

RUN_MEMORY_BYTES = 180e6
"""Of the least run, its tables and the diagnosis at its end included;"""
TABLES_MEMORY_BYTES = 85e6
"""of these by themselves."""
FLOW_MEMORY_BYTES = 600.0
MESSAGE_MEMORY_BYTES = 300.0
SAMPLE_MEMORY_BYTES = 190.0
"""Of a row while it is made, compressed and written."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a case is expected to cost and to do."""

    flows: float
    packet_hops: float
    cpu_s: float
    port_s: float = 0.0
    """Its own time, in seconds, times its ports."""
    ports: float = 0.0
    operations: float = 0.0
    """Of all ranks of jobs, in all repetitions."""
    memory_bytes: float = 0.0
    """Of the simulation, where no trial tells it."""
    is_whole: bool = False
    """Whether operations are estimated as wholes."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a case takes on disk, and of memory until it is there."""

    disk_bytes: float
    memory_bytes: float


def recorded_of(case: _core.Case, expected: Expected) -> Recorded:
    """What a case takes of which so much is expected."""
    text = json.loads(case.json)
    # All that have repetitions are jobs.
    has_jobs = any("repeat" in source["arrivals"] for source in text["workloads"])
    interval = text["measure"]["series_interval"]
    samples = PS_PER_S * expected.port_s / interval["ps"] if interval else 0.0
    is_fluid = (text["run"].get("fidelity") or {}).get("kind") == "flows"
    of_a_message = FLUID_MESSAGE_DISK_BYTES if is_fluid else MESSAGE_DISK_BYTES
    of_a_message = WHOLE_MESSAGE_DISK_BYTES if expected.is_whole else of_a_message
    of_an_operation = FLUID_OPERATION_DISK_BYTES if is_fluid else OPERATION_DISK_BYTES
    disk = CASE_DISK_BYTES + expected.flows * (of_a_message if has_jobs else FLOW_DISK_BYTES)
    disk += samples * SAMPLE_DISK_BYTES + expected.ports * PORT_DISK_BYTES
    served = [source["arrivals"] for source in text["workloads"] if source["arrivals"]["kind"] == SERVING]
    # Of a trace that is taken whole, a request is a flow or some.
    asked = [one["requests"] or expected.flows for one in served]
    disk += sum(REQUESTS_DISK_BYTES + count * REQUEST_DISK_BYTES for count in asked)
    if has_jobs:
        disk += JOBS_DISK_BYTES
        if expected.is_whole:
            disk += WHOLES_DISK_BYTES + expected.operations * WHOLE_OPERATION_DISK_BYTES
        if text["measure"]["operations"]:
            disk += OPERATIONS_DISK_BYTES + expected.operations * of_an_operation
    of_a_flow = MESSAGE_MEMORY_BYTES if has_jobs else FLOW_MEMORY_BYTES
    memory = expected.memory_bytes + expected.flows * of_a_flow + samples * SAMPLE_MEMORY_BYTES
    return Recorded(disk, memory)
