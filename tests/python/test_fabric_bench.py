"""The IETF drafts' tests of AI fabrics: the catalogue is complete, every cell can run, and numbers are as by hand."""

import dataclasses
import json
import math
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from packetloom.cli.main import main
from packetloom.common.fairness import jain
from packetloom.fabric_bench.cases import Case, cases_of
from packetloom.fabric_bench.catalogue import (
    DRAFTS,
    NOT_COVERED,
    SCENARIOS,
    Draft,
    Scale,
    all_tests,
    chosen_tests,
)
from packetloom.fabric_bench.catalogue import Test as BenchTest
from packetloom.fabric_bench.command import inline, only_transports, run_bench
from packetloom.fabric_bench.comparability import HEADER, comparability, fabric_bytes
from packetloom.fabric_bench.congestion import expected_marks
from packetloom.fabric_bench.inference import requests
from packetloom.fabric_bench.jobs import jct_ratio, job_iterations, job_time_s, overlap, placed
from packetloom.fabric_bench.measures import algo_factor, brought_together, mmr, uplink_balance
from packetloom.fabric_bench.page import number
from packetloom.fabric_bench.running import plan_of, run_test, widest_interval
from packetloom.fabric_bench.tables import Table, byte_text, cell, headline, made
from packetloom.scenario.plan import read_plan

pytestmark = pytest.mark.unaudited

TESTS = {test.id: test for test in all_tests()}
SCALES: tuple[Scale, ...] = ("quick", "full")
SECTIONS: dict[Draft, str] = {
    "training": """Baseline Throughput; Latency Characterization; Back-to-Back Burst Absorption;
        UET Throughput by Transport Service; UET Latency Characterization; Packet Spray Efficacy Under UET RUD;
        UET Congestion Control Benchmarks; Link Layer Enhancement Benchmarks; UET Collective Communication Performance;
        UET PDC Scalability and Connection Setup Rate; ECN Marking Accuracy and Threshold; PFC Behavior Under Incast;
        DCQCN Convergence Time; PFC Storm and Deadlock Resilience; ECMP Entropy and Polarization;
        Dynamic Load Balancing (Flowlet); Packet Spraying; Jain Fairness Index Measurement; AllReduce Benchmark;
        AlltoAll Benchmark; AllGather Benchmark;
        Collective Communication Library Bus Bandwidth Summary; Synthetic JCT Under Controlled Conditions;
        MLPerf-Aligned JCT;
        Multi-Tenant JCT Interference; Fabric Scale Limits; Link Failure Convergence; Zero-Impact Failover Measurement;
        24-Hour Sustained Load; Resource Leak Detection""",
    "inference": """Point-to-Point KV Cache Transfer Throughput; KV Cache Transfer Latency;
        Concurrent KV Cache Transfer Scaling; Multi-Tier Storage Transfer Characterization;
        End-to-End Disaggregated TTFT; xPyD Ratio Optimization; Heterogeneous Parallelism Configuration;
        Prefill Queue Depth Impact on Transfer Latency; AllToAll Dispatch Throughput;
        Routing Mode and Dispatch Mode Comparison; Wide Expert Parallelism Scaling;
        Expert Parallelism and KV Cache Transfer Contention; ECN Marking Under Inference Incast;
        PFC Behavior Under Bursty KV Cache Transfers; Congestion Control Convergence for Mixed Traffic;
        PFC Storm and Deadlock Resilience; KV-Aware Request Routing Efficacy; Prefix-Aware Cache Hit Rate;
        ECMP and Dynamic Load Balancing Under Inference Traffic; Jain Fairness Index for Decode Worker Utilization;
        TTFT Under Varying Prompt Lengths; ITL Characterization and Tail Latency;
        End-to-End Latency Under Multi-Tenant Load; Latency Sensitivity to Fabric Congestion;
        Aggregate Tokens Per Second; Batch Size Scaling and Continuous Batching Impact;
        Goodput Under Preemption and Eviction; Fabric Scale Limits for Inference Clusters;
        Dynamic Autoscaling Response Time; Link Failure Convergence Impact on Serving; 24-Hour Sustained Inference Load;
        KV Cache Memory Leak Detection; Long-Running Serving Stability""",
}
"""The tests that the drafts have sections for: the training draft of 2026-02-26, the inference draft of 2026-06-03."""


@pytest.mark.parametrize("draft", SECTIONS)
def test_every_section_of_the_drafts_has_a_test_or_a_reason(draft: Draft) -> None:
    sections = {" ".join(one.split()) for one in SECTIONS[draft].split(";")}
    tested = {section for test in TESTS.values() if test.draft == draft for section in test.sections}
    assert tested | set(NOT_COVERED[draft]) == sections
    assert not tested & set(NOT_COVERED[draft])


