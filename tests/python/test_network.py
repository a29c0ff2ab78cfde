"""`packetloom.Network`: a program sends, and is told what happens."""

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import commands
import packetloom
from packetloom.errors import ArgumentError, PacketloomError, ScenarioError
from packetloom.network.network import StalledError

ROOT = Path(__file__).parents[2]
FABRIC: dict[str, Any] = {
    "topology": {"kind": "rack", "hosts": 8, "link": {"rate": "100Gbps", "delay": "1us"}},
    "scheme": [{"name": "one", "transport": "dctcp", "queue": {"kind": "ecn", "capacity": "225KB"}}],
}
RECEIVED = packetloom.EventKind.RECEIVED


def test_the_pages_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for piece in re.findall(r"```python\n(.*?)```", (ROOT / "docs/network.md").read_text(), re.DOTALL):
        exec(piece, names)
    said = capsys.readouterr().out.splitlines()
    assert [line.split(" ends")[0] for line in said[:3]] == ["round 1", "round 2", "round 3"]
    assert said[3].startswith("gradients slowed down ")
    assert any("received, " in line for line in said)
    assert said[-1].endswith(" packets were marked")


def traffic(count: int) -> dict[str, Any]:
    draws = np.random.default_rng(1)
    src = draws.integers(0, 8, count)
    dst = (src + draws.integers(1, 8, count)) % 8
    start = np.sort(draws.integers(0, 200_000, count))
    return {"src": src, "dst": dst, "size_bytes": draws.integers(1, 50_000, count), "delay_ns": start}


def test_a_driven_run_has_the_fingerprint_of_the_same_flows_in_a_scenario(tmp_path: Path) -> None:
    flows = traffic(200)
    columns = {"src": flows["src"], "dst": flows["dst"], "size_bytes": flows["size_bytes"]}
    table = pl.DataFrame({"start_ns": flows["delay_ns"], **columns})
    table.write_csv(tmp_path / "flows.csv")
    source = {"arrivals": {"kind": "list", "file": str(tmp_path / "flows.csv")}}
    results = packetloom.run(FABRIC | {"workload": [source]}, progress=False, cache=False)
    fingerprint = results.table("cases")["fingerprint"][0].as_py()
    runs = []
    for step, threads in ((np.inf, 1), (1_000.0, 2)):
        with packetloom.Network(FABRIC, audit=step == np.inf, threads=threads) as network:
            ids = network.send_many(**flows, tag=np.arange(200) * 3, user=7)
            assert ids.tolist() == list(range(200))
            times: list[float] = []
            while (events := network.run(network.now_ns + step)).stopped != "end":
                times += events.time_ns.tolist()
            times += events.time_ns.tolist()
            outcome = network.finish(tmp_path / "out")
        assert outcome.fingerprint == fingerprint
        runs.append(times)
        assert outcome.tables["flows"]["tag"].tolist() == (np.arange(200) * 3).tolist()
    assert runs[0] == runs[1]
    assert len(runs[0]) == 400
    written = packetloom.Results(tmp_path / "out")
    assert written.to_polars()["user"].unique().to_list() == [7]
    assert written.cases["fingerprint"][0].as_py() == fingerprint
    assert written.ports.num_rows > 0


def test_a_driven_run_leaves_a_folder_that_the_commands_read(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "file").touch()
    for seed, folder in enumerate(folders, 1):
        with packetloom.Network(FABRIC, seed=seed) as network:
            network.send_many(**traffic(50))
            while network.run().stopped != "end":
                pass
            with pytest.raises(PacketloomError, match="not a results folder"):
                network.finish(tmp_path / "else")  # which leaves the run as it is
            network.finish(folder)
    for arguments in (["report", folder], ["check", folder], ["compare", *folders]):
        ran = commands.packetloom(*arguments)
        assert ran.returncode == 0, ran.stderr
    both = tmp_path / "both"
    ran = commands.packetloom("combine", *folders, "-o", both)
    assert ran.returncode == 0, ran.stderr
    assert [row.seed for row in packetloom.Results(both).rows()] == [1, 2]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "50 flows on a rack of 8 hosts" in page
    ran = commands.packetloom("run", folder)
    assert ran.returncode == 2
    assert "a program sent its traffic" in ran.stderr


