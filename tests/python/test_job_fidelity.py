"""`packetloom fidelity` of jobs: made smaller with what bounds them kept, and compared figure by figure."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import packetloom
from packetloom.campaign.fidelity import planned
from packetloom.campaign.job_fidelity import job_errors, job_kinds
from packetloom.campaign.smaller_jobs import smaller
from packetloom.cli.main import app
from packetloom.errors import PacketloomError
from packetloom.pages.report import report
from packetloom.stats.estimates import rung_name
from packetloom.store.results import Results

NDP = {"name": "NDP", "transport": "ndp", "queue": "ndp", "routing": "permutation"}
TRAINING = {
    "kind": "training",
    "tensor": 8,
    "pipeline": 16,
    "data": 128,
    "layers": 96,
    "microbatches": 32,
    "forward": "2.4ms",
    "activations": "50MB",
    "gradients": "453MB",
    "repeat": 3,
}
RAILS = {
    "kind": "rail-optimised",
    "servers": 2048,
    "accelerators": 8,
    "servers_per_rail_switch": 64,
    "spines": [64, 63, 32],
    "scale_up": {"rate": "3600Gbps", "delay": "0.3us"},
}


def scenario(topology: dict[str, Any], *jobs: dict[str, Any], **run: Any) -> dict[str, Any]:
    return {
        "topology": topology,
        "workload": [{"arrivals": job} for job in jobs],
        "scheme": [NDP],
        "run": run,
    }


def halvings(document: dict[str, Any], times: int) -> dict[str, Any]:
    """After so many questions whether it fits."""
    asked = iter(range(times))
    return smaller(document, job_kinds(), lambda _: next(asked, None) is None).document


def test_what_bounds_a_job_stays() -> None:
    before = scenario(RAILS, TRAINING)
    kept = copy.deepcopy(before)
    for times in range(40):
        made = halvings(before, times)
        topology, job = made["topology"], made["workload"][0]["arrivals"]
        ranks = job["tensor"] * job["pipeline"] * job["data"]
        assert topology["servers"] * topology["accelerators"] == ranks, "every host has its rank"
        together = topology["servers_per_rail_switch"]
        assert topology["servers"] % together == 0
        # A rail switch has an uplink to each spine: as many hosts for each as before, in each case that is left.
        assert {together / spines for spines in topology["spines"]} <= {1, 2, 64 / 63}
        assert job["data"] / together == 2, "a ring goes by two groups of servers, as it did"
        assert job["tensor"] == 8
        assert job["layers"] % job["pipeline"] == 0
        assert job["microbatches"] >= min(job["pipeline"], 32)
        computed, sent = (float(job[key][:-2]) for key in ("forward", "activations"))
        assert computed / sent == pytest.approx(2.4 / 50)
    assert before == kept
    assert ranks < 300


def test_what_was_made_smaller_is_told_and_what_cannot_be_stays() -> None:
    made = smaller(scenario(RAILS, TRAINING), job_kinds(), lambda document: True)
    assert "topology.spines = [2, 1] instead of [64, 63, 32]" in made.told or made.document["topology"]["servers"] > 64
    fat_tree = {"kind": "fat-tree", "k": 4}
    ring = {"kind": "collective", "operation": "all-reduce", "size": "16MB"}
    made = smaller(scenario(fat_tree, ring), job_kinds(), lambda document: False)
    assert made.document["topology"] == fat_tree
    assert made.told == ("arrivals.size = 0.5MB instead of 16MB",)
    leaves = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 16, "spines": 8}
    made = smaller(scenario(leaves, ring, ring), job_kinds(), lambda document: False)
    assert made.document["topology"] == leaves | {"hosts_per_leaf": 2, "spines": 1}, "halved once for both jobs"
    trace = {"kind": "goal", "file": "any.goal", "repeat": 2}
    made = smaller(scenario(leaves, trace), job_kinds(), lambda document: False)
    assert made.told == ("arrivals.repeat = 1 instead of 2",)
    for unit in ("B", "kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"):
        halved = halvings(scenario(fat_tree, ring | {"size": f"8000000{unit}"}), 1)
        assert halved["workload"][0]["arrivals"]["size"] == f"4000000{unit}"


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    ring = {"kind": "collective", "operation": "all-reduce", "size": "2MB"}
    return scenario({"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2}, ring, seeds=5)


def test_errors_of_repetitions_and_operations(small: dict[str, Any], tmp_path: Path) -> None:
    file, out, found = tmp_path / "ring.json", tmp_path / "out", tmp_path / "found.json"
    file.write_text(json.dumps(small))
    result = CliRunner().invoke(
        app, ["fidelity", str(file), "--seeds", "2", "-o", str(out), "--json", str(found), "--no-cache"]
    )
    assert result.exit_code == 0, result.output
    for part in ("Error of jobs in %", "NDP", "flows, whole", "all-reduce", "(fabric)", "repetition", "CPU"):
        assert part in result.output
    errors = job_errors(Results(out))
    assert json.loads(found.read_text()) == errors.to_dicts() == json.loads((out / "fidelity.json").read_text())
    assert set(errors["rung"]) == {"steady", "flows", "flows, whole", "flows, calibrated"}
    assert set(errors["bin"]) == {"repetition", "all-reduce (fabric)"}
    for row in errors.iter_rows(named=True):
        assert row["estimate"] == pytest.approx(row["packets"] * (1 + row["error"]), rel=0.05)
        assert abs(row["error"]) < 0.5
        assert (row["seeds"], row["flows"]) == (2, 2)
    # A lone operation: its time is that of the repetition, its bandwidth the inverse.
    of_flows = errors.filter(pl.col("rung") == "flows")
    error = {(row["bin"], row["statistic"]): row["error"] for row in of_flows.iter_rows(named=True)}
    assert error["repetition", "time"] == pytest.approx(error["all-reduce (fabric)", "time"])
    bandwidth = 1 + error["all-reduce (fabric)", "bus bandwidth"]
    assert bandwidth == pytest.approx(1 / (1 + error["repetition", "time"]), abs=1e-3)
    # Nothing is computed, so all of it is exposed.
    assert error["repetition", "exposed communication"] == pytest.approx(error["repetition", "time"])

    estimates = packetloom.run(
        small | {"run": {"fidelity": {"kind": "flows", "collectives": "whole"}}}, tmp_path / "run", progress=False
    )
    page = report(estimates, tmp_path / "page.html", errors=found).read_text()
    assert "packets would be" in page
    assert "exposed communication, ms" in page
    plain = report(estimates, tmp_path / "plain.html").read_text()
    assert "no error was measured" in plain


def test_what_is_refused(small: dict[str, Any]) -> None:
    with pytest.raises(PacketloomError, match="made smaller by themselves; leave --flows out"):
        planned(small, flows=100)
    with pytest.raises(PacketloomError, match="no estimate holds for all schemes"):
        planned(
            small
            | {
                "scheme": [{"name": "DAQ", "transport": "mptcp", "queue": "drop-tail"}],
                "workload": [
                    {"arrivals": small["workload"][0]["arrivals"]},
                    {"arrivals": "closed", "sizes": {"kind": "constant", "size": "1KB"}, "flows": 5},
                ],
            }
        )


def test_a_smaller_value_of_an_axis_is_named_by_what_it_stands_for(small: dict[str, Any], tmp_path: Path) -> None:
    large = small | {"topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 8, "spines": [4, 3, 2]}}
    asked = smaller(large, job_kinds(), lambda document: document["topology"]["hosts_per_leaf"] < 8)
    assert asked.axes == {"topology.spines": {2: 4, 1: 2}}
    results = packetloom.run(
        asked.document | {"run": {"seeds": 1, "fidelity": ["packets", "flows"]}}, tmp_path / "out", progress=False
    )
    assert set(job_errors(results, asked.axes)["scheme"]) == {"NDP, topology.spines 4", "NDP, topology.spines 2"}


def test_rungs_have_names() -> None:
    assert rung_name(None) == "packets"
    assert rung_name({"kind": "flows", "collectives": "messages"}) == "flows"
    assert rung_name({"kind": "flows", "collectives": "whole"}) == "flows, whole"
    assert rung_name({"kind": "flows", "calibrate": True}) == "flows, calibrated"
