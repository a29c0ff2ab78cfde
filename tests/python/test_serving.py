"""Requests to a served model: their times by hand, their table, what is said of them, and what is refused."""

from __future__ import annotations

import copy
import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import packetloom
from commands import packetloom as command
from packetloom import _core
from packetloom.campaign.executor import simulation_of
from packetloom.pages.measures import question_of
from packetloom.scenario.plan import read_plan
from packetloom.stats.serving import serving

ROOT = Path(__file__).parent.parent.parent
GBPS = 100.0
DELAY_NS = 1_000.0
MSS, HEADER = 4096, 48

ONE: dict[str, Any] = {
    "topology": {"kind": "rack", "hosts": 6, "link": {"rate": "100Gbps", "delay": "1us"}},
    "workload": [
        {
            "arrivals": {
                "kind": "serving",
                "requests": 1,
                "rate_per_second": 1000.0,
                "prompt": {"kind": "fixed", "tokens": 1000},
                "answer": {"kind": "fixed", "tokens": 5},
                "model": {"layers": 4, "kv_heads": 2, "head_size": 64},
                "prefill": {"instances": 1, "tensor": 2, "base": "100us", "per_token": "1us"},
                "decode": {"instances": 1, "tensor": 2, "memory": "1GB", "base": "300us", "per_cached_token": "10ns"},
            }
        }
    ],
    "scheme": [
        {
            "name": "RoCE",
            "transport": {"kind": "roce", "mss": "4096B"},
            "queue": {"kind": "drop-tail", "capacity": "1GB"},
        }
    ],
}


def with_arrivals(**keys: Any) -> dict[str, Any]:
    made = copy.deepcopy(ONE)
    arrivals = made["workload"][0]["arrivals"]
    arrivals |= keys
    for key in [key for key, value in arrivals.items() if value is None]:
        del arrivals[key]
    return made


def requests(scenario: dict[str, Any]) -> pl.DataFrame:
    return packetloom.run(scenario).to_polars("requests")


def test_a_request_alone_takes_what_its_parts_take() -> None:
    results = packetloom.run(ONE)
    row = results.to_polars("requests").row(0, named=True)
    flows = results.to_polars("flows").sort("flow_id")
    # 4 layers of 2 heads of 64 values of 2 B, keys and values: 2048 B a token. Half of 1000 tokens' from each rank.
    assert row["cache_bytes"] == 2_048_000
    assert flows.select("src", "dst", "size_bytes").rows() == [(0, 2, 1_024_000), (1, 3, 1_024_000)]
    assert row["prefill_start_ns"] == row["arrival_ns"]
    assert row["prefill_end_ns"] == pytest.approx(row["arrival_ns"] + 1_100_000)
    # All packets at line rate, headers included, and the last one's way: two links, once more to store and forward it.
    transfer = row["cache_end_ns"] - row["cache_start_ns"]
    packets = 1_024_000 / MSS
    line_rate = 8 * (packets + 1) * (MSS + HEADER) / GBPS
    assert transfer == pytest.approx(line_rate + 2 * DELAY_NS, abs=0.1)
    tokens = [300_000 + 10 * (1000 + done) for done in range(5)]
    assert row["ttft_ns"] == pytest.approx(1_100_000 + transfer + tokens[0])
    assert row["latency_ns"] == pytest.approx(1_100_000 + transfer + sum(tokens))
    assert row["tbt_mean_ns"] == pytest.approx(sum(tokens[1:]) / 4)
    assert row["tbt_max_ns"] == pytest.approx(tokens[-1])
    assert row["free_ttft_ns"] == pytest.approx(1_100_000 + tokens[0])
    assert (row["queued_ns"], row["network_ns"]) == (0.0, pytest.approx(transfer))
    assert row["computing_ns"] == pytest.approx(1_100_000 + sum(tokens))
    assert (row["prefill_instance"], row["decode_instance"], row["measured"]) == (0, 0, True)
    share = serving(results)["ttft_network"][0]
    assert share == pytest.approx(transfer / row["ttft_ns"])