def test_answers_start_at_the_time_of_what_they_answer_at_any_host() -> None:
    with packetloom.Network(FABRIC) as network:
        network.send(0, 1, 10_000, tag=2**64 - 1, channel=5, user=9)
        network.timer(1_500.5, user=3)
        starts = {}
        for event in network:
            if event.kind == packetloom.EventKind.TIMER:
                assert (event.time_ns, event.user, event.id) == (1_500.5, 3, 0)
            elif event.kind == RECEIVED and event.id == 0:
                assert (event.tag, event.channel, event.user) == (2**64 - 1, 5, 9)
                assert network.now_ns == event.time_ns
                for src in (1, 6):
                    starts[network.send(src, 3, 1_000)] = event.time_ns
        assert network.next() is None
        flows = network.finish().tables["flows"]
    assert dict(zip(flows["flow_id"].tolist(), flows["start_ns"].tolist(), strict=True)) == {0: 0.0} | starts


def test_a_run_can_be_looked_at_and_ended_before_its_end() -> None:
    with packetloom.Network(FABRIC) as network:
        message = network.send(0, 1, 100_000_000)
        assert network.next(50_000) is None
        assert network.now_ns == 50_000
        progress = network.progress(message)
        assert progress is not None
        assert 0 < progress.arrived_bytes < 100_000_000
        assert progress.window_bytes > 0
        assert np.isnan(progress.rate_bps)
        assert network.open_messages == 1
        outcome = network.finish()
    assert outcome.counters["flows_finished"] == 0
    assert np.isnan(outcome.tables["flows"]["fct_ns"]).tolist() == [True]


def test_what_is_asked_wrongly_leaves_the_run_as_it_is() -> None:
    with packetloom.Network(FABRIC) as network:
        assert network.link_name(0) == "host0 to switch0"
        with pytest.raises(ArgumentError, match="there is no link 16; write 0 to 15"):
            network.link_name(16)
        with pytest.raises(ArgumentError, match="until_ns"):
            network.next("soon")  # type: ignore[arg-type]
        network.send(0, 1, 1_000)
        assert [event.kind.name for event in network] == ["RECEIVED", "SENT"]


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("src: there is no host 8", {"src": 8}),
    ("src has -1 to -1", {"src": -1}),
    ("bytes: 9223372036854775808 are more", {"size_bytes": 2**63}),
    ("give whole numbers", {"size_bytes": 1.5}),
    ("delay_ns has -1", {"delay_ns": -1.0}),
    ("delay_ns has nan", {"delay_ns": float("nan")}),
    ("delay_ns has ", {"delay_ns": 1e300}),
    ("traffic_class has 256", {"traffic_class": 256}),
    ("channel has", {"channel": 2**32}),
]


@pytest.mark.parametrize(("said", "wrong"), WRONG, ids=[said for said, _ in WRONG])
def test_what_callers_get_wrong_is_an_error_and_changes_nothing(said: str, wrong: dict[str, Any]) -> None:
    with packetloom.Network(FABRIC) as network:
        with pytest.raises(ArgumentError, match=re.escape(said)):
            network.send(**({"src": 0, "dst": 1, "size_bytes": 1} | wrong))
        assert network.open_messages == 0
        assert network.next() is None


def test_batches_are_sent_whole_or_not_at_all() -> None:
    with packetloom.Network(FABRIC) as network:
        with pytest.raises(ArgumentError, match="dst: there is no host 9"):
            network.send_many([0, 1], [1, 9], 5)
        with pytest.raises(ArgumentError, match=r"src has the shape \(2,\); give one number, or 3"):
            network.send_many([0, 1], [1, 2, 3], 5)
        assert network.open_messages == 0
        assert len(network.send_many([], 1, 5)) == 0
        network.timer(10.0)
        assert network.next() is not None
        with pytest.raises(ArgumentError, match="has passed"):
            network.timer(9.0)


