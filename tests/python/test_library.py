"""NCCL's cost model in scenarios: what it chooses, what that takes, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from packetloom import PacketloomError
from packetloom.campaign.executor import simulation_of
from packetloom.cli.main import app
from packetloom.scenario.plan import read_plan

Json = Any


def scenario(arrivals: Json, servers: int = 2, **topology: Json) -> Json:
    """Servers of eight accelerators with a NIC of 400 Gb/s each."""
    link = {"rate": "400Gbps", "delay": "500ns"}
    network = {"kind": "rail-optimised", "servers": servers, "accelerators": 8, "link": link} | topology
    scheme = {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "capacity": "1MB", "mark_above": "100KB"}}
    return {"topology": network, "workload": [{"arrivals": arrivals}], "scheme": [scheme]}


def reduce(size: str, operation: str = "all-reduce", **library: Json) -> Json:
    return {
        "kind": "collective",
        "operation": operation,
        "size": size,
        "library": {"kind": "nccl", "mode": "tuner"} | library,
    }


def jobs(made: Json) -> dict[str, Any]:
    return dict(simulation_of(read_plan(made).cases[0]).run(1).jobs)


def test_an_operation_takes_what_the_library_printed() -> None:
    # NVIDIA/nccl issue 1453, three servers of eight H100, in us.
    for size, logged in ((2048, 25.495272), (4096, 25.874907), (8192, 26.549810)):
        found = jobs(scenario(reduce(f"{size}B"), servers=3))
        assert found["jct_ns"][0] == pytest.approx(logged * 1e3, rel=1e-6)
        assert (found["algorithm"][0], found["protocol"][0], found["library"][0]) == ("tree", "ll", "nccl")


def test_every_repetition_takes_as_long_and_has_its_bus_bandwidth() -> None:
    found = jobs(scenario(reduce("1073741824B", "all-gather") | {"repeat": 3}))
    assert len(found["jct_ns"]) == 3
    assert np.allclose(found["jct_ns"], found["model_ns"])
    # 70 us of latency, then 8 channels of 48 GB/s.
    takes = 70e3 + 2**30 / (8 * 48 * 16 / 15)
    assert found["jct_ns"][0] == pytest.approx(takes, rel=1e-6)
    assert found["bus_gbps"][0] == pytest.approx(2**30 * 8 / takes * 15 / 16, rel=1e-6)
    assert found["channels"][0] == 16


def test_training_waits_for_its_last_rank() -> None:
    training = {"kind": "training", "tensor": 8, "data": 2, "layers": 2, "forward": "1ms", "activations": "4MB"}
    training |= {"gradients": "50MB", "library": {"kind": "nccl", "mode": "tuner"}}
    outcome = simulation_of(read_plan(scenario(training)).cases[0]).run(1)
    compute, took = outcome.iterations["compute_ns"][0], outcome.iterations["jct_ns"][0]
    tensor = outcome.jobs["name"] == "reduce activations"
    # What tensor parallel ranks reduce lies between their computations, so it adds up.
    per_rank = sum(np.asarray(outcome.jobs["jct_ns"])[np.asarray(tensor)]) / 2
    assert took >= compute + per_rank


def test_check_says_what_is_chosen_and_why(tmp_path: Any) -> None:
    file = tmp_path / "it.json"
    file.write_text(json.dumps(scenario(reduce("1073741824B"))))
    result = CliRunner().invoke(app, ["check", str(file)])
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "NCCL's all-reduce of 1073741824 B among 16 ranks on 2 servers: nvls-tree with simple, 16 channels:" in said
    assert "; tree with simple would take" in said or "; ring with simple would take" in said


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        (reduce("1MB", algorithm="nvls", generation="ampere"), 'switches reduce from "hopper" on'),
        (reduce("1MB", algorithm="pat", protocol="ll"), "pat has Simple alone"),
        (reduce("1MB", min_channels=8, max_channels=4), "is more than max_channels"),
        (reduce("1MB", "broadcast", algorithm="tree"), "NCCL has no broadcast among 16 ranks"),
        (reduce("1MB", "all-to-all"), "has no all-to-all"),
        (reduce("1MB") | {"channels": 4}, "the library decides that"),
        (reduce("1MB") | {"algorithm": "ring"}, "write library.algorithm"),
        (reduce("1MB") | {"ranks": 12}, "equally many ranks of a group in each server"),
        (reduce("1MB", algorithm="nvls-tree", nvls=False), "needs it; write true"),
        (reduce("1MB", protocol="ll128", inside="pcie"), "LL128 over NVLink only"),
    ],
)
def test_what_means_nothing_is_refused(arrivals: Json, message: str) -> None:
    with pytest.raises(PacketloomError, match=message):
        simulation_of(read_plan(scenario(arrivals)).cases[0])


def test_what_has_no_packets_is_refused_where_packets_are_simulated() -> None:
    for rung in ("links", "steady"):
        with pytest.raises(PacketloomError):
            simulation_of(read_plan(scenario(reduce("1MB")) | {"run": {"fidelity": rung}}).cases[0])


def test_what_has_no_packets_takes_as_long_under_flows() -> None:
    def taken_ns(rung: str) -> Any:
        made = scenario(reduce("1MB")) | {"run": {"fidelity": rung}}
        return simulation_of(read_plan(made).cases[0]).run(1).jobs["jct_ns"]

    assert list(taken_ns("flows")) == list(taken_ns("packets")) != []


def sent(made: Json, threads: int = 1) -> Any:
    """What came of a scenario in which messages are sent; nothing else counts but them."""
    outcome = simulation_of(read_plan(made).cases[0]).run(threads)
    assert not outcome.warnings
    return outcome


def by_packets(size: str, operation: str = "all-reduce", servers: int = 2, **library: Json) -> Json:
    """With NVLink, and a transport that never waits."""
    scale_up = {"rate": "3600Gbps", "delay": "300ns"}
    made = scenario(reduce(size, operation, mode="packets", nvls=False, **library), servers, scale_up=scale_up)
    roce = {"kind": "roce", "mss": "4096B"}
    made["scheme"] = [{"name": "RoCE", "transport": roce, "queue": {"kind": "drop-tail", "capacity": "100MB"}}]
    return made


@pytest.mark.parametrize("operation", ["all-gather", "reduce-scatter"])
def test_pat_takes_what_the_cost_model_says_where_bytes_are_few(operation: str) -> None:
    made = by_packets("1024B", operation, servers=8, algorithm="pat")
    made["topology"] |= {"accelerators": 1, "servers_per_rail_switch": 8}
    outcome = sent(made)
    # 8 us, 2.8 for each rank, and three steps of 14 us / 3.5: to 4, 2 and 1 ranks away, with the data of 1, 2 and 4.
    assert outcome.jobs["jct_ns"][0] == pytest.approx(8e3 + 8 * 2.8e3 + 3 * 4e3, rel=0.01)
    assert sorted(outcome.flows["size_bytes"]) == [128] * 8 + [256] * 8 + [512] * 8
    pairs = zip(map(int, outcome.flows["src"]), map(int, outcome.flows["dst"]), strict=True)
    hops = {(src - dst if operation == "all-gather" else dst - src) % 8 for src, dst in pairs}
    assert hops == {1, 2, 4}


def test_threads_of_a_channel_bound_it_unless_they_are_fast() -> None:
    how: dict[str, Any] = {"algorithm": "ring", "protocol": "simple", "max_channels": 1}

    def takes(**library: Any) -> float:
        return float(sent(by_packets("67108864B", "all-gather", 2, **how, **library)).jobs["jct_ns"][0])

    # One channel of 16 chunks of 4 MiB, in slices of 1 MiB: threads write or take each, at 38.7 GB/s on Hopper.
    by_threads = 16 * 4 * 2**20 / 38.7
    assert takes() > by_threads > takes(channel_rate="100Tbps")
    assert takes() == takes(channel_rate="309.6Gbps")


def test_a_ring_sends_the_messages_of_the_library() -> None:
    made = by_packets("16777216B", algorithm="ring", protocol="simple", min_channels=8, max_channels=8)
    outcome = sent(made)
    flows = outcome.flows
    # Eight channels of 2 MiB: chunks of 128 KiB for 16 ranks, in slices of 64 KiB, passed on 30 times.
    assert len(flows["size_bytes"]) == 16 * 8 * 30 * 2
    assert sum(flows["size_bytes"]) == 16 * 2 * 15 * 2**20
    takes = outcome.jobs["jct_ns"][0]
    # No NIC can be below its bytes: 15/16 of the vector twice, over eight NICs of 400 Gb/s.
    assert takes > 2 * 15 * 2**20 * 8 / 8 / 400 * 1
    assert outcome.jobs["algorithm"][0] == "ring"


def test_costs_count_once_for_each_hop_and_call() -> None:
    free: dict[str, Any] = {"call_cost": "0us", "network_cost": "0us", "inside_cost": "0us"}
    how: dict[str, Any] = {"algorithm": "ring", "protocol": "ll"}

    def takes(**costs: Any) -> float:
        return float(sent(by_packets("8192B", "all-gather", **how, **(free | costs))).jobs["jct_ns"][0])

    least = takes()
    assert takes(call_cost="10us") - least == pytest.approx(10e3, rel=1e-6)
    # A chunk passes 15 of the ring's 16 links, of which two are between the servers.
    assert takes(network_cost="5us") - least == pytest.approx(10e3, rel=0.01)
    assert takes(network_cost="1us", inside_cost="1us") - least == pytest.approx(15e3, rel=0.01)
    # By default all hops together take what the cost model says, but that it counts the links between servers once:
    # 6.6 us, 14 steps of 1 us (posting to the network) and one of 2.7; the network's own time is in there.
    default = sent(by_packets("8192B", "all-gather", **how)).jobs
    assert default["model_ns"][0] == pytest.approx(6.6e3 + 14 * 1e3 + 2.7e3, rel=0.02)
    assert default["jct_ns"][0] == pytest.approx(6.6e3 + 13 * 1e3 + 2 * 2.7e3, rel=0.05)


def test_pxn_keeps_an_all_to_all_on_its_rails() -> None:
    for pxn in (True, False):
        flows = sent(by_packets("4194304B", "all-to-all", pxn=pxn)).flows
        crossing = [(src, dst) for src, dst in zip(flows["src"], flows["dst"], strict=True) if src // 8 != dst // 8]
        on_rail = [src % 8 == dst % 8 for src, dst in crossing]
        assert all(on_rail) == pxn


@pytest.mark.parametrize(
    "made",
    [
        by_packets("300000B", "all-reduce", 16, algorithm="tree"),
        by_packets("300000B", "reduce-scatter", 16),
        by_packets("300000B", "all-to-all", 16),
        by_packets("300000B", "broadcast", 16, channel_rate="100Gbps"),
    ],
)
def test_threads_and_the_audit_change_nothing(made: Json) -> None:
    core = simulation_of(read_plan(made).cases[0])
    one, two = (simulation_of(read_plan(made).cases[0]).run(threads) for threads in (1, 2))
    assert core is not None
    assert one.fingerprint == two.fingerprint


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        (reduce("1GB", mode="packets"), "by nvls-tree, which mode"),
        (reduce("1KB", "barrier", mode="packets") | {"size": None}, "NCCL has no barrier"),
    ],
)
def test_what_packets_have_not_is_refused(arrivals: Json, message: str) -> None:
    arrivals = {key: value for key, value in arrivals.items() if value is not None}
    with pytest.raises(PacketloomError, match=message):
        simulation_of(read_plan(scenario(arrivals)).cases[0])
