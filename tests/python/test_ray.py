"""Campaigns on a Ray cluster, one of whose two nodes dies in mid-run. `make test-ray` installs Ray and runs this."""

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import packetloom
from conftest import CASES
from packetloom.campaign.progress import SilentReporter
from packetloom.campaign.runner import run_plan
from packetloom.cli.main import main
from packetloom.scenario.plan import read_plan
from packetloom.store.case_rows import CaseRow

pytestmark = pytest.mark.ray

CLASSES = Path(__file__).parent / "schemes"


@pytest.fixture
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield started
    ray.shutdown()
    started.shutdown()


def test_a_lost_nodes_cases_are_run_again_and_nothing_differs(
    cluster: Any, long_scenario: Path, tmp_path: Path
) -> None:
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()

    class KillNode(SilentReporter):
        """Pulls the plug of a node, whose two workers are busy, once the first case is back."""

        killed = False

        def finished(self, row: CaseRow) -> None:
            if not self.killed:
                self.killed = True
                cluster.remove_node(node, allow_graceful=False)

    plan = read_plan(long_scenario, ["run.flows=2_000"])
    reporter = KillNode()
    remote = run_plan(plan, tmp_path / "ray", None, reporter, ray=cluster.address)
    assert reporter.killed
    local = run_plan(plan, tmp_path / "local", 2, SilentReporter())
    assert remote.cases.num_rows == CASES
    assert remote.cases["case_id"].equals(local.cases["case_id"])
    assert remote.cases["fingerprint"].equals(local.cases["fingerprint"])
    assert remote.flows.equals(local.flows)
    assert remote.ports.equals(local.ports)


def test_ray_is_started_here_without_an_address(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "--ray", str(scenario), "-o", str(tmp_path / "out"), "--workers", "2"]
    monkeypatch.setattr(sys, "argv", ["packetloom", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code, capsys.readouterr().err
    local = packetloom.run(scenario, tmp_path / "local", progress=False)
    assert packetloom.Results(tmp_path / "out").cases["fingerprint"].equals(local.cases["fingerprint"])


def test_a_nodes_classes_are_those_of_the_machine_that_sends_the_cases(cluster: Any, tmp_path: Path) -> None:
    source: dict[str, Any] = {
        "topology": {"kind": "rack", "hosts": 4},
        "workload": [{"sizes": "web-search", "pattern": "random-pairs"}],
        "scheme": [
            {
                "name": "mine",
                "transport": {"kind": "python", "file": str(CLASSES / "classes.py"), "class": "Dctcp"},
                "queue": {"kind": "python", "file": str(CLASSES / "queues.py"), "class": "Marking"},
            }
        ],
        "run": {"loads": [0.5], "flows": 100, "seeds": [1, 2]},
    }
    plan = read_plan(source)
    remote = run_plan(plan, tmp_path / "ray", None, SilentReporter(), ray=cluster.address)
    local = run_plan(plan, tmp_path / "local", 1, SilentReporter())
    assert remote.cases["fingerprint"].equals(local.cases["fingerprint"])


@pytest.mark.parametrize("listening", [False, True])
def test_an_address_that_does_not_answer(
    listening: bool,
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not listening:
            server.close()
        monkeypatch.setattr(sys, "argv", ["packetloom", "run", str(scenario), "--ray", f"127.0.0.1:{port}"])
        monkeypatch.chdir(tmp_path)
        began = time.monotonic()
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == 2
    assert f"--ray 127.0.0.1:{port}: " in capsys.readouterr().err
    assert time.monotonic() - began < 30
    assert not (tmp_path / "results").exists()