def test_a_closed_network_and_another_threads_call_are_errors() -> None:
    network = packetloom.Network(FABRIC)
    network.close()
    for use in (network.next, network.finish, lambda: network.send(0, 1, 1), lambda: network.hosts):
        with pytest.raises(ArgumentError, match="was closed"):
            use()
    busy = packetloom.Network(FABRIC)
    busy.send(0, 1, 300_000_000)
    errors: list[str] = []
    started = threading.Event()

    def simulate() -> None:
        started.set()
        while True:
            try:
                return print(len(busy.run()))
            except ArgumentError:
                continue

    thread = threading.Thread(target=simulate)
    thread.start()
    started.wait()
    while thread.is_alive() and not errors:
        try:
            busy.send(0, 1, 1)
        except ArgumentError as error:
            errors.append(str(error))
    thread.join()
    assert errors == ["another thread uses this network; use it from one at a time"]


def test_scenarios_that_no_program_can_drive_are_refused() -> None:
    workload = {"workload": [{"sizes": "web-search"}], "run": {"loads": [0.5], "flows": 1}}
    with pytest.raises(ScenarioError, match="whoever opens a network sends its traffic"):
        packetloom.Network(FABRIC | workload)
    with pytest.raises(ScenarioError, match="this spans 2 cases"):
        packetloom.Network(FABRIC | {"run": {"seeds": 2}})
    with pytest.raises(PacketloomError, match="there is no such file"):
        packetloom.Network("nowhere.toml")
    fault = {"kind": "link-down", "between": ["host0", "switch0"], "at": "1us"}
    scheme = FABRIC["scheme"][0] | {"transport": {"kind": "dctcp", "max_rto": "1ms"}}
    with packetloom.Network(FABRIC | {"scheme": [scheme], "fault": [fault]}) as network:
        network.send(0, 1, 1_000_000)
        with pytest.raises(StalledError, match="no progress"):
            network.next()


DCQCN: dict[str, Any] = {
    "topology": {"kind": "rack", "hosts": 8, "link": {"rate": "100Gbps", "delay": "1us"}},
    "scheme": [
        {
            "name": "one",
            "transport": "dcqcn",
            "queue": {"kind": "shared-buffer", "buffer": "4MB", "ecn_min": "20KB", "ecn_max": "200KB"},
        }
    ],
}
INCAST: dict[str, Any] = {"src": [1, 2, 3, 4, 5, 6], "dst": 0, "size_bytes": 900_000}


def with_values(scenario: dict[str, Any], part: str, values: dict[str, Any]) -> dict[str, Any]:
    """The scenario with values of its transport or queue from the start."""
    scheme = dict(scenario["scheme"][0])
    before = scheme[part] if isinstance(scheme[part], dict) else {"kind": scheme[part]}
    return scenario | {"scheme": [scheme | {part: before | values}]}


def fingerprint(scenario: dict[str, Any], *sets: tuple[float, dict[str, Any], Any], step: float = np.inf) -> str:
    """Of an incast, or of flows across where paths are balanced, with parameters set at times; where a step is given,
    in calls that go no further."""
    with packetloom.Network(scenario, audit=True) as network:
        network.send_many(**(ACROSS if "routing" in scenario["scheme"][0] else INCAST))
        for at_ns, parameters, places in sets:
            while network.now_ns < at_ns:
                network.run(min(at_ns, network.now_ns + step))
            network.set(parameters, **places)
        while network.run(network.now_ns + step).stopped == "reached":
            network.switch_ports()
        return network.finish().fingerprint