def test_where_the_first_token_comes_from() -> None:
    row = requests(with_arrivals(first_token="prefill")).row(0, named=True)
    assert row["ttft_ns"] == 1_100_000
    transfer = row["cache_end_ns"] - row["cache_start_ns"]
    assert row["tbt_max_ns"] == pytest.approx(transfer + 300_000 + 10 * 1001)
    alone = requests(with_arrivals(first_token="prefill", answer={"kind": "fixed", "tokens": 1})).row(0, named=True)
    assert (alone["latency_ns"], alone["decode_instance"]) == (1_100_000, -1)
    assert math.isnan(alone["cache_start_ns"])
    assert math.isnan(alone["tbt_mean_ns"])


def test_all_reduces_are_sent_between_the_slices_of_a_batch() -> None:
    results = packetloom.run(with_arrivals(all_reduce="messages"))
    row = results.to_polars("requests").row(0, named=True)
    flows = results.to_polars("flows")
    # Two all-reduces in each of 4 layers, a reduce-scatter and an all-gather each, both ranks: of the prompt, and of
    # five tokens.
    inside = flows.filter((pl.col("src") < 2) == (pl.col("dst") < 2))
    assert inside.height == 8 * 2 * 2 * (1 + 5)
    assert set(inside["size_bytes"]) == {1000 * 8192 * 2 // 2, 8192 * 2 // 2}
    assert row["latency_ns"] == pytest.approx(row["computing_ns"] + row["network_ns"] + row["queued_ns"])
    waited = sum(inside.filter(pl.col("src") == host)["fct_ns"].sum() for host in (0, 2))
    assert row["network_ns"] == pytest.approx(row["cache_end_ns"] - row["cache_start_ns"] + waited)


MANY: dict[str, Any] = {
    "requests": 60,
    "rate_per_second": 2000.0,
    "prompt": {"kind": "lognormal", "median": 400, "sigma": 0.7, "most": 4000},
    "answer": {"kind": "lognormal", "median": 10, "sigma": 0.7, "most": 50},
    "prefill": {"instances": 2, "tensor": 1, "batch_tokens": 1000, "per_token": "1us"},
    "decode": {"instances": 2, "tensor": 2, "memory": "3MB", "base": "200us"},
    "all_reduce": "messages",
    "model": {"layers": 4, "kv_heads": 2, "head_size": 64, "hidden": 512},
}


def outcome_of(threads: int) -> tuple[str, list[bytes]]:
    core = simulation_of(read_plan(with_arrivals(**MANY)).cases[0]).run(threads)
    return core.fingerprint, [column.tobytes() for _, column in sorted(core.requests.items())]


def test_the_same_bits_on_any_number_of_threads() -> None:
    first = outcome_of(1)
    assert first == outcome_of(1) == outcome_of(2)


def test_every_request_ends_once_and_all_of_its_time_is_told() -> None:
    results = packetloom.run(with_arrivals(**MANY))
    table = results.to_polars("requests")
    assert table["request"].to_list() == list(range(60))
    assert not table.filter(pl.col("latency_ns").is_nan()).height
    parts = table["queued_ns"] + table["computing_ns"] + table["network_ns"]
    assert parts.to_numpy() == pytest.approx(table["latency_ns"].to_numpy(), abs=1e-2)
    assert (table["queued_ns"] >= 0).all()
    assert (table["queued_ns"] > 0).any()
    flows = results.to_polars("flows").filter((pl.col("src") < 2) & (pl.col("dst") >= 2))
    assert flows["size_bytes"].sum() == table["cache_bytes"].sum() == 2048 * table["prompt_tokens"].sum()
    assert table["free_latency_ns"].sum() < table["latency_ns"].sum()


def test_a_trace_is_read_and_sped_up(tmp_path: Path) -> None:
    rows = "18:17:03.9800600,100,3\n2023-11-16 18:17:03.9799600,200,2\n2023-11-16 18:17:03.9820000,300,4\n"
    (tmp_path / "azure.csv").write_text(f"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 {rows}")
    trace = with_arrivals(requests=None, rate_per_second=None, prompt=None, answer=None, file="azure.csv")
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    table = packetloom.run(tmp_path / "trace.json").to_polars("requests")
    assert table["arrival_ns"].to_list() == [0, 100_000, 2_040_000]
    assert table["prompt_tokens"].to_list() == [200, 100, 300]
    assert table["answer_tokens"].to_list() == [2, 3, 4]
    trace["workload"][0]["arrivals"] |= {"speed": 4.0, "requests": 2}
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    assert packetloom.run(tmp_path / "trace.json").to_polars("requests")["arrival_ns"].to_list() == [0, 25_000]
    (tmp_path / "azure.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n2,x,3\n")
    with pytest.raises(packetloom.PacketloomError, match=r"azure\.csv:3: ContextTokens is `x`"):
        packetloom.run(tmp_path / "trace.json")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"prompt": None}, "prompt: is missing; write prompt ="),
        ({"rate_per_second": None}, "rate_per_second: is missing"),
        ({"file": str(ROOT / "README.md")}, "rate_per_second: the trace says that; leave this or the file out"),
        ({"prefill": {"instances": 5, "per_token": "1us"}}, "decode.instances: 7 ranks among 6 hosts; write fewer"),
        (
            {"decode": {"instances": 1, "memory": "1MB", "base": "1us"}},
            "decode.memory: request 0 has 1005 tokens, and a decode instance has room for 488; write more memory",
        ),
        ({"answer": {"kind": "cdf", "points": [[5, 0.5]]}}, "the last point's probability must be 1"),
    ],
)
def test_what_cannot_be_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(packetloom.PacketloomError, match=re.escape(message)):
        packetloom.run(with_arrivals(**keys))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"flows": 5}, "run.flows: flows follow from requests"),
        ({"loads": [0.5]}, "run.loads"),
        ({"fidelity": "flows"}, "run.fidelity: estimates need to know all traffic beforehand"),
    ],
)
def test_what_has_no_meaning_for_requests_is_refused(run: dict[str, Any], message: str) -> None:
    with pytest.raises(packetloom.PacketloomError, match=re.escape(message)):
        packetloom.run(ONE | {"run": run})