def test_every_scenario_ships_and_names_its_draft_and_section() -> None:
    used: dict[str, list[BenchTest]] = {}
    for test in TESTS.values():
        for part in test.parts:
            used.setdefault(part.scenario, []).append(test)
    assert {file.stem for file in SCENARIOS.glob("*.toml")} == set(used)
    for name, tests in used.items():
        head = (SCENARIOS / f"{name}.toml").read_text().partition("\n[")[0].replace("\n# ", " ")
        assert DRAFTS[tests[0].draft] in head
        assert any(f'"{section}"' in head for test in tests for section in test.sections), name


@pytest.mark.parametrize("name", sorted(file.stem for file in SCENARIOS.glob("*.toml")))
def test_a_scenario_runs_by_itself(name: str) -> None:
    assert read_plan(SCENARIOS / f"{name}.toml").cases


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", TESTS)
def test_every_cell_passes_check(name: str, scale: Scale) -> None:
    test = TESTS[name]
    assert len({part.name for part in test.parts}) == len(test.parts)
    plans = [plan for part in test.parts if (plan := plan_of(part, scale))]
    assert plans
    assert all(plan.cases for plan in plans)
    for table in test.tables:
        assert {*table.parts} <= {part.name for part in test.parts}


def test_measures_by_hand() -> None:
    assert [algo_factor("all-reduce", 8), algo_factor("all-to-all", 4), algo_factor("broadcast", 9)] == [1.75, 0.75, 1]
    assert mmr([3, 1, 0, 0]) == 3.0
    assert jain(np.array([3.0, 1, 0, 0])) == pytest.approx(16 / (4 * 10))
    assert (mmr([5, 5]), jain(np.array([5.0, 5]))) == (1.0, 1.0)
    # 1 GB among 16 at 400 Gb/s: 8 * 10^9 * 15/8 / 4 * 10^11 = 37.5 ms; computing 12.5 ms; two iterations in 110 ms.
    numbers = (0.11, 2, 0.0125, 1e9, algo_factor("all-reduce", 16), 400e9)
    assert jct_ratio(*numbers) == pytest.approx(1.1)
    assert overlap(*numbers) == pytest.approx(1 - 85 / 75)
    # Thresholds of two and four packets: of 1 to 5 that wait, 3 and 4 are on the ramp to a half, 5 is above.
    assert expected_marks(6000, 2000, 4000, 0.5, 1000) == pytest.approx(2 * (0.25 + 0.5 + 1))


def test_balance_of_uplinks() -> None:
    ports = pl.DataFrame(
        {
            "node": ["leaf0"] * 4 + ["leaf1"] * 4 + ["leaf2"] * 4 + ["spine0"],
            "tier": ["leaf to spine"] * 12 + ["spine to leaf"],
            "tx_bytes": [3010, 1020, 0, 30, 1000, 1000, 1000, 1000, 0, 0, 0, 0, 9999],
        }
    )
    found = uplink_balance(ports, flow_bytes=1000)
    assert found["MMR of flows"] == pytest.approx((3 + 1) / 2)
    assert found["MMR, worst leaf"] == pytest.approx(3010 / 1015)
    assert found["JFI"] == pytest.approx((jain(np.array([3010.0, 1020, 0, 30])) + 1) / 2)


def test_runs_are_brought_together() -> None:
    rows = pl.DataFrame({"k": ["b", "b", "b", "b", "a"], "seed": [1, 1, 2, 2, 1], "v": [1.0, 3.0, 3.0, 5.0, 7.0]})
    found = brought_together(rows, ["k"], "v", ("mean", "max")).to_dicts()
    assert [one["k"] for one in found] == ["b", "a"]
    assert (found[0]["v, mean"], found[0]["v, max"], found[0]["runs"], found[0]["samples"]) == (3.0, 5.0, 2, 4)
    # Runs have means of 2 and 4: their deviation is the root of 2, and t of one degree of freedom 12.7.
    assert found[0]["CV (%)"] == pytest.approx(100 * 2**0.5 / 3)
    assert found[0]["interval (±%)"] == pytest.approx(100 * 12.706 / 3, rel=1e-3)
    assert found[1]["CV (%)"] is None


