"""The sets, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packetloom.validate.hardware.machines import (
    DEPTH,
    MIB,
    Machine,
    Scenario,
    Servers,
    beside,
    by_packets,
    by_tuner,
    experts,
    infiniband,
    lone_links,
    one_flow,
    reads,
    roce,
    tcp,
    two_bottlenecks,
    two_hosts,
)
from packetloom.validate.hardware.measurements import Measurement
from packetloom.validate.hardware.sets import (
    HardwareSet,
    Missed,
    exchange_us,
    goodput_gbps,
    group_mbps,
    rate_of_messages,
    share_of_exchange,
    share_of_nics,
    time_us,
)

GIB = 1024 * MIB
TUNER = "NCCL's cost model at 2.30.7 alone"
HOPS = "NCCL's latencies of hops and rates of a channel"
THREADS = "NVLink of 18 times 20.6 GB/s (NCCL, topo.h)"
HOPPER_LINK_GBYTES = 20.6
"""Of data that accelerators' threads write over an NVLink of 25 GB/s (NCCL, topo.h: SM90_NVLINK_BW; issue 1442)."""
HOPPER_GBYTES = 18 * HOPPER_LINK_GBYTES
HOPPER_NVLINK = f"{8 * HOPPER_GBYTES:.1f}Gbps"
HOPPER_NVLINK_OF_ROCE = f"{8 * HOPPER_GBYTES * 4178 / 4096:.1f}Gbps"
"""The same where packets have RoCE's headers inside servers, too."""
NVSWITCH = f"{8 * 8 * HOPPER_GBYTES * 0.85:.1f}Gbps"
"""What a switch that reduces takes of what eight accelerators send at once (NCCL, tuning.cc: nvlsEfficiency)."""
AMPERE_LINK_GBYTES = 25
"""Of an A100's NVLink, headers included (NVIDIA)."""
PCIE = "96Gbps"
"""12 GB/s: PCIe 3.0 with 16 lanes (NCCL, topo.h: PCI_BW)."""


def hopper() -> Machine:
    """Servers of eight Hopper accelerators, each with a NIC of 400 Gb/s."""
    servers = Servers(nic="400Gbps", inside=HOPPER_NVLINK_OF_ROCE)
    return by_packets(lambda _: servers, beside(roce()), generation="hopper")


def turing(nic: str, scheme: dict[str, Any], framing: str = "20B", **library: Any) -> Machine:
    """Servers of four RTX 2080 Ti on PCIe, with one NIC."""
    servers = Servers(nic=nic, inside=PCIE, inside_delay="500ns", framing=framing)
    return by_packets(lambda _: servers, scheme, generation="volta", inside="pcie", nics=1, **library)


def mesh(scheme: dict[str, Any], link_gbytes: float, links: int, **library: Any) -> Machine:
    """Accelerators of which each two are joined by so many NVLinks of their own."""

    def scenario(figures: Sequence[Measurement]) -> Scenario:
        others = figures[0].ranks - 1
        servers = Servers(nic="400Gbps", inside=f"{8 * links * link_gbytes * others:.1f}Gbps")
        return by_packets(lambda _: servers, scheme, nvlinks=links * others, **library)(figures)

    return scenario


def mesh_by_tuner(links: int, **library: Any) -> Machine:
    """The same by the cost model alone: so many NVLinks join each two."""

    def scenario(figures: Sequence[Measurement]) -> Scenario:
        return by_tuner("400Gbps", nvlinks=links * (figures[0].ranks - 1), **library)(figures)

    return scenario