# Four paths, and twice as many senders.
SPREAD: dict[str, Any] = FABRIC | {"topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 8, "spines": 4}}
ACROSS: dict[str, Any] = {"src": [*range(8)] * 2, "dst": [*range(8, 16)] * 2, "size_bytes": 300_000}
BALANCERS: list[tuple[dict[str, Any] | str, dict[str, Any]]] = [
    ("letflow", {"flowlet_gap": "1us"}),
    ("conga", {"flowlet_gap": "2us", "stays": False, "candidates": 2}),
    ("drill", {"samples": 4, "memory": 0}),
    ("conweave", {"reply_extra": "0s", "expiry": "5us"}),
    ({"kind": "adaptive", "per": "flowlet"}, {"flowlet_gap": "1us", "capacity": "50KB"}),
    ("plb", {"marked_above": 0.05, "rounds": 1}),
]


def balanced(routing: dict[str, Any] | str) -> dict[str, Any]:
    return SPREAD | {"scheme": [SPREAD["scheme"][0] | {"routing": routing}]}


CHANGES = [
    (FABRIC, "transport", {"g": 0.5}),
    (FABRIC, "queue", {"mark_above": "100KB"}),
    (DCQCN, "transport", {"gain": 0.1, "alpha_interval": "10us", "additive_increase": "1Gbps", "byte_counter": "1MB"}),
    (DCQCN, "queue", {"ecn_min": "100KB", "ecn_max": "800KB"}),
    *[(balanced(routing), "routing", values) for routing, values in BALANCERS],
]


@pytest.mark.parametrize(("scenario", "part", "values"), CHANGES, ids=lambda one: str(one)[:12])
def test_parameters_can_be_set_at_any_time(scenario: dict[str, Any], part: str, values: dict[str, Any]) -> None:
    parameters = {f"{part}.{name}": value for name, value in values.items()}
    plain = fingerprint(scenario)
    # Set before anything happens they are the scenario's.
    from_start = fingerprint(with_values(scenario, part, values))
    assert fingerprint(scenario, (0, parameters, {})) == from_start != plain
    # Set in the midst they are something else, however far each call goes.
    later = fingerprint(scenario, (100_000.5, parameters, {}))
    assert later not in (plain, from_start)
    assert fingerprint(scenario, (100_000.5, parameters, {}), step=777.0) == later
    # Set to what they are they change nothing, however often.
    same = with_values(scenario, part, values)
    again: list[tuple[float, dict[str, Any], Any]] = [
        (at_ns, parameters, {}) for at_ns in (10_000, 55_555.5, 100_000, 222_222)
    ]
    assert fingerprint(same, *again) == from_start


def test_parameters_are_set_at_some_hosts_and_switches_only() -> None:
    step = {"transport.byte_counter": "100KB"}
    everywhere = fingerprint(DCQCN, (0, step, {}))
    nowhere = fingerprint(DCQCN, (0, step, {"hosts": []}))
    assert nowhere == fingerprint(DCQCN)
    # The receiver sends nothing that goes by them.
    assert fingerprint(DCQCN, (0, step, {"hosts": [0, 7]})) == nowhere
    assert fingerprint(DCQCN, (0, step, {"hosts": [1]})) not in (everywhere, nowhere)
    marks = {"queue.ecn_min": "100KB", "queue.ecn_max": "800KB"}
    assert fingerprint(DCQCN, (0, marks, {"switches": [8]})) == fingerprint(DCQCN, (0, marks, {}))


def test_what_can_not_be_set_is_told_and_changes_nothing() -> None:
    with packetloom.Network(FABRIC) as network:
        assert network.settable == {"transport": ["g"], "queue": ["mark_above"], "routing": []}
        assert network.switches == range(8, 9)
        cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
            ({"transport.gg": 0.5}, {}, "did you mean"),
            ({"transport.g": 5}, {}, "from 0.000001 to 1"),
            ({"transport.g": "fast"}, {}, "transport.g"),
            ({"transport.min_rto": "1ms"}, {}, "Known: g"),
            ({"queue.mark_above": 5}, {}, "no unit"),
            ({"g": 0.5}, {}, "write transport.NAME, queue.NAME or routing.NAME"),
            ({"transport.g": 0.5}, {"hosts": [8]}, "there is no host 8"),
            ({"transport.g": 0.5}, {"hosts": [0.5]}, "whole numbers"),
            ({"queue.mark_above": "5KB"}, {"switches": [7]}, "there is no switch 7; write 8 to 8"),
            ({"transport.g": 0.5, "queue.mark_above": 5}, {}, "no unit"),
        ]
        for parameters, places, message in cases:
            with pytest.raises(ArgumentError, match=re.escape(message)):
                network.set(parameters, **places)
        network.send_many(**INCAST)
        while network.run().stopped == "events":
            pass
        assert network.finish().fingerprint == fingerprint(FABRIC)
    with packetloom.Network(with_values(DCQCN, "queue", {"ecn_max": "300KB"})) as network:
        with pytest.raises(ArgumentError, match="ecn_min"):
            network.set({"queue.ecn_min": "400KB"})
        network.set({"queue.ecn_min": "400KB", "queue.ecn_max": "500KB"})
        with pytest.raises(ArgumentError, match=re.escape("transport.decrease_interval")):
            network.set({"transport.decrease_interval": "1us"})  # the paper's machine has none
    tcp = FABRIC | {"scheme": [{"name": "one", "transport": "tcp", "queue": "drop-tail"}]}
    with packetloom.Network(tcp) as network:
        assert network.settable == {"transport": [], "queue": [], "routing": []}
        with pytest.raises(ArgumentError, match="those that do: dctcp, dcqcn"):
            network.set({"transport.g": 0.5})
        with pytest.raises(ArgumentError, match="those that do: ecn, red, shared-buffer"):
            network.set({"queue.mark_above": "5KB"})
        with pytest.raises(ArgumentError, match="those that do: plb, letflow, conga, drill, conweave, adaptive"):
            network.set({"routing.flowlet_gap": "5us"})
    kept = with_values(FABRIC, "transport", {"connections": "pool"})
    with packetloom.Network(kept) as network, pytest.raises(ArgumentError, match=r"transport\.connections"):
        network.set({"transport.g": 0.5})