def test_texts() -> None:
    assert [byte_text(size) for size in (64, 4096, 1e6, 1.5e9)] == ["64 B", "4.096 KB", "1 MB", "1.5 GB"]
    assert number("4.096 KB") == 4096
    assert [cell(one) for one in (None, float("nan"), 2.0, 0.12345, 12345.6, "x")] == [
        "–",
        "–",
        "2",
        "0.1235",
        "12,346",
        "x",
    ]
    schemes = [{"name": 'a "b"', "transport": {"kind": "roce", "rto": "1ms", "ok": True}, "list": [1, 2.5]}]
    assert tomllib.loads(f"v = {inline(schemes)}")["v"] == schemes
    assert placed(2, 4)[:5] == [20, 21, 22, 23, 28]


def test_the_headline_is_the_last_point() -> None:
    of = TESTS["fabric-scale"].tables[0]
    rows = {"N": [8, 8, 64, 64], "size": ["4 MB"] * 4, "balancing": ["a", "b"] * 2, of.headline: [1.0, 2.0, 3.0, 4.0]}
    what, values = headline(Table(of, pl.DataFrame(rows))) or ("", {})
    assert what == f"{of.title}: N 64, size 4 MB, {of.headline}"
    assert values == {"a": "3", "b": "4"}


def run_one(name: str, part: str, folder: Path, *settings: str) -> Iterator[Case]:
    test = TESTS[name]
    runs = run_test(test, "quick", folder, settings=settings)
    return cases_of(part, runs[part])


ROCE = (
    'scheme=[{ name = "R", transport = { kind = "roce", mss = "4096B", ack_class = 0, ack_every = 64 }, '
    'queue = "shared-buffer" }]'
)
STEP_S = 2 * 0.5e-6 + 4144 * 8 / 400e9
"""What a message's last packet takes more than its bytes: two links, and one of a switch's transmissions."""


