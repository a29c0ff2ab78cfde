"""Each set of measurements: the machine as far as it is published, and which constants it takes from where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packetloom.results import Results
from packetloom.scenario import Scenario
from packetloom.validate.hardware.measurements import Measurement, measurements

MIB = 2**20
SCHEME = {"name": "RoCE", "transport": "roce", "queue": "drop-tail"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSet:
    """A set of figures, the scenarios that repeat them, and what is asked of the two together."""

    name: str
    file: str
    what: str
    constants: str
    scenario: Callable[[Sequence[Measurement]], Scenario]
    """For figures that differ by their size alone."""
    value: Callable[[Measurement, Results], float]
    median: float
    """The median error that is asked for."""
    nine_of_ten: float | None = None
    """So much, or less, of nine figures of ten."""
    judged_from: int = 0
    """Smaller operations are decided by hosts: they are reported and not judged."""
    up_to: int | None = None
    """Larger ones are not run."""
    missed: str = ""
    """Why the set is missed, as far as it is known; empty: it is met."""
    quick: bool = True
    only: Mapping[str, Any] = field(default_factory=dict)

    @property
    def figures(self) -> list[Measurement]:
        """The measurements that are repeated."""
        return [one for one in measurements(self.file) if self.up_to is None or one.size_bytes <= self.up_to]


def library_job(figures: Sequence[Measurement], **library: Any) -> dict[str, Any]:
    """The operation of these figures, of all their sizes, carried out by NCCL."""
    one = figures[0]
    sizes = [f"{figure.size_bytes}B" for figure in figures]
    of_rows = {key: value for key, value in (("algorithm", one.algorithm), ("protocol", one.protocol)) if value}
    arrivals = {"kind": "collective", "operation": one.operation, "size": sizes if len(sizes) > 1 else sizes[0]}
    return {"arrivals": arrivals | {"library": {"kind": "nccl"} | of_rows | library}}


def servers(one: Measurement, nic: str, **inside: Any) -> dict[str, Any]:
    """A rail-optimised network without spines between rails that would matter: all servers on one switch a rail."""
    network = {"kind": "rail-optimised", "servers": one.servers, "accelerators": one.ranks // one.servers}
    link = {"rate": nic, "delay": "500ns"}
    return network | {"servers_per_rail_switch": one.servers, "framing": "20B", "link": link} | inside


def tuner(nic: str, **library: Any) -> Callable[[Sequence[Measurement]], Scenario]:
    """By the cost model alone."""

    def scenario(figures: Sequence[Measurement]) -> Scenario:
        return Scenario(
            topology=servers(figures[0], nic),
            workload=[library_job(figures, mode="tuner", **library)],
            schemes=[SCHEME],
            run={"seeds": 1},
        )

    return scenario


def hopper_packets(figures: Sequence[Measurement]) -> Scenario:
    """Packets of 4096 B with RoCEv2's 62 B of headers, and NVLink of 450 GB/s in each direction."""
    scale_up = {"rate": "3600Gbps", "delay": "300ns"}
    roce = {"kind": "roce", "mss": "4096B", "header": "62B"}
    return Scenario(
        topology=servers(figures[0], "400Gbps", scale_up=scale_up),
        workload=[library_job(figures, generation="hopper")],
        schemes=[SCHEME | {"transport": roce, "queue": {"kind": "drop-tail", "capacity": "100MB"}}],
        run={"seeds": 1},
    )


def tcp_ring(figures: Sequence[Measurement]) -> Scenario:
    """TCP segments of 1448 B with 70 B of headers in frames of 1518 B; a ring that uses one NIC of a server."""
    tcp = {"kind": "fixed-window", "mss": "1448B", "header": "70B", "initial_window": 64}
    scale_up = {"rate": "96Gbps", "delay": "500ns"}
    library = {"generation": "volta", "inside": "pcie", "nics": 1, "nvls": False, "protocol": "simple"}
    return Scenario(
        topology=servers(figures[0], "10Gbps", scale_up=scale_up),
        workload=[library_job(figures, **library)],
        schemes=[SCHEME | {"name": "TCP", "transport": tcp, "queue": {"kind": "drop-tail", "capacity": "100MB"}}],
        run={"seeds": 1},
    )


