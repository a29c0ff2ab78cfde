"""What jobs waited for, in tables and on the page."""

from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import packetloom
from packetloom.pages.fitting import print_fitting
from packetloom.pages.measures import question_of
from packetloom.pages.waits import bounds, stragglers, time_spent
from packetloom.pages.waits.speeds import BETWEEN_COLUMNS, EVERY, _table, notes_of, speeds, table_of
from packetloom.pages.waits.timeline import timeline
from packetloom.stats.interference import interference

SCENARIO = """\
[topology]
kind = "rack"
hosts = 4
link = { rate = "100Gbps", delay = "1us" }

[[workload]]
arrivals = { kind = "goal", file = "late.goal", repeat = 2 }

[[scheme]]
name = "RoCE"
transport = { kind = "roce", ack_class = 0 }
queue = { kind = "shared-buffer", buffer = "16MB" }

[measure]
operations = true
"""

LATE = """\
num_ranks 3
rank 0 {
c: calc 10000
s: send 100000b to 1 tag 0
s requires c
}
rank 1 {
r: recv 100000b from 0 tag 0
d: calc 5000
d requires r
}
rank 2 {
c: calc 2000
}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> packetloom.Results:
    folder = tmp_path_factory.mktemp("waits")
    (folder / "late.goal").write_text(LATE)
    (folder / "late.toml").write_text(SCENARIO)
    return packetloom.run(folder / "late.toml", folder / "out")


def test_the_parts_of_a_path_add_up(results: packetloom.Results) -> None:
    path = results.to_polars("critical_path")
    took = results.to_polars("iterations")["jct_ns"]
    per = path.group_by("iteration", maintain_order=True).agg(
        (pl.col("end_ns") - pl.col("start_ns")).sum().alias("sum")
    )
    # The first repetition: 10 us of computing, the message, 5 us of computing.
    first = path.filter(pl.col("iteration") == 0)
    assert first["spent_on"].to_list() == ["compute", "message", "compute"]
    assert first["rank"].to_list() == [0, 1, 1]
    assert first["message_from"].to_list() == [-1, 0, -1]
    assert per["sum"].to_list() == pytest.approx(took.to_list())
    spent = time_spent(results).row(0, named=True)
    assert spent["repetitions"] == 2
    assert spent["jct_ns"] == pytest.approx(float(took.mean()))  # type: ignore[arg-type]
    parts = ("compute_ns", "alone_ns", "waited_ns", "acknowledgement_ns", "host_ns", "earlier_ns")
    assert sum(spent[name] for name in parts) == pytest.approx(spent["jct_ns"])
    assert spent["link"] in ("host0 to tor0", "tor0 to host1", first["link"][1])


def test_the_timeline_has_every_operation_that_took_time(results: packetloom.Results) -> None:
    shown = timeline(results)
    assert shown is not None
    case = shown["cases"][0]
    assert case["ranks"] == [0, 1, 2]
    kinds = [(shown["kinds"][bar[3]], case["ranks"][bar[0]]) for bar in case["bars"]]
    # A repetition begins at a rank when that has ended the one before; sends end when they were handed over.
    assert sorted(set(kinds)) == [("compute", 0), ("compute", 1), ("compute", 2)] or ("receive", 1) in kinds
    assert all(0 <= bar[1] < bar[2] <= case["end_ms"] + 1e-9 for bar in case["bars"])
    assert case["path"][-1][2] == pytest.approx(case["end_ms"])


def test_operations_are_bounded_by_their_links(tmp_path: Path) -> None:
    scenario = SCENARIO.replace(
        'kind = "goal", file = "late.goal"', 'kind = "moe", experts = 4, tokens = 64, bytes_per_token = "4KB", skew = 1'
    )
    (tmp_path / "moe.toml").write_text(scenario)
    results = packetloom.run(tmp_path / "moe.toml", tmp_path / "out")
    found = bounds(results)
    assert found.height >= 1
    assert (found["jct_ns"] >= found["bound_ns"]).all()
    assert found["bound_link"].str.contains("host").all()
    assert stragglers(results).columns in ([], ["label", "source", "rank", "last_in", "delayed_ns", "share"])


def test_the_page_says_what_jobs_waited_for(results: packetloom.Results, tmp_path: Path) -> None:
    text = packetloom.report(results, tmp_path / "page.html").read_text()
    assert "What jobs waited for" in text
    assert "Timeline of ranks" in text
    assert 'id="ranks"' in text


def test_the_page_says_how_to_have_it(tmp_path: Path) -> None:
    (tmp_path / "late.goal").write_text(LATE)
    (tmp_path / "late.toml").write_text(SCENARIO.replace("operations = true", "queues = true"))
    results = packetloom.run(tmp_path / "late.toml", tmp_path / "out")
    text = packetloom.report(results, tmp_path / "page.html").read_text()
    assert "set `operations = true` in [measure]" in text
    assert 'id="ranks"' not in text


TWO_JOBS = """\
[topology]
kind = "dumbbell"
left = 3
right = 3
link = { rate = "100Gbps", delay = "1us" }