def beside(*others: dict[str, Any], **keys: Any) -> dict[str, Any]:
    made = with_arrivals(**MANY | {"all_reduce": "in-times"})
    return made | {"workload": [*made["workload"], *others]} | keys


POISSON: dict[str, Any] = {
    "arrivals": {"kind": "poisson", "rate_per_second": 40_000.0},
    "sizes": {"kind": "constant", "size": "1MB"},
}


def test_background_flows_take_their_part_of_the_network() -> None:
    alone = requests(beside())
    results = packetloom.run(beside(POISSON | {"background": True}))
    table, flows = results.to_polars("requests"), results.to_polars("flows")
    assert table.height == 60
    assert not table["latency_ns"].is_nan().any()
    assert table["source"].unique().to_list() == [0]
    assert table["network_ns"].to_numpy().sum() > 1.2 * alone["network_ns"].to_numpy().sum()
    assert table["free_ttft_ns"].to_list() == alone["free_ttft_ns"].to_list()
    background = flows.filter(pl.col("source") == 1)
    # The case ends with its last token, whatever is under way.
    last = (table["arrival_ns"] + table["latency_ns"]).to_numpy().max()
    assert 0 < background["start_ns"].to_numpy().max() <= last
    assert not background["measured"].any()


def test_flows_by_the_clock_end_too() -> None:
    others = POISSON | {"flows": 3000}
    results = packetloom.run(beside(others))
    flows = results.to_polars("flows")
    counts = dict(flows.group_by("source").len().iter_rows())
    assert counts[1] == 3000
    assert flows["flow_id"].to_list() == list(range(flows.height)), "messages are numbered after the other flows"
    assert not flows["fct_ns"].is_nan().any()
    assert not results.to_polars("requests")["latency_ns"].is_nan().any()
    assert flows["start_ns"].to_numpy().max() > 60e6
    listed = packetloom.run(beside(POISSON, run={"duration": "5ms"})).to_polars("flows")
    assert 100 < listed.filter(pl.col("source") == 1).height < 300


