"""The rungs below packets from the command line: what they cost, what they refuse, and what the report says of them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import packetloom
from packetloom.campaign.fidelity import fidelity_errors, fidelity_plan, run_fidelity
from packetloom.cli.main import app
from packetloom.errors import PacketloomError
from packetloom.pages.figures import FIGURES, chart
from packetloom.pages.panels import Curve
from packetloom.pages.report import report
from packetloom.stats.estimates import AXIS, FILE, Estimated, estimate_lines

ECN = {"kind": "ecn", "capacity": "225KB", "mark_above": "30KB"}
DCTCP = {"name": "DCTCP", "transport": {"kind": "dctcp", "min_rto": "1ms"}, "queue": ECN}
NDP = {"name": "NDP", "transport": "ndp", "queue": "ndp"}
IDEAL = {"name": "Ideal", "transport": "ideal"}


def scenario(*schemes: dict[str, Any], **run: Any) -> dict[str, Any]:
    """Small flows on four hosts."""
    return {
        "topology": {"kind": "rack", "hosts": 4},
        "workload": [{"sizes": {"kind": "exponential", "mean": "30KB"}}],
        "scheme": list(schemes),
        "run": {"loads": [0.3], "flows": 1_000, "warm_up": "10us", **run},
        "measure": {"queues": True},
    }


def test_errors_and_speed_of_every_rung(tmp_path: Path) -> None:
    plan, refusals = fidelity_plan(scenario(DCTCP), flows=300, seeds=2)
    assert not refusals
    assert len(plan.cases) == 8
    results = run_fidelity(plan, tmp_path / "out")
    errors = fidelity_errors(results)
    assert set(errors["rung"]) == {"steady", "links", "flows"}
    assert set(errors["statistic"]) == {"mean", "p99"}
    everything = errors.filter((pl.col("bin") == "all") & (pl.col("statistic") == "mean"))
    for row in everything.iter_rows(named=True):
        # Small flows leave "steady" nothing to skip.
        assert row["error"] == 0 if row["rung"] == "steady" else row["low"] < row["error"] < row["high"]
        assert row["flows"] == 600
        assert abs(row["error"]) < 0.5
        assert row["estimate"] == pytest.approx(row["packets"] * (1 + row["error"]), rel=0.05)
    assert json.loads((tmp_path / "out" / FILE).read_text()) == errors.to_dicts()
    estimated = {row.parameters["run.fidelity"]: row.counters.get("estimated") for row in results.rows()}
    assert estimated == {"packets": None, "steady": 1, "links": 1, "flows": 1}
    warnings = [warning for row in results.rows() for warning in row.warnings]
    assert any("these are estimates" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("run.seeds=9", "fidelity sets run.seeds itself; give --seeds"),
        ("run.flows = 500", "fidelity sets run.flows itself; give --flows"),
        ('run.fidelity="links"', "fidelity sets run.fidelity itself; leave it out"),
        ("run.warm_up=1us", "all flows count"),
        ("measure.queues=true", "nothing is recorded beside flows"),
    ],
)
def test_a_setting_is_not_ignored(setting: str, message: str) -> None:
    with pytest.raises(PacketloomError, match=f"--set {setting}: .*{message}"):
        fidelity_plan(scenario(DCTCP), flows=10, overrides=["run.max_time=1s", setting])


def test_schemes_that_a_rung_does_not_hold_for_are_left_out_with_the_reason() -> None:
    plan, refusals = fidelity_plan(scenario(DCTCP, NDP, IDEAL), flows=100, seeds=1)
    cases = [(case.parameters["scheme"], case.parameters["run.fidelity"]) for case in plan.cases]
    assert cases == [("DCTCP", "packets"), ("DCTCP", "steady"), ("DCTCP", "links"), ("DCTCP", "flows")]
    alone, _ = fidelity_plan(scenario(NDP), flows=100, seeds=1)
    assert [case.parameters["run.fidelity"] for case in alone.cases] == ["packets", "flows"]
    reasons = {(refusal.scheme, refusal.rung): refusal.why for refusal in refusals}
    held = {("NDP", "flows")}
    every = {(scheme, rung) for scheme in ("NDP", "Ideal") for rung in ("steady", "links", "flows")}
    assert set(reasons) == every - held
    assert "receivers share out their links" in reasons["NDP", "links"]
    with pytest.raises(PacketloomError, match="no estimate holds for any scheme"):
        fidelity_plan(scenario(IDEAL), flows=100)


def test_the_number_of_flows_falls_with_the_number_of_cases() -> None:
    plan, _ = fidelity_plan(scenario(DCTCP, loads=[0.2, 0.3]), seeds=5)
    flows = {json.loads(case.json)["run"]["flows"] for case in plan.cases}
    assert flows == {6_000}
    precise = scenario(DCTCP, seeds=3, precision={"statistic": "mean", "within": 0.1})
    plan, _ = fidelity_plan(precise, flows=50, seeds=2)
    assert {case.parameters["seed"] for case in plan.cases} == {1, 2}


def test_the_command_prints_the_table_and_the_report_shows_the_band(tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(scenario(DCTCP)))
    out, found = tmp_path / "out", tmp_path / "found.json"
    command = ["fidelity", str(file), "--flows", "200", "--seeds", "2", "-o", str(out), "--json", str(found)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    for part in ("Error of the slowdown in % at load 0.3", "DCTCP", "links", "flows", "over 2 seeds"):
        assert part in result.output
    assert {row["rung"] for row in json.loads(found.read_text())} == {"steady", "links", "flows"}
    estimates = packetloom.run(
        scenario(DCTCP, fidelity="links") | {"measure": {}}, tmp_path / "estimates", progress=False
    )
    page = report(estimates, tmp_path / "page.html", errors=found).read_text()
    assert "packets would be" in page
    assert "these are estimates: links were simulated apart" in page
    plain = report(estimates, tmp_path / "plain.html").read_text()
    assert "packets would be" in plain
    (tmp_path / "wrong.json").write_text("[1]")
    with pytest.raises(PacketloomError, match="is not what `packetloom fidelity` wrote"):
        report(estimates, tmp_path / "page.html", errors=tmp_path / "wrong.json")


def test_a_band_is_the_estimate_without_its_error() -> None:
    statistics = pl.DataFrame(
        {
            "label": ["A"],
            "scheme": ["A"],
            "load": [0.5],
            "bin": ["all"],
            "metric": ["slowdown"],
            "statistic": ["p99"],
            "value": [12.0],
        }
    )
    error = {"scheme": "A", "rung": "links", "bin": "all", "statistic": "p99"}
    near = {**error, "load": 0.6, "error": 0.2, "low": 0.0, "high": 0.5}
    far = {**error, "load": 0.1, "error": 9.0, "low": 8.0, "high": 10.0}
    estimated = {"A": Estimated("links", frozenset({"A"}))}
    lines = estimate_lines(statistics, estimated, [far, near])
    assert lines == [["0.5", "A", "links", "all", "p99", "12.0", "+20.0±20.0", "8.00 to 12.0"]]
    assert estimate_lines(statistics, estimated, [])[0][-2:] == ["–", "–"]
    no_seeds = {**near, "low": None, "high": None}
    assert estimate_lines(statistics, estimated, [no_seeds])[0][-2:] == ["+20.0", "10.0"]


def test_figures_shade_where_packets_would_be(tmp_path: Path) -> None:
    plan, _ = fidelity_plan(scenario(DCTCP, loads=[0.2, 0.4]), flows=300, seeds=2)
    results = run_fidelity(plan, tmp_path / "out")
    errors = fidelity_errors(results)
    panel = chart("slowdown-by-load", results).panel({"statistic": "p99"})
    bands = {mark.label: list(mark.bands) for mark in panel.marks if isinstance(mark, Curve)}
    assert not any(bands[f"DCTCP, {AXIS} packets"])
    of_links = errors.filter(rung="links", bin="all", statistic="p99").sort("load")
    for row, band in zip(of_links.iter_rows(named=True), bands[f"DCTCP, {AXIS} links"], strict=True):
        assert band is not None
        assert band[0] == pytest.approx(row["estimate"] / (1 + row["high"]))
        assert band[1] == (pytest.approx(row["estimate"] / (1 + row["low"])) if row["low"] > -1 else None)
    # Without what was measured there is nothing to shade.
    bare = FIGURES["slowdown-by-load"].of(results).panel({})
    assert not any(any(mark.bands) for mark in bare.marks if isinstance(mark, Curve))


def test_links_that_are_down_from_the_start_are_gone_without_packets() -> None:
    training: dict[str, Any] = {
        "kind": "training",
        "tensor": 2,
        "data": 4,
        "layers": 2,
        "forward": "20us",
        "activations": "100KB",
    }

    def took(spines: int, fault: dict[str, Any] | None, fidelity: object) -> list[float]:
        rails: dict[str, Any] = {
            "kind": "rail-optimised",
            "servers": 4,
            "accelerators": 2,
            "servers_per_rail_switch": 2,
        }
        scenario: dict[str, Any] = {
            "topology": rails | {"spines": spines, "link": {"rate": "100Gbps", "delay": "1us"}},
            "workload": [{"arrivals": training | {"gradients": "20MB"}}],
            "scheme": [{"name": "any", "transport": "ndp", "queue": "ndp", "routing": "spray-random"}],
            "run": {"fidelity": fidelity},
            **({} if fault is None else {"fault": [fault]}),
        }
        with tempfile.TemporaryDirectory() as folder:
            results = packetloom.run(scenario, Path(folder) / "out", progress=False)
            return list(results.to_polars("iterations")["jct_ns"])

    down: dict[str, Any] = {"kind": "switch-down", "node": "spine1", "at": "0us", "learn_after": "0us"}
    whole = {"kind": "flows", "collectives": "whole"}
    for fidelity in ("flows", whole):
        assert took(2, down, fidelity) == pytest.approx(took(1, None, fidelity))
        assert took(2, down | {"at": "never"}, fidelity) == took(2, None, fidelity) != took(1, None, fidelity)
    others: list[dict[str, Any]] = [{"at": "1us"}, {"until": "1ms"}, {"learn_after": "1us"}]
    for other in others:
        with pytest.raises(
            PacketloomError, match='can be down from at = "0us" on, with learn_after = "0us" and no until'
        ):
            took(2, down | other, "flows")
    with pytest.raises(PacketloomError, match="host 0 is cut off"):
        took(2, down | {"node": "rail0"}, "flows")