def one_flow(figures: Sequence[Measurement]) -> Scenario:
    """A flow of 64 MiB between two hosts on a switch."""
    roce = {"kind": "roce", "mss": "4096B", "header": "62B"}
    return Scenario(
        topology={"kind": "rack", "hosts": 2, "link": {"rate": "400Gbps", "delay": "500ns"}, "framing": "20B"},
        workload=[
            {
                "sizes": {"kind": "constant", "size": f"{64 * MIB}B"},
                "arrivals": "at-once",
                "pattern": {"kind": "pair", "src": 0, "dst": 1},
            }
        ],
        schemes=[SCHEME | {"transport": roce, "queue": {"kind": "drop-tail", "capacity": "100MB"}}],
        run={"seeds": 1},
    )


def time_us(one: Measurement, results: Results) -> float:
    """What the operation takes."""
    return _job(one, results)["jct_ns"] / 1e3


def share_of_388(one: Measurement, results: Results) -> float:
    """Its bus bandwidth over 388 GB/s, of which the table has shares."""
    return _job(one, results)["bus_gbps"] / 8 / 388


def goodput_gbps(_: Measurement, results: Results) -> float:
    """Of the only flow."""
    flow = results.to_polars("flows").row(0, named=True)
    return float(flow["size_bytes"] * 8 / flow["fct_ns"])


def _job(one: Measurement, results: Results) -> dict[str, float]:
    jobs = results.to_polars("jobs")
    return jobs.filter(jobs["size_bytes"] == one.size_bytes).row(0, named=True)


RING_TUNER = "NCCL's cost model at 2.30.7 alone; NICs of 400 Gb/s"

SETS: list[HardwareSet] = [
    HardwareSet(
        name="goodput",
        file="goodput_ceiling",
        what="one flow of writes over 400 Gb/s",
        constants="packets of 4096 B; RoCEv2: 62 B of headers and FCS, 20 B of preamble and gap",
        scenario=one_flow,
        value=goodput_gbps,
        median=0.01,
    ),
    HardwareSet(
        name="ring-10g",
        file="hkbu_10g_ring",
        what="all-reduce round a ring, 8 servers of 4 RTX 2080 Ti, 10 GbE, sockets",
        constants="segments of 1448 B in frames of 1538 B on the wire; PCIe of 12 GB/s (topo.h); tuner's hops",
        scenario=tcp_ring,
        value=time_us,
        median=0.01,
        up_to=64 * MIB,
        quick=False,
    ),
    HardwareSet(
        name="h1-ring",
        file="h1_nic",
        what="shares of a bus bandwidth, 16 to 1,024 GPUs in servers of 8",
        constants=f"{RING_TUNER}; 388 GB/s of the table's own definition",
        scenario=tuner("400Gbps", algorithm="ring", protocol="simple"),
        value=share_of_388,
        median=0.10,
    ),
    HardwareSet(
        name="a3ultra-tuner",
        file="gcp_a3ultra_allgather",
        what="all-gather, 2 servers of 8 H200, by the cost model",
        constants=RING_TUNER,
        scenario=tuner("400Gbps"),
        value=time_us,
        median=0.10,
        nine_of_ten=0.20,
        judged_from=16 * MIB,
    ),
    HardwareSet(
        name="a3ultra-packets",
        file="gcp_a3ultra_allgather",
        what="all-gather, 2 servers of 8 H200, by packets, up to 128 MiB",
        constants="tuner's base and hops; packets of 4096 B; NVLink of 450 GB/s (NVIDIA's H200 data sheet)",
        scenario=hopper_packets,
        value=time_us,
        median=0.10,
        nine_of_ten=0.20,
        judged_from=16 * MIB,
        up_to=128 * MIB,
        quick=False,
    ),
    HardwareSet(
        name="h100-tuner",
        file="one_server_h100_nvidia",
        what="all-reduce in a server of 8 H100, by the cost model",
        constants="NCCL's cost model at 2.30.7 alone",
        scenario=tuner("400Gbps"),
        value=time_us,
        median=0.10,
        judged_from=MIB,
    ),
    *(
        HardwareSet(
            name=f"{name}-tuner",
            file=f"h4_{name}",
            what=f"four operations among 2 and 4 {name.upper()} of a server, by the cost model",
            constants="NCCL's cost model at 2.30.7 alone",
            scenario=tuner("400Gbps", generation=generation, nvls=False),
            value=time_us,
            median=0.10,
            judged_from=MIB,
        )
        for name, generation in (("a100", "ampere"), ("gh200", "hopper"))
    ),
]