@pytest.mark.parametrize(
    "other",
    [
        {"arrivals": "closed", "sizes": {"kind": "constant", "size": "1KB"}, "background": True},
        {"arrivals": {"kind": "collective", "operation": "all-reduce", "size": "1MB", "ranks": 4}},
        POISSON | {"flows": 10, "pattern": {"kind": "incast", "fan_in": 2, "query": "64B"}},
    ],
)
def test_other_sources_must_start_by_the_clock(other: dict[str, Any]) -> None:
    message = "workload[0].arrivals: beside requests are only flows that start by the clock"
    with pytest.raises(packetloom.PacketloomError, match=re.escape(message)):
        packetloom.run(beside(other))


def test_there_is_one_source_of_requests() -> None:
    with pytest.raises(packetloom.PacketloomError, match="one source of requests"):
        packetloom.run(ONE | {"workload": ONE["workload"] * 2})


def test_what_is_not_over_is_said() -> None:
    results = packetloom.run(with_arrivals(**MANY) | {"run": {"max_time": "5ms"}})
    table = results.to_polars("requests")
    undone = table.filter(pl.col("latency_ns").is_nan()).height
    assert 0 < undone < 60
    assert any(f"{undone} of 60 requests had not ended" in text for text in results.rows()[0].warnings)
    assert serving(results)["unfinished"][0] == undone


def test_what_is_asked_and_compared(tmp_path: Path) -> None:
    scenario = with_arrivals(**MANY | {"all_reduce": "in-times"})
    scenario["scheme"].append(
        {
            "name": "DCTCP",
            "transport": {"kind": "dctcp", "mss": "4096B"},
            "queue": {"kind": "ecn", "capacity": "1MB", "mark_above": "100KB"},
        }
    )
    scenario["run"] = {"seeds": 2}
    results = packetloom.run(scenario, tmp_path / "results")
    question = question_of([results])
    assert question is not None
    assert question.kind == "serving"
    assert [one.name for one in question.measures] == [
        *("mean-ttft", "p99-ttft", "p99-tbt", "p50-ttft", "p50-tbt", "p99-longest-tbt"),
        *("network-share-ttft", "network-share-latency"),
    ]
    assert question.lead.title == "mean time to first token"
    done = command("compare", f"{tmp_path}/results:RoCE", ":DCTCP", "--by", "p50-ttft")
    assert "time to first token" in done.stdout
    found = serving(results)
    assert found.height == 4
    assert found["ttft_network"].is_between(0, 1, closed="none").all()
    counted = results.to_polars("requests").filter((pl.col("scheme") == "RoCE") & (pl.col("seed") == 1))
    first = found.filter((pl.col("label") == "RoCE") & (pl.col("seed") == 1)).row(0, named=True)
    assert first["ttft_p99_ns"] == pytest.approx(counted["ttft_ns"].quantile(0.99, "linear"))
    command("report", tmp_path / "results", "-o", tmp_path / "page.html")
    assert "TTFT" in (tmp_path / "page.html").read_text()


def test_the_example_says_what_its_page_says() -> None:
    """At the higher rate the network takes more of TTFT under DCQCN with ECMP than under NSCC with spraying."""
    settings = {"workload.0.arrivals.rate_per_second": 120, "workload.0.arrivals.requests": 80, "run.seeds": [21]}
    results = packetloom.run(ROOT / "examples/serving.toml", overrides=settings)
    shares = dict(serving(results).select("label", "ttft_network").iter_rows())
    assert shares["DCQCN, ECMP"] > shares["NSCC, spraying"] + 0.03
    assert 0.1 < shares["NSCC, spraying"] < 0.25


def test_columns_are_explained() -> None:
    meanings = _core.column_meanings()
    assert "first token" in meanings["ttft_ns"]
    done = command("explain", "requests.parquet")
    assert "network_ns" in done.stdout
