"""Files of other tools: what is written is read back the same, and mistakes are reported with their line."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

import commands
import packetloom
from packetloom.errors import PacketloomError
from packetloom.exchange import export
from packetloom.exchange.fct import address, fct_text
from packetloom.store.case_rows import PARTITIONED

pytestmark = pytest.mark.unaudited

RING = """\
10 5 11
0 1 2 3 4
5 0 10Gbps 1us 0
6 1 10Gbps 1us 0
7 2 10Gbps 1us 0
8 3 10Gbps 1us 0
9 4 10Gbps 1us 0
0 1 10Gbps 1us 0
1 2 10Gbps 1us 0
2 3 10Gbps 1us 0
3 4 10Gbps 1us 0
4 0 10Gbps 1us 0
0 2 10Gbps 1us 0
"""

FLOWS = """\
4
5 7 3 100 14600 2.000000000
6 8 3 100 1460 2.001
6 8 3 100 730000 2.001
9 5 2 200 1460 2.002000001
"""

SCENARIO = """\
[topology]
kind = "hpcc"
file = "topology.txt"

[[workload]]
arrivals = { kind = "hpcc", file = "flow.txt" }

[[scheme]]
name = "TCP"
transport = "tcp"
queue = "drop-tail"

[measure]
capture = ["host6", "switch1 to host6"]
"""


@pytest.fixture
def results(tmp_path: Path) -> packetloom.Results:
    (tmp_path / "topology.txt").write_text(RING)
    (tmp_path / "flow.txt").write_text(FLOWS)
    scenario = tmp_path / "ring.toml"
    scenario.write_text(SCENARIO)
    return packetloom.run(scenario, tmp_path / "out", progress=False)


@pytest.mark.parametrize(("name", "node"), [("fct-hpcc", "0b000501"), ("fct-conweave", "5")])
def test_what_is_written_is_read_back_the_same(
    results: packetloom.Results, tmp_path: Path, name: str, node: str
) -> None:
    [file] = export(results, name, tmp_path / name)
    assert file.read_text().split()[0] == node
    read = packetloom.read_fct(file)
    flows = results.to_polars("flows").sort("start_ns", "size_bytes")
    assert read["src"].to_list() == [5, 6, 6, 9]
    assert read["dst"].to_list() == [7, 8, 8, 5]
    assert read["sport"].to_list() == [10_000, 10_000, 10_001, 10_000]
    assert read["dport"].to_list() == [100, 100, 100, 200]
    for theirs, ours in {
        "size_bytes": "size_bytes",
        "start_ns": "start_ns",
        "fct_ns": "fct_ns",
        "ideal_fct_ns": "best_fct_ns",
    }.items():
        assert read[theirs].to_list() == flows[ours].round().cast(pl.Int64).to_list(), theirs


def test_ports_of_a_list_that_has_changed_are_not_written(results: packetloom.Results, tmp_path: Path) -> None:
    (tmp_path / "flow.txt").write_text(FLOWS.replace("14600", "14601"))
    with pytest.raises(PacketloomError, match=r"flow\.txt: these are not the flows that were run"):
        export(results, "fct-hpcc", tmp_path / "out-of-date")


def test_addresses_are_hpccs(tmp_path: Path) -> None:
    assert [address(node) for node in (0, 1, 255, 256, 257)] == [
        "0b000001",
        "0b000101",
        "0b00ff01",
        "0b010001",
        "0b010101",
    ]
    file = tmp_path / "fct.txt"
    file.write_text("0b010101 0B00ff01 10000 100 1000 2000000000 5000 4000\r\n")
    assert packetloom.read_fct(file).row(0) == (257, 255, 10_000, 100, 1_000, 2_000_000_000, 5_000, 4_000)


def test_unfinished_flows_are_not_in_it() -> None:
    columns = ("flow_id", "src", "dst", "size_bytes", "start_ns", "fct_ns", "best_fct_ns")
    rows = [(0, 1, 2, 10, 5.0, float("nan"), 3.0), (1, 1, 2, 10, 6.0, 9.0, 3.0), (2, 1, 2, 20, 7.0, 4.4, 3.6)]
    flows = pl.DataFrame(rows, schema=columns, orient="row")
    assert fct_text(flows, "conweave") == "1 2 10001 100 20 7 4 4\n1 2 10000 100 10 6 9 3\n"


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("0b000001 0b000101 10000 100 1000 2000000000 5000", "7 fields where there should be 8"),
        ("0b000001 0b000101 10000 100 1000 2000000000 5000 4000 trailing", "9 fields where there should be 8"),
        ("0b000002 0b000101 10000 100 1000 2000000000 5000 4000", "0b000002 is not a node's address"),
        ("-1 2 10000 100 1000 2000000000 5000 4000", "a node is '-1'"),
        ("1 2 10000 100 -1000 2000000000 5000 4000", "size_bytes is '-1000'"),
        ("1 2 10000 100 1000 2000000000 NaN 4000", "fct_ns is 'NaN'"),
        ("1 2 10000 100 9223372036854775808 2000000000 1 1", "size_bytes is 9223372036854775808, which is too large"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path: Path, line: str, part: str) -> None:
    file = tmp_path / "fct.txt"
    file.write_text(f"1 2 10000 100 1000 2000000000 5000 4000\n\n{line}\n")
    with pytest.raises(PacketloomError) as error:
        packetloom.read_fct(file)
    assert str(error.value).startswith(f"{file}:3: ")
    assert part in str(error.value)


def test_flow_monitors_names(results: packetloom.Results, tmp_path: Path) -> None:
    [file] = export(results, "flow-monitor", tmp_path / "monitor")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["flowId"] for row in rows] == ["1", "2", "3", "4"]
    assert (rows[3]["sourceAddress"], rows[3]["destinationAddress"]) == ("10.0.0.5", "10.0.0.1")
    flows = results.to_polars("flows").sort("flow_id")
    start_ns, fct_ns = flows["start_ns"].to_list(), flows["fct_ns"].to_list()
    for theirs, ours in {
        "timeFirstTxPacket": start_ns,
        "timeLastRxPacket": [start + fct for start, fct in zip(start_ns, fct_ns, strict=True)],
        "txPackets": flows["packets_sent"].to_list(),
        "rxBytes": flows["size_bytes"].to_list(),
        "retransmittedPackets": flows["retransmissions"].to_list(),
    }.items():
        assert [float(row[theirs]) for row in rows] == ours, theirs
    assert len({(row["sourceAddress"], row["sourcePort"], row["destinationPort"]) for row in rows}) == 4


def test_the_commands_write_files_and_tell_of_mistakes(results: packetloom.Results, tmp_path: Path) -> None:
    command = ["export", results.path, "-o", tmp_path / "files"]
    done = commands.packetloom(*command)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "files").glob("TCP-seed-1-*.txt"))) == 1
    done = commands.packetloom(*command, "--format", "fct")
    assert (done.returncode, done.stderr) == (
        2,
        "error: unknown format 'fct'; write one of fct-hpcc, fct-conweave, flow-monitor, pcapng, chrome-trace, "
        "chakra\n",
    )
    topology = tmp_path / "topology.txt"
    topology.write_text(RING.replace("6 1 10Gbps", "6 77 10Gbps"))
    done = commands.packetloom("check", tmp_path / "ring.toml")
    assert done.returncode == 2
    assert f"{topology}:4: no node is numbered 77; they are numbered 0 to 9" in done.stderr


def test_nothing_is_exported_among_the_files_of_results(results: packetloom.Results) -> None:
    before = {file: file.read_bytes() for file in sorted(results.path.rglob("*")) if file.is_file()}
    for inside in (".", PARTITIONED["flows"], f"{PARTITIONED['ports']}/deeper", "scenario.toml"):
        target = results.path / inside
        done = commands.packetloom("export", results.path, "-o", target)
        assert done.returncode == 2, inside
        assert "would be among the files of the results" in done.stderr, inside
    assert {file: file.read_bytes() for file in sorted(results.path.rglob("*")) if file.is_file()} == before


def test_captures_go_with_the_results(results: packetloom.Results, tmp_path: Path) -> None:
    [file] = export(results, "pcapng", tmp_path / "captures")
    content = file.read_bytes()
    assert content[:4] == bytes.fromhex("0a0d0d0a")
    assert b"host6 to switch1" in content
    assert b"switch1 to host6" in content


def test_where_nothing_was_captured_that_is_told(tmp_path: Path, finished: Path) -> None:
    results = packetloom.Results(finished)
    with pytest.raises(PacketloomError, match=r"nothing was captured; set measure\.capture"):
        export(results, "pcapng", tmp_path / "captures")


def test_operations_have_a_table(tmp_path: Path) -> None:
    scenario = tmp_path / "ring.toml"
    scenario.write_text(
        '[topology]\nkind = "rack"\nhosts = 4\n[[workload]]\n'
        'arrivals = { kind = "collective", operation = "all-reduce", size = "1MB", repeat = 2 }\n'
        '[[scheme]]\nname = "DCTCP"\ntransport = "dctcp"\nqueue = "ecn"\n'
    )
    jobs = packetloom.run(scenario, tmp_path / "out", progress=False).to_polars("jobs")
    assert jobs["repetition"].to_list() == [0, 1]
    assert jobs["operation"].unique().to_list() == ["all-reduce"]
    factor = (jobs["bus_gbps"] / jobs["algorithm_gbps"]).to_list()
    assert factor == pytest.approx([1.5, 1.5])
    assert all(5 < bus < 10 for bus in jobs["bus_gbps"])


def test_jobs_are_written_as_timelines_and_as_traces_that_can_be_run_again(tmp_path: Path) -> None:
    training = {
        "kind": "training",
        "data": 4,
        "layers": 2,
        "forward": "10us",
        "activations": "10KB",
        "gradients": "100KB",
        "repeat": 2,
    }
    scenario = {
        "topology": {"kind": "rack", "hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}},
        "workload": [{"arrivals": training}],
        "scheme": [
            {"name": "DCTCP", "transport": "dctcp", "queue": {"kind": "ecn", "capacity": "1MB", "mark_above": "100KB"}}
        ],
        "measure": {"operations": True},
    }
    results = packetloom.run(scenario, tmp_path / "out", progress=False)
    operations = results.to_polars("operations")
    assert operations.height == 2 * 4 * (2 + 2 + 2 + 1)
    assert (operations["begin_ns"] >= operations["ready_ns"]).all()
    iterations = results.to_polars("iterations")
    assert iterations["compute_ns"].to_list() == [60_000, 60_000]
    timelines = export(results, "chrome-trace", tmp_path / "timelines")
    assert len(timelines) == 2
    events = json.loads(timelines[0].read_text())["traceEvents"]
    drawn = [event for event in events if event["ph"] == "X"]
    assert len(drawn) == operations.height / 2
    assert {event["name"] for event in drawn} >= {"forward", "backward", "update"}
    traces = export(results, "chakra", tmp_path / "traces")
    assert len(traces) == 2 * 4
    prefix = str(traces[0]).removesuffix(".0.et")
    arrivals = {"kind": "chakra", "files": prefix}
    again = packetloom.run(scenario | {"workload": [{"arrivals": arrivals}]}, tmp_path / "again", progress=False)
    assert again.to_polars("iterations")["compute_ns"].to_list() == [60_000]
    with pytest.raises(PacketloomError, match=r"no job's operations were kept; set measure\.operations"):
        export(
            packetloom.run(scenario | {"measure": {}}, tmp_path / "none", progress=False),
            "chrome-trace",
            tmp_path / "no",
        )


# Each has what a trace must not lose: groups that are not that of all, communication on several streams of which the
# lowest id goes first, sends that hold nothing, all-gathers with unequal parts, and a stream with a queue.
EXPORTED: dict[str, dict[str, object]] = {
    "tensors-and-data": {"tensor": 2, "data": 2, "overlap": True, "sharded": True, "gradients": "10000001B"},
    "stages": {"pipeline": 4, "layers": 4, "microbatches": 5},
    "all": {"tensor": 2, "pipeline": 2, "microbatches": 3},
}


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_job_takes_as_long_again(tmp_path: Path, name: str) -> None:
    training: dict[str, object] = {
        "kind": "training",
        "layers": 2,
        "forward": "10us",
        "activations": "1MB",
        "gradients": "10MB",
        **EXPORTED[name],
    }
    scheme = {"name": "any", "transport": "ndp", "queue": "ndp", "routing": "permutation"}
    scenario = {
        "topology": {"kind": "rack", "hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}},
        "workload": [{"arrivals": training}],
        "scheme": [scheme],
        "measure": {"operations": True},
    }
    for generation in ("first", "second"):
        results = packetloom.run(scenario, tmp_path / generation, progress=False)
        files = {file.suffixes[-1]: file for file in export(results, "chakra", tmp_path / f"{generation}-traces")}
        prefix = str(files[".et"]).removesuffix(".3.et")
        groups = {"groups": str(files[".json"])} if ".json" in files else {}
        assert bool(groups) == (name != "stages")
        again = scenario | {"workload": [{"arrivals": {"kind": "chakra", "files": prefix, **groups}}]}
        replayed = packetloom.run(again, tmp_path / f"{generation}-again", progress=False)
        times = [one.to_polars("iterations")["jct_ns"].to_list() for one in (results, replayed)]
        assert times[0] == times[1]
        scenario = again


def test_copies_of_an_exported_job_are_the_job_with_more_data_parallel_ranks(tmp_path: Path) -> None:
    def training(data: int) -> dict[str, object]:
        sizes: dict[str, object] = {"layers": 4, "forward": "10us", "activations": "1MB", "gradients": "5MB"}
        return sizes | {"kind": "training", "tensor": 2, "data": data, "pipeline": 2, "microbatches": 3}

    scenario = {
        "topology": {"kind": "rack", "hosts": 16, "link": {"rate": "100Gbps", "delay": "1us"}},
        "workload": [{"arrivals": training(2)}],
        "scheme": [{"name": "any", "transport": "ndp", "queue": "ndp", "routing": "permutation"}],
        "measure": {"operations": True},
    }
    small = packetloom.run(scenario, tmp_path / "small", progress=False)
    files = {file.suffixes[-1]: file for file in export(small, "chakra", tmp_path / "traces")}
    groups = json.loads(files[".json"].read_text())
    # Ranks are numbered by tensor, data, pipeline: the data parallel ones of a stage are two apart.
    across = [name for name, ranks in groups.items() if ranks == [0, 2]]
    chakra: dict[str, object] = {"kind": "chakra", "files": str(files[".et"]).rpartition(".")[0].rpartition(".")[0]}
    chakra |= {"groups": str(files[".json"]), "copies": 2}
    # A copy has data parallel ranks 0 and 1, or 2 and 3, of both stages.
    hosts = [
        tensor + 2 * (2 * copy + data) + 8 * stage
        for copy in (0, 1)
        for stage in (0, 1)
        for data in (0, 1)
        for tensor in (0, 1)
    ]
    run = {"workload": [{"arrivals": chakra | {"across": across, "placement": hosts}}]}
    copies = packetloom.run(scenario | run, tmp_path / "copies", progress=False)
    large = packetloom.run(scenario | {"workload": [{"arrivals": training(4)}]}, tmp_path / "large", progress=False)
    times = [one.to_polars("iterations")["jct_ns"].to_list() for one in (large, copies)]
    assert times[0] == times[1] != small.to_polars("iterations")["jct_ns"].to_list()
    for wrong, why in (
        (
            {"across": None},
            r"arrivals\.across: names no groups of .*; the trace's groups by shape: .*\[0, 1\] \(3 others",
        ),
        ({"across": []}, r"arrivals\.across: names no groups"),
        (
            {"across": ["dp"]},
            r'arrivals\.across: there is no group "dp", or it was named before; .*\[0, 2\] \(3 others alike\)',
        ),
        ({"across": across, "copies": 10**12}, r"arrivals\.copies: the trace has \d+ operations; write \d+ at most"),
        ({"across": across, "copies": 4}, r"arrivals\.copies: 32 ranks among 16 hosts; write a topology of as many"),
    ):
        own = {key: value for key, value in (chakra | wrong).items() if value is not None}
        with pytest.raises(PacketloomError, match=why):
            packetloom.check(scenario | {"workload": [{"arrivals": own}]})
