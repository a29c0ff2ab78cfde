"""Rates and latencies of a perftest, from its flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import packetloom
from packetloom.pages.waits.speeds import notes_of, speeds, table_of
from packetloom.stats.perftest import perftest
from packetloom.validate.hardware.machines import infiniband, two_hosts
from packetloom.validate.hardware.measurements import Measurement

WIRE_NS = 8 * (1000 + 48) / 100
ACK_NS = 8 * 60 / 100
ONE_WAY_NS = 2 * (WIRE_NS + 1000)
ROUND_TRIP_NS = ONE_WAY_NS + 2 * (ACK_NS + 1000)


def _run(folder: Path, **arrivals: Any) -> packetloom.Results:
    transport = {"kind": "roce", "mss": "1000B", "header": "48B", "connections": "in-order"}
    scenario = {
        "topology": {"kind": "rack", "hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}},
        "workload": [{"arrivals": {"kind": "perftest", **arrivals}}],
        "scheme": [{"name": "RoCE", "transport": transport, "queue": "drop-tail"}],
    }
    return packetloom.run(scenario, folder, progress=False)


def test_the_rate_is_of_all_messages_and_a_grid_of_sizes_has_a_row_for_each(tmp_path: Path) -> None:
    results = _run(tmp_path / "it", size=["1000B", "500B"], messages=100, outstanding=4)
    table = perftest(results)
    assert table["size_bytes"].to_list() == [1000, 500]
    row = table.row(0, named=True)
    took_ns = 25 * ROUND_TRIP_NS + 3 * WIRE_NS
    assert row["rate_gbps"] == pytest.approx(100 * 8000 / took_ns, rel=1e-6)
    assert row["messages_per_second"] == pytest.approx(100e9 / took_ns, rel=1e-6)
    # The first of four leaves at once, the others behind it; later ones leave as acknowledgements come.
    assert row["latency_p50_ns"] == pytest.approx(ONE_WAY_NS, abs=4 * WIRE_NS)
    heading, lines = table_of(speeds(results))
    assert {"rate", "million messages\na second", "p99\nlatency"} <= set(heading)
    assert len(lines) == 2
    assert any(note.startswith("Rate:") for note in notes_of(speeds(results)))


def test_latency_is_half_of_a_round_trip_with_what_hosts_take(tmp_path: Path) -> None:
    results = _run(tmp_path / "it", test="latency", size="1000B", messages=20, send_cost="250ns", pairs=2)
    row = perftest(results).row(0, named=True)
    for name in ("mean", "p50", "p99", "p99.9"):
        assert row[f"latency_{name}_ns"] == pytest.approx(ONE_WAY_NS + 250, rel=1e-6)
    assert row["messages"] == 2 * 2 * 20


def test_other_jobs_are_no_perftests(tmp_path: Path) -> None:
    results = _run(tmp_path / "it", kind="collective", operation="all-reduce", size="8KB")
    assert perftest(results).is_empty()
    assert "rate" not in table_of(speeds(results))[0]


def test_a_machine_posts_as_many_messages_as_perftest_while_they_are_short() -> None:
    def measured(size_bytes: int, what: str) -> Measurement:
        own = {"id": "1", "system": "", "operation": "write", "algorithm": "", "protocol": "", "unit": "Gb/s"}
        source = {"source": "", "revision": "", "licence": ""}
        numbers = {"ranks": 2, "servers": 2, "nic_gbps": 200.0, "size_bytes": size_bytes, "value": 1.0}
        return Measurement(what=what, **own, **source, **numbers)  # type: ignore[arg-type]

    scenario = two_hosts(infiniband(), costs_ns=185.62)([measured(size, "8 QPs") for size in (2, 2**20)])
    tests = scenario["workload"][0]["arrivals"]
    assert [test["messages"] for test in tests] == [5000, 64]
    assert {test["outstanding"] for test in tests} == {8 * 128}
    assert {test["send_cost"] for test in tests} == {"185620ps"}
    assert scenario["scheme"][0]["transport"]["connections"] == {"kind": "in-order", "queue_pairs": 8}