[[workload]]
arrivals = { kind = "collective", operation = "all-to-all", size = "1MB", repeat = 2, ranks = 3, placement = [0, 1, 3] }

[[workload]]
arrivals = { kind = "collective", operation = "all-to-all", size = "1MB", repeat = 4, ranks = 3, placement = [2, 4, 5] }

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = { kind = "ecn", mark_above = "100KB" }

[run]
seeds = 2

[measure]
alone = true
"""


def test_jobs_beside_each_other_have_interference_factors(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO_JOBS)
    results = packetloom.run(tmp_path / "two.toml", tmp_path / "out")
    rows = results.to_polars("iterations")
    assert rows["interference"].to_list() == pytest.approx((rows["jct_ns"] / rows["alone_jct_ns"]).to_list())
    found = interference(results)
    assert found.select("source", "cases").rows() == [(0, 2), (1, 2)]
    assert (found["interference"] > 1.1).all()
    assert found["interference"].to_list() == pytest.approx(
        (found["jct_ns"] / found["alone_jct_ns"]).to_list(), rel=0.02
    )
    question = question_of([results])
    assert question is not None
    (measured,) = (measure for measure in question.measures if measure.name == "interference")
    (by_seed,) = measured.values.values()
    assert sorted(by_seed) == [1, 2]
    assert sum(by_seed.values()) / 2 == pytest.approx(float(found["interference"].mean()))  # type: ignore[arg-type]
    text = packetloom.report(results, tmp_path / "page.html").read_text()
    assert "Jobs beside others" in text


def test_jobs_that_were_not_run_alone_have_none(results: packetloom.Results) -> None:
    assert interference(results).is_empty()


def test_no_word_of_a_heading_is_broken() -> None:
    """At 80 columns "communication" had lost its last letter to the next line."""
    header = ["fault", "a repetition takes", "exposed communication", "bus bandwidth, all-reduce (scale-up)"]
    lines = [["none", "14.8 ± 1.8 ms", "5.18 ± 1.85 ms (35 %)", "1,581 ± 372 Gb/s"]]
    console = Console(width=56)
    with console.capture() as shown:
        print_fitting(_table("Jobs", header, lines), console, BETWEEN_COLUMNS)
    said = shown.get()
    assert all(word in said.split() for text in header for word in text.split())


def test_repetitions_that_overlap_have_their_pace_beside_their_time(tmp_path: Path) -> None:
    training = {"kind": "training", "pipeline": 2, "layers": 2, "microbatches": 2, "forward": "100us"}
    scenario = {
        "topology": {"kind": "rack", "hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}},
        "workload": [{"arrivals": training | {"activations": "10KB", "gradients": "10KB", "repeat": 5}}],
        "scheme": [{"name": "any", "transport": "ndp", "queue": "ndp", "routing": "permutation"}],
    }
    header, (line,) = table_of(found := speeds(packetloom.run(scenario, tmp_path / "several", progress=False)))
    assert EVERY in notes_of(found)
    # A stage computes 600 us a step. The first one begins its next step while the last one is still in this.
    (every,), (took,) = found[0].every, found[0].took
    assert 600e3 < every < 0.9 * took
    assert line[header.index("one ends\nevery")]
    scenario["workload"] = [{"arrivals": training | {"activations": "10KB", "gradients": "10KB"}}]
    found = speeds(packetloom.run(scenario, tmp_path / "one", progress=False))
    assert "one ends\nevery" not in table_of(found)[0]
    assert EVERY not in notes_of(found)


def test_no_operation_is_bound_by_a_dead_link(tmp_path: Path) -> None:
    scenario = {
        "topology": {
            **{"kind": "rail-optimised", "servers": 4, "accelerators": 2, "servers_per_rail_switch": 2, "spines": 2},
            "link": {"rate": "100Gbps", "delay": "1us"},
        },
        "workload": [{"arrivals": {"kind": "collective", "operation": "all-to-all", "size": "1MB", "repeat": 2}}],
        "scheme": [
            {"name": routing, "transport": "ndp", "queue": "ndp", "routing": routing}
            for routing in ("ecmp", "spray-random")
        ],
        "fault": [{"kind": "link-down", "between": ["rail0", "spine0"], "at": "0us", "learn_after": "0us"}],
        "measure": {"operations": True, "critical_path": True},
    }
    results = packetloom.run(scenario, tmp_path / "out", progress=False)
    named = [*results.to_polars("jobs")["bound_link"], *results.to_polars("critical_path")["link"]]
    assert any("spine1" in (name or "") for name in named)
    assert not {"rail0 to spine0", "spine0 to rail0"} & set(named)
