"""The benchmark of the control algorithms: its arithmetic, and that it runs."""

import json
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.bench.control import growth_exponents, run_control_benchmarks, with_rates


def test_capacity_is_a_slot_of_bits_over_the_time_of_a_packet() -> None:
    figure = {"algorithm": "any", "item": "matched packet", "servers": 10, "items": 1_000, "cpu_s": 12e-6}
    assert with_rates(figure)["ns_per_item"] == pytest.approx(12.0)
    assert with_rates(figure)["tbps_per_core"] == pytest.approx(1.0)
    assert with_rates({**figure, "item": "entry"})["tbps_per_core"] is None


def test_growth_is_of_a_whole_slot_or_matrix() -> None:
    def figure(item: str, servers: int, ns: float, waiting: float) -> dict[str, object]:
        return {"algorithm": item, "item": item, "servers": servers, "ns_per_item": ns, "waiting_pairs": waiting}

    flat = [figure("edge", servers, 5.0, 7.0) for servers in (10, 100, 1000)]
    dense = [figure("entry", servers, 5.0, servers**2 / 2) for servers in (10, 100, 1000)]
    assert growth_exponents([*flat, *dense]) == pytest.approx({"edge": 1.0, "entry": 2.0})


def test_every_algorithm_is_measured(tmp_path: Path) -> None:
    figures = run_control_benchmarks(tmp_path / "control.json", servers=(120,))
    written = json.loads((tmp_path / "control.json").read_text())
    assert [figure.pop("measured_on")["build"]["version"] for figure in written] == [_core.version()] * len(figures)
    assert written == figures
    assert {figure["item"] for figure in figures} == {"matched packet", "edge", "entry"}
    assert all(0 < figure["ns_per_item"] < 100_000 for figure in figures)