def part_s(size: float, ranks: int) -> float:
    """A step of a ring: a rank's share in packets of 4096 B with 48 B of headers."""
    share = size / ranks
    return (share + 48 * -(-share // 4096)) * 8 / 400e9 + STEP_S


def test_a_ring_on_an_empty_fabric_is_its_closed_form(tmp_path: Path) -> None:
    settings = (
        "topology.leaves=1",
        "workload.0.arrivals.size=8MB",
        "workload.0.arrivals.chunks=1",
        "workload.0.arrivals.repeat=1",
        "run.seeds=1",
        ROCE,
    )
    test = TESTS["all-gather"]
    runs = run_test(test, "quick", tmp_path, settings=settings)
    (table, *_) = made(test, runs)
    (row,) = table.frame.to_dicts()
    seconds = 7 * part_s(8e6, 8)
    assert row["time (us)"] == pytest.approx(seconds * 1e6, rel=0.01)
    assert row["BusBW (Gb/s), mean"] == pytest.approx(8 * 8e6 * 7 / 8 / seconds / 1e9, rel=0.01)
    assert row["time over roofline"] == pytest.approx(seconds / (8 * 8e6 * 7 / 8 / 400e9), rel=0.01)


def test_a_synthetic_job_is_its_roofline_and_its_steps(tmp_path: Path) -> None:
    settings = (
        "topology.leaves=1",
        "workload.0.arrivals.data=8",
        "workload.0.arrivals.chunks=1",
        "workload.0.arrivals.forward=500us",
        "run.seeds=1",
        ROCE,
    )
    (case,) = run_one("synthetic-jct", "n-8", tmp_path, *settings)
    iterations = job_iterations(case)
    assert iterations.height == 3
    assert job_time_s(iterations) == pytest.approx(3 * (500e-6 + 14 * part_s(4e6, 8)), rel=0.01)


def test_full_adds_seeds_until_the_ratio_is_known(tmp_path: Path) -> None:
    test = only_transports(TESTS["synthetic-jct"], ["uec"]) or TESTS["synthetic-jct"]
    (part,) = (part for part in test.parts if part.name == "n-64")
    few = dataclasses.replace(test, parts=(part,), most_seeds=5)
    small = ("workload.0.arrivals.data=16", "workload.0.arrivals.forward=1us", "workload.0.arrivals.gradients=256KB")
    for leaves, seeds in ((2, 5), (8, 3)):  # over spines it varies; on one leaf, to which 8 ranks keep, it does not
        ranks = (
            small if leaves == 2 else ("workload.0.arrivals.data=8", "workload.0.arrivals.order=by-number", *small[1:])
        )
        runs = run_test(few, "full", tmp_path / str(leaves), settings=(*ranks, f"topology.leaves={leaves}"))
        assert {row.seed for row in runs["n-64"].rows()} == set(range(1, seeds + 1))


def test_seeds_that_a_user_sets_are_kept(tmp_path: Path) -> None:
    test = only_transports(TESTS["synthetic-jct"], ["uec"]) or TESTS["synthetic-jct"]
    (part,) = (part for part in test.parts if part.name == "n-64")
    small = ("workload.0.arrivals.data=8", "workload.0.arrivals.forward=1us", "workload.0.arrivals.gradients=256KB")
    one = dataclasses.replace(test, parts=(part,))
    runs = run_test(one, "full", tmp_path, settings=(*small, "topology.leaves=1", "run.seeds=1"))
    assert [row.seed for row in runs["n-64"].rows()] == [1]
    assert widest_interval(one, runs) == math.inf


def test_a_job_that_no_fault_hit_has_no_verdict() -> None:
    hit, steady = "JCT of the iteration hit (us)", {"steady p99 (us)": [4.0] * 4, "steady JCT (us)": [3.0] * 4}
    rows = {
        "fails": ["a", "b", "c", "d"],
        "balancing": ["x"] * 4,
        hit: [3.0, 5.0, None, None],
        "finished": ["yes", "yes", "yes", "no"],
    }
    finish = TESTS["link-failure"].tables[0].finish
    assert finish
    assert finish(pl.DataFrame(rows | steady))["zero impact"].to_list() == ["yes", "no", None, "no"]


def test_what_crosses_the_fabrics_edge(tmp_path: Path) -> None:
    """Four servers of eight reduce 8 MB: a ring leaves each server once, with 2 · 31/32 of them."""
    test = TESTS["all-reduce"]
    settings = ("workload.0.arrivals.size=8MB", "workload.0.arrivals.repeat=1", "run.seeds=1")
    runs = run_test(only_transports(test, ["dcqcn"]) or test, "quick", tmp_path, settings=settings)
    found = {case.arrivals()["algorithm"]: fabric_bytes(case) for case in cases_of("rails", runs["rails"])}
    assert found["ring"][0] == pytest.approx(4 * 2 * 31 / 32 * 8e6 / 32)
    assert found["hierarchical"][0] == pytest.approx(2 * 3 / 4 * 8e6 / 8)
    assert 0 < found["hierarchical"][1] < found["ring"][1]
    rows = comparability(test, {"rails": runs["rails"]})
    assert {row[HEADER.index("S_fabric per participant")] for row in rows} == {"1.938 MB", "1.5 MB"}
    assert {row[HEADER.index("fabric")] for row in rows} == {"C: 4 servers of 8"}
    assert {row[HEADER.index("algo_factor")] for row in rows} == {"1.938"}


def test_ordered_delivery_is_compared_on_one_path_and_sprayed(tmp_path: Path) -> None:
    test = TESTS["uet-spray"]
    (part,) = (part for part in test.parts if part.name == "paths-4")
    runs = run_test(dataclasses.replace(test, parts=(part,)), "quick", tmp_path, settings=("run.seeds=1",))
    (spray,) = test.tables
    rows = {row["configuration"]: row for case in cases_of(part.name, runs[part.name]) for row in spray.rows(case)}
    one_path, sprayed = rows["UET ROD, one path"], rows["UET ROD, spraying"]
    assert (one_path["out of order (%)"], one_path["MMR of bytes"] > 1.2) == (0, True)
    assert sprayed["sent again (%)"] > 50 > 2 > rows["UET RUD, spraying"]["sent again (%)"]
    place = HEADER.index("load balancing")
    strategies = {row[HEADER.index("scheme")]: (row[place - 1], row[place]) for row in comparability(test, runs)}
    assert strategies["UET ROD, one path"] == ("UET ROD, NSCC, trimming, no PFC", "one path")
    assert strategies["UET ROD, spraying"] == ("UET ROD, NSCC, trimming, no PFC", "spray-random")


def test_first_tokens_are_found_by_request(tmp_path: Path) -> None:
    settings = (
        "workload.0.arrivals.size=500KB",
        "workload.0.arrivals.prefill_time=100us",
        "workload.0.arrivals.decode_time=7us",
        "workload.0.arrivals.prefill=2",
        "workload.0.arrivals.decode=3",
        "workload.0.arrivals.requests=5",
    )
    (case,) = run_one("xpyd", "6p6d", tmp_path, *settings)
    found = requests(case)
    assert found.height == 10
    assert set(found.filter(pl.col("rank") == 1)["to"]) == {2, 3, 4}
    assert (found["computed_ns"] - found["start_ns"]).to_list() == [100_000.0] * 10
    transfers = found["came_ns"] - found["computed_ns"]
    assert transfers.min() == pytest.approx(500e3 * 8 / 400, rel=0.5)
    assert (found["end_ns"] - found["token_ns"]).to_list() == [7_000.0] * 10
    assert (found["token_ns"] >= found["came_ns"]).all()


def test_a_bench_writes_its_tables_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unaudited: ports that wait for each other for ever are what is looked for here."""
    folder = run_bench(
        ["pfc-deadlock", "moe-kv"], "quick", tmp_path / "b", settings=["run.seeds=1"], transports=["roce"]
    )
    text = capsys.readouterr().out
    assert "PFC deadlock" in text
    tables = json.loads((folder / "tables" / "tables.json").read_text())
    assert [test["id"] for test in tables["tests"]] == ["pfc-deadlock"]
    rows = tables["tests"][0]["tables"][0]["rows"]
    assert [(row["scheme"], row["locked"]) for row in rows] == [("PFC alone", "yes"), ("PFC with a watchdog", "no")]
    assert pl.read_parquet(folder / "tables" / "pfc-deadlock-deadlock.parquet").height == 2
    comparison = pl.read_csv(folder / "tables" / "comparability.csv")
    assert comparison["transport"].to_list() == ["RoCE RC, go-back-n, PFC"] * 2
    page = (folder / "index.html").read_text()
    assert "PFC Storm and Deadlock Resilience" in page
    monkey = ["fabric-bench", "report", str(folder)]
    assert cli(monkey) == 0
    assert (folder / "index.html").read_text() == page


def cli(arguments: list[str]) -> int:
    before = sys.argv
    sys.argv = ["packetloom", *arguments]
    try:
        main()
    except SystemExit as stopped:
        return int(stopped.code or 0)
    finally:
        sys.argv = before
    return 0


def test_what_another_build_wrote_is_refused_where_its_cases_lack_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from packetloom.common import build
    from packetloom.fabric_bench import command

    def misses(*_: object) -> None:
        raise KeyError("service")

    folder = run_bench(["pfc-deadlock"], "quick", tmp_path / "b", settings=["run.seeds=1"])
    monkeypatch.setattr(command, "made", misses)
    with pytest.raises(KeyError):
        command.report_bench(folder)
    monkeypatch.setattr(build, "this_build", lambda: type("Build", (), {"digest": "another"}))
    assert cli(["fabric-bench", "report", str(folder)]) == 2
    assert "another build computed these results, and their cases have no 'service'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "all-reduse"], "did you mean 'all-reduce'"),
        (["run", "--scale", "huge"], "--scale"),
        (["run", "latency", "--transports", "carrier-pigeon"], "none of these tests has a scheme"),
        (["run", "latency", "--set", "run.sedes=3"], "run.sedes"),
        (["run", "pfc-deadlock", "-o", "occupied"], "is not empty"),
        (["run", "pfc-deadlock", "-o", "full"], "has results at scale full"),
        (["run", "pfc-deadlock", "-o", "damaged"], "is damaged"),
        (["run", "--workers", "0"], "--workers"),
        (["report", "nowhere"], "no results of fabric-bench"),
        (["report", "full"], "no test is finished"),
        (["report", "full", "-o", "nowhere/x.html"], "no folder nowhere"),
        (["lsit"], "lsit"),
    ],
)
def test_mistakes(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, marker in (("full", '{"scale": "full"}'), ("damaged", "{")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "fabric-bench.json").write_text(marker)
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    assert cli(["fabric-bench", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_list_has_every_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["fabric-bench", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name} " in listed for name in TESTS)
    assert chosen_tests(["inference"]) == tuple(test for test in chosen_tests([]) if test.draft == "inference")


@pytest.mark.slow
def test_the_whole_quick_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_bench([], "quick", tmp_path / "bench", cache=False)
    capsys.readouterr()
    tables = json.loads((folder / "tables" / "tables.json").read_text())
    assert [test["id"] for test in tables["tests"]] == list(TESTS)
    assert all(table["rows"] for test in tables["tests"] for table in test["tables"])
    found = {(test["id"], table["name"]): table["rows"] for test in tables["tests"] for table in test["tables"]}
    assert all(row["marked"] == 0 for row in found["ecn-accuracy", "marks"] if row["where"] == "below the minimum")
    assert all(
        row["interference factor"] < 1.01 for row in found["multi-tenant", "interference"] if row["overlap (%)"] == 0
    )
    sprays = {row["balancing"]: row["JFI"] for row in found["spraying", "spraying"]}
    assert sprays["UET RUD, spraying"] > 0.98 > sprays["RoCE go-back-n, ECMP"]