SETS: list[HardwareSet] = [
    HardwareSet(
        file="goodput_ceiling",
        by="packets",
        what="one flow of RDMA writes",
        constants="headers of RoCEv2 (82 B on the wire with preamble and gap) or InfiniBand (26 B)",
        machine=one_flow,
        value=goodput_gbps,
        median=0.01,
    ),
    *(
        HardwareSet(
            file=file,
            by="packets",
            what=f"ib_write_bw with one queue pair, {what}",
            constants=f"{headers}; {DEPTH} messages outstanding; a message takes {cost_ns} ns to post, as those of "
            f"{least} B do",
            machine=two_hosts(packets, costs_ns=cost_ns),
            value=rate_of_messages,
            median=0.05,
            judged_from=2 * least,
        )
        for file, what, headers, packets, least, cost_ns in (
            ("perf_cx6_hdr", "200 Gb/s InfiniBand", "packets of 4096 B behind 26 B", infiniband(), 2, 185.62),
            ("perf_100g_dc", "100 Gb/s RoCE", "packets of 4096 B behind 82 B", roce(), 2, 172.61),
            ("perf_100g_mtu1k", "100 Gb/s RoCE, MTU 1024", "packets of 1024 B behind 82 B", roce(1024), 4, 145.45),
        )
    ),
    HardwareSet(
        file="h5_perftest",
        by="packets",
        what="ib_write_bw with one and eight queue pairs, 400 Gb/s RoCE",
        constants=f"packets of 4096 B behind 82 B; {DEPTH} messages of a queue pair outstanding, perftest's own number",
        machine=two_hosts(roce()),
        value=rate_of_messages,
        median=0.05,
    ),
    HardwareSet(
        file="h10_p2p",
        part="single",
        says="one at a time",
        by="packets",
        what="writes one at a time, 200 and 400 Gb/s RoCE",
        constants="packets of 4096 B behind 82 B; a message takes its hosts 7.9 us (400 Gb/s) and 4.12 us (200 Gb/s), "
        "as those of 32 and 4 KiB do",
        machine=two_hosts(roce(), costs_ns={400.0: 7900.0, 200.0: 4120.0}, depth=1),
        value=rate_of_messages,
        median=0.05,
        judged_from=65536,
    ),
    HardwareSet(
        file="h10_p2p",
        part="many",
        says="many in flight",
        by="packets",
        what="writes, many at a time, 400 Gb/s RoCE",
        constants=f"packets of 4096 B behind 82 B; {DEPTH} messages outstanding, perftest's own number; a message "
        "takes 268.81 ns to post, as those of 4 KiB do",
        machine=two_hosts(roce(), costs_ns=268.81),
        value=rate_of_messages,
        median=0.05,
        judged_from=8192,
    ),
    HardwareSet(
        file="h14_dctcp",
        says="testbed",
        by="packets",
        what="shares of DCTCP flows at one bottleneck and at two, 1 and 10 Gb/s",
        constants="DCTCP, SIGCOMM 2010: K of 20 and 65 packets, g of 1/16, delayed ACKs, 700 KB a port; 10 us for a "
        "link, as ns-3's example has",
        machine=two_bottlenecks,
        value=group_mbps,
        median=0.10,
    ),
    HardwareSet(
        file="hkbu_10g_ring",
        by="packets",
        what="all-reduce round a ring, 8 servers of 4, 10 GbE, sockets",
        constants="frames of 1538 B for 1448 B of data; PCIe 3.0",
        machine=turing("10Gbps", tcp()),
        value=time_us,
        median=0.01,
        judged_from=16 * MIB,
        most_bytes=8 * GIB,
        is_quick=False,
    ),
    HardwareSet(
        file="hkbu_10g",
        by="packets",
        what="all-reduce as NCCL chose, the same servers",
        constants=f"frames of 1538 B for 1448 B of data; PCIe 3.0; {HOPS}",
        machine=turing("10Gbps", tcp()),
        value=time_us,
        median=0.10,
        nine_of_ten=0.20,
        judged_from=16 * MIB,
        most_bytes=GIB,
        is_quick=False,
    ),
    HardwareSet(
        file="hkbu_100g",
        by="packets",
        what="all-reduce as NCCL chose, the same servers, 100 Gb/s InfiniBand",
        constants=f"packets of 4096 B; PCIe 3.0; {HOPS}",
        machine=turing("100Gbps", infiniband().scheme(), "0B"),
        value=time_us,
        median=0.10,
        nine_of_ten=0.20,
        judged_from=16 * MIB,
        most_bytes=8 * GIB,
        is_quick=False,
        missed=Missed(
            why="PCIe carried 5.5 GB/s on these servers (bus bandwidth at large sizes), not 12: with that it is within "
            "1 % at 16 and 32 MiB",
            median=0.537,
            nine_of_ten=0.540,
        ),
    ),
    HardwareSet(
        file="h1_nic",
        by="tuner",
        what="all-gather round rings, 16 to 1,024 accelerators",
        constants=f"{TUNER}; eight NICs of 400 Gb/s a server",
        machine=by_tuner("400Gbps", protocol="simple"),
        value=share_of_nics,
        median=0.10,
    ),
    HardwareSet(
        file="h1_nic",
        by="packets",
        what="all-gather round rings, 16 to 128 accelerators",
        constants=f"{HOPS}; {THREADS}; packets of 4096 B",
        machine=by_packets(
            lambda _: Servers(nic="400Gbps", inside=HOPPER_NVLINK_OF_ROCE),
            beside(roce()),
            generation="hopper",
            protocol="simple",
        ),
        value=share_of_nics,
        median=0.10,
        nine_of_ten=0.20,
        most_bytes=32 * GIB,
        most_ranks=128,
        is_quick=False,
        missed=Missed(
            why="packets hide the latency of a hop behind the chunks that follow; the machines are as slow as the cost "
            "model, which adds up all hops, at 64 and 128 MiB above all",
            median=0.107,
            nine_of_ten=0.574,
        ),
    ),
    HardwareSet(
        file="h1_ata",
        by="packets",
        what="all-to-all, 16 to 64 accelerators",
        constants=f"{HOPS}; {THREADS}; packets of 4096 B; PXN",
        machine=hopper(),
        value=share_of_exchange,
        median=0.10,
        nine_of_ten=0.20,
        most_bytes=4 * GIB,
        most_ranks=64,
        is_quick=False,
        missed=Missed(
            why="threads that pairs share explain half of what was missed; what binds two servers to 0.8 of "
            "their NICs up to 16 GiB is not known",
            median=0.149,
            nine_of_ten=0.315,
        ),
    ),
    HardwareSet(
        file="gcp_a3ultra_allgather",
        by="tuner",
        what="all-gather, 2 servers of 8 H200",
        constants=f"{TUNER}; NICs of 400 Gb/s",
        machine=by_tuner("400Gbps"),
        value=time_us,
        median=0.10,
        nine_of_ten=0.20,
        judged_from=16 * MIB,
        missed=Missed(
            why="channels carry less than the 24 GB/s that the model has (20 GB/s by the largest sizes)",
            median=0.139,
        ),
    ),
    HardwareSet(
        file="gcp_a3ultra_allgather",
        by="packets",
        what="all-gather, 2 servers of 8 H200, up to 2 GiB",
        constants=f"{HOPS}; {THREADS}; packets of 4096 B",
        machine=hopper(),
        value=time_us,
        median=0.10,
        nine_of_ten=0.20,
        judged_from=16 * MIB,
        most_bytes=32 * GIB,
        is_quick=False,
        missed=Missed(
            why="this cloud ships a plug-in that chooses instead of the library; channels carry 20 GB/s of the 24 that "
            "NICs have for each",
            median=0.147,
            nine_of_ten=0.266,
        ),
    ),
    *(
        HardwareSet(
            file=file,
            by="tuner",
            what=f"all-reduce in a server of 8 H100 ({whose})",
            constants=TUNER,
            machine=by_tuner("400Gbps"),
            value=time_us,
            median=0.10,
            judged_from=MIB,
        )
        for file, whose in (("one_server_h100_nvidia", "NVIDIA"), ("one_server_h100_aws", "AWS"))
    ),
    *(
        HardwareSet(
            file=file,
            by="packets",
            what=f"all-reduce in a server of 8 H100 ({whose}), up to 1 GiB",
            constants=f"{HOPS}; {THREADS}; a switch that reduces at 0.85 of eight accelerators' rate (nvlsEfficiency)",
            machine=by_packets(
                lambda _: Servers(nic="400Gbps", inside=HOPPER_NVLINK, reduction=NVSWITCH),
                lone_links(),
                generation="hopper",
            ),
            value=time_us,
            median=0.10,
            judged_from=MIB,
            most_bytes=8 * GIB,
            is_quick=False,
        )
        for file, whose in (("one_server_h100_nvidia", "NVIDIA"), ("one_server_h100_aws", "AWS"))
    ),
    HardwareSet(
        file="ep_deepep",
        says="low-latency",
        by="packets",
        what="dispatch and combine of experts, 8 to 64 H800, DeepEP's low-latency kernels",
        constants="128 tokens of 7392 B (FP8, scales) or 14336 B (BF16) to 8 of 256 experts, evenly; NVLink of "
        "160 GB/s (DeepEP); packets of 4096 B behind 26 B; unbounded fabric",
        machine=experts(
            infiniband().scheme(),
            tokens=128,
            bytes_of={"dispatch": 7392, "combine": 14336},
            scale_up={"rate": "1280Gbps", "delay": "300ns"},
            framing="0B",
        ),
        value=exchange_us,
        median=0.10,
        nine_of_ten=0.20,
        most_ranks=64,
        is_quick=False,
        missed=Missed(
            why="in one server kernels take longer than their bytes on NVLink; that time, added to all, makes EP 32 "
            "and 64 up to 19 % too slow",
            median=0.104,
            nine_of_ten=0.376,
        ),
    ),
    *(
        HardwareSet(
            file=f"h4_{name}",
            by="packets",
            what=f"four operations among 2 and 4 {name.upper()} of a server",
            constants=f"{HOPS}; {links} NVLinks between two, {rate}",
            machine=mesh(scheme, link_gbytes, links, **library),
            value=time_us,
            median=0.10,
            judged_from=MIB,
            is_quick=False,
            missed=missed,
        )
        for name, scheme, link_gbytes, rate, links, missed, library in (
            (
                "a100",
                reads(),
                AMPERE_LINK_GBYTES,
                "25 GB/s: 128 B of data behind 16 B, and 16 B back",
                4,
                Missed(why="from 1 to 16 MiB it takes up to twice as long; a cause is not known", median=0.153),
                {"generation": "ampere", "cpu": "amd"},
            ),
            (
                "gh200",
                lone_links(),
                HOPPER_LINK_GBYTES,
                "20.6 GB/s of data (NCCL, topo.h)",
                6,
                None,
                {"generation": "hopper", "cpu": "arm", "nvls": False},
            ),
        )
    ),
    *(
        HardwareSet(
            file=f"h4_{name}",
            by="tuner",
            what=f"four operations among 2 and 4 {name.upper()} of a server",
            constants=f"{TUNER}; {links} NVLinks between two",
            machine=mesh_by_tuner(links, **library),
            value=time_us,
            median=0.10,
            judged_from=MIB,
            missed=Missed(
                why="channels carry less than the model has",
                median=error,
            ),
        )
        for name, links, error, library in (
            ("a100", 4, 0.236, {"generation": "ampere", "cpu": "amd"}),
            ("gh200", 6, 0.121, {"generation": "hopper", "cpu": "arm", "nvls": False}),
        )
    ),
]