def test_a_balancer_is_set_where_it_is() -> None:
    letflow, values = balanced("letflow"), {"routing.flowlet_gap": "1us"}
    nowhere = fingerprint(letflow, (0, values, {"switches": []}))
    assert nowhere == fingerprint(letflow)
    # Those that send go by the gap of the first leaf alone.
    assert fingerprint(letflow, (0, values, {"switches": [16]})) != nowhere
    plb = balanced("plb")
    assert fingerprint(plb, (0, {"routing.rounds": 1}, {"switches": []})) != fingerprint(plb)
    assert fingerprint(plb, (0, {"routing.rounds": 1}, {"hosts": []})) == fingerprint(plb)
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (balanced("letflow"), {"flowlet_key": "flow"}, "unknown parameter that can be set"),
        (
            balanced("adaptive"),
            {"flowlet_gap": "5us"},
            'routing.flowlet_gap: changes nothing here; it needs per = "flow',
        ),
        (balanced("adaptive"), {"capacity": "0B"}, "routing.capacity: write the size of a queue"),
        (balanced("hedera"), {"threshold": 0.2}, 'routing: "hedera" has no parameters that can be set'),
    ]
    for scenario, written, message in cases:
        with packetloom.Network(scenario) as network, pytest.raises(ArgumentError, match=re.escape(message)):
            network.set({f"routing.{key}": value for key, value in written.items()})


def test_switch_ports_are_seen_as_they_were_a_window_ago() -> None:
    with packetloom.Network(FABRIC) as network:
        assert not network.switch_ports().marks.any()
        network.send_many(**INCAST)
        network.run(50_000)
        ports = network.switch_ports()
        assert 0 <= network.now_ns - ports.at_ns < 1_100
        busy = int(np.argmax(ports.queued_bytes))
        assert 5_000 < ports.queued_bytes[busy] < 225_000
        assert network.link_name(int(ports.link[busy])) == "switch0 to host0"
        assert set(ports.switch.tolist()) == {8}
        network.run(100_000)
        later = network.switch_ports()
        sent_bytes = int(later.sent_bytes[busy]) - int(ports.sent_bytes[busy])
        could_bytes = (later.at_ns - ports.at_ns) * 12.5
        assert 0.95 * could_bytes < sent_bytes < could_bytes + 1_500  # but for the packet that ends after that
        while network.run().stopped == "events":
            pass
        last = network.switch_ports()
        table = network.finish().tables["ports"]
        assert int(last.marks.sum()) == int(np.sum(table["marks"])) > 0


def test_another_seed_takes_the_place_of_the_scenarios() -> None:
    def run(seed: int | None = None) -> str:
        red = with_values(DCQCN, "queue", {"ecn_probability": 0.2})
        with packetloom.Network(red | {"run": {"seeds": [3]}}, seed=seed) as network:
            network.send_many(**INCAST)
            while network.run().stopped == "events":
                pass
            return network.finish().fingerprint

    assert run() == run(seed=3) != run(seed=4)
