"""The kernel's side of validation: what needs no kernel, and that namespaces of ours do not stay."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from packetloom.store.results import Results
from packetloom.validate.command import KINDS, run_validation
from packetloom.validate.comparison import Check, Row
from packetloom.validate.kernel.cases import CASES, FAIR, MANAGED_CASES, PIE, Case, dumbbell_of, offsets_ns
from packetloom.validate.kernel.comparisons import compared, kernel_comparisons, scenario, simulate, topology_text
from packetloom.validate.kernel.deviations import ANYWHERE, BEHIND_BUCKET
from packetloom.validate.kernel.endpoint import Observed
from packetloom.validate.kernel.measure import (
    LATE_NS,
    STILL_NS,
    Trial,
    mean_between,
    on_time,
    settled_of,
    swing_of,
    trials_of,
)
from packetloom.validate.kernel.network import Dumbbell, UnavailableError, parameters, require
from packetloom.validate.peers.agreement import agreement


def test_a_sample_holds_until_the_next() -> None:
    samples = [(0, 5.0), (10, 10.0), (20, 20.0), (40, 0.0)]
    assert mean_between(samples, 10, 40) == (10 * 10 + 20 * 20) / 30
    assert mean_between(samples, 15, 60) == (5 * 10 + 20 * 20) / 45


def test_a_queue_swings_about_its_mean_once_flows_have_settled() -> None:
    settled = [(time, 40.0 if time % 2 else 60.0) for time in range(50, 90)]
    assert swing_of([(0, 500.0), *settled, (95, 0.0)], 0, 90) == 10


def test_a_flow_that_had_to_wait_spoils_the_trial() -> None:
    at_once = [0, 0, 0]
    assert on_time(Observed([0, LATE_NS, 2 * LATE_NS], [], [], 0), at_once)
    assert not on_time(Observed([0, LATE_NS, 2 * LATE_NS + 1], [], [], 0), at_once)
    assert on_time(Observed([0, 20_000_000], [], [], 0), [0, 20_000_000])
    assert not on_time(Observed([0, 20_000_000 + LATE_NS + 1], [], [], 0), [0, 20_000_000])
    assert on_time(Observed([0], [], [(-STILL_NS, 0), (1, 0), (STILL_NS, 0)], 0), [0])
    assert not on_time(Observed([0], [], [(0, 0), (STILL_NS + 1, 0)], 0), [0])


def test_flows_share_the_kernels_slow_link() -> None:
    try:
        (trial,) = trials_of(Case("two", 2, 30_000, trials=1))
    except UnavailableError as reason:
        pytest.skip(str(reason))
    assert len(trial.starts_ns) == len(trial.fcts_ms) == 2
    # Bytes and the headers of 42 packets at 20 Mb/s, less what passes at once.
    alone_ms = (60_000 + 42 * 66 - 6_000) * 8 / 20e3
    last_ms = max(start / 1e6 + fct for start, fct in zip(trial.starts_ns, trial.fcts_ms, strict=True))
    assert alone_ms < last_ms < 2 * alone_ms
    assert 0 < trial.queue_bytes < 60_000
    assert trial.drops == 0


def test_a_step_is_over_when_packets_wait_no_longer_than_the_target() -> None:
    case = next(case for case in MANAGED_CASES if case.managed and case.managed.target_ms == 5)
    # 5 ms at 20 Mb/s are 12,500 B. The second time that more wait is the longer queue's.
    queue = [(0, 0), (1, 20_000), (2, 0), (3, 12_501), (4, 60_000), (5, 30_000), (6, 12_500), (7, 13_000)]
    assert settled_of([(at * 1_000_000, size) for at, size in queue], case) == 4.0
    assert settled_of([(0, 1.0)], CASES[0]) is None


def test_flows_that_start_by_chance_start_alike_on_both_sides() -> None:
    case = next(case for case in MANAGED_CASES if case.flows > 1)
    first, again, other = offsets_ns(case, 0), offsets_ns(case, 0), offsets_ns(case, 1)
    assert first == again != other
    assert first[0] == 0
    assert first == sorted(first)
    assert first[-1] <= case.spread_ms * 1_000_000


def test_a_managed_queue_has_the_same_aqm_and_path_on_both_sides(tmp_path: Path) -> None:
    case = next(case for case in MANAGED_CASES if case.managed is FAIR)
    dumbbell = dumbbell_of(case)
    assert dumbbell.queue[0] == "fq_codel"
    assert dumbbell.delay_ms == 10
    queue = scenario(case, tmp_path)["scheme"][0]["queue"]
    assert (queue["kind"], queue["scheduler"], queue["aqm"]["kind"]) == ("egress", "fair-queueing", "codel")
    # 20 ms there and back with the 605.6 us of a packet at 20 Mb/s; the kernel's class lets a first one go at once.
    assert 2 * case.delay_ms * 1_000_000 == 2 * 9_697_200 + 605_600
    assert "1 5 100Gbps 9697200ns 0" in topology_text(case.flows, case.delay_ms)


def test_what_only_linux_has_is_asked_of_ours(tmp_path: Path) -> None:
    schemes = [scenario(case, tmp_path)["scheme"][0] for case in MANAGED_CASES]
    found = [one["transport"] for one in schemes]
    assert {one["kind"]: one.get("reno_recovers") for one in found} == {"tcp": None, "cubic": False, "bbr": None}
    assert [one["whole_packets"] for one in found if one["kind"] == "bbr"] == [True, True]
    aqms = [scheme["queue"].get("aqm") for scheme in schemes]
    pies = [aqm for aqm in aqms if isinstance(aqm, dict) and aqm["kind"] == "pie"]
    assert {(pie["variant"], pie["update"]) for pie in pies} == {("linux", "20ms")}
    # Only where a Reno that CUBIC is friendly to grows at all.
    without = [case for case in CASES if case.transport.get("reno_friendly") is False]
    assert [scenario(case, tmp_path)["scheme"][0]["transport"].get("reno_recovers") for case in without] == [None]


def test_what_chance_decides_is_compared_with_its_interval() -> None:
    case = next(case for case in MANAGED_CASES if case.managed is PIE and case.flows == 1)
    theirs = [Trial((0,), (4_000.0,), queue, 100) for queue in (30_000, 31_000, 29_000)]
    ours = [Trial((0,), (4_000.0,), queue, 100) for queue in (20_000, 40_000, 30_000)]
    throughput, sojourn, drops = compared(case, theirs, ours)
    assert (throughput.verdict, sojourn.verdict, drops.verdict) == ("holds", "undecided", "holds")


def test_the_simulated_dumbbell_has_the_slow_link_between_its_switches() -> None:
    lines = topology_text(2).splitlines()
    assert lines[:2] == ["5 2 4", "3 4"]
    assert "3 4 20Mbps 100ns 0" in lines
    assert {line.split()[0] for line in lines[4:]} == {"1", "2"}


def test_flows_are_simulated_with_the_starts_that_they_had(tmp_path: Path) -> None:
    measured = Trial((0, 30_000_000), (0.0, 0.0), 0, 0)
    simulated = simulate(Case("two", 2, 14_480), measured, tmp_path / "trial")
    # Ten packets of 1514 B at 20 Mb/s, one after the other; 0.3 us of delay, and the other links' 0.12 us twice.
    alone_ms = 10 * 1514 * 8 / 20e3 + 0.0003 + 2 * 1514 * 8 / 100e6
    assert simulated.fcts_ms == pytest.approx((alone_ms, alone_ms), rel=1e-6)
    assert simulated.drops == 0


def test_means_over_trials_are_compared() -> None:
    theirs = [Trial((0, 0), (90.0, 200.0), 29_000, 0), Trial((0, 0), (110.0, 200.0), 31_000, 0)]
    ours = [Trial((0, 0), (100.0, 230.0), 31_000, 0)] * 3
    rows = compared(Case("two", 2, 1), theirs, ours)
    assert [row.verdict for row in rows] == ["differs" if "last" in row.what else "holds" for row in rows]


@pytest.mark.parametrize(
    ("linux_ms", "behind_bucket", "verdict"),
    [
        (250.0, True, "holds"),
        (180.0, True, "differs as known"),
        (180.0, False, "differs"),
        (165.0, True, "differs"),
        (300.0, True, "differs"),
    ],
)
def test_a_bucket_explains_as_much_as_was_measured_behind_one(
    linux_ms: float, behind_bucket: bool, verdict: str
) -> None:
    case = next(case for case in CASES if case.title == "TCP Reno, incast of 16 x 30 KB")
    theirs = [Trial((0, 0), (linux_ms, linux_ms), 24_000, 0, behind_bucket=behind_bucket)]
    ours = [Trial((0, 0), (263.0, 263.0), 24_000, 0)]
    mean, _, queue = compared(case, theirs, ours)
    assert (mean.verdict, queue.verdict) == (verdict, "holds")
    assert not mean.known_no_longer


def test_what_is_known_is_of_cases_and_figures_that_there_are() -> None:
    assert {*BEHIND_BUCKET, *ANYWHERE} <= {case.title for case in CASES}
    for case in CASES:
        trial = Trial((0,) * case.flows, (1.0,) * case.flows, 1, 0, swing_bytes=1.0)
        known = [row for row in compared(case, [trial], [trial]) if row.known]
        assert len(known) == len(ANYWHERE.get(case.title, {}))


def test_what_the_machine_has_not_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda tool: None)
    with pytest.raises(UnavailableError, match="there is no `ip`"):
        require("reno")
    assert run_validation(["kernel"])
    assert "kernel: skipped: there is no `ip`" in capsys.readouterr().out


def test_a_queue_that_the_kernel_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: Dumbbell, namespace: str, command: Sequence[str]) -> None:
        raise UnavailableError(f"`{' '.join(command)}` failed: Error: Specified qdisc kind is unknown.")

    monkeypatch.setattr(Dumbbell, "run", unknown)
    dumbbell = dumbbell_of(next(case for case in MANAGED_CASES if case.managed is FAIR))
    with pytest.raises(UnavailableError, match=r"^this kernel, or its `tc`, has no queue fq_codel$"):
        dumbbell._add_qdisc("router", "slow", ["root"], *dumbbell.queue)


def test_what_one_comparison_lacks_stops_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lacking(_: Mapping[str, Results]) -> list[Row]:
        raise UnavailableError("this kernel has no TCP dctcp")

    row = agreement("a row", "a row", "made up", 1.0, 1.0, 0.1)
    made_up = [Check("with", lambda _: {}, lambda _: [row]), Check("without", lambda _: {}, lacking)]
    monkeypatch.setitem(KINDS, "kernel", ("kernel", lambda: made_up))
    assert run_validation(["kernel"], tmp_path / "rows.json")
    assert "without: skipped: this kernel has no TCP dctcp" in capsys.readouterr().out
    assert [row["id"] for row in json.loads((tmp_path / "rows.json").read_text())] == ["a-row"]


def test_what_is_set_for_the_whole_machine_is_put_back() -> None:
    path = Path("/sys/module/tcp_cubic/parameters/initial_ssthresh")
    before = path.read_text() if path.exists() else ""
    try:
        with parameters("cubic", {"initial_ssthresh": "77"}):
            assert path.read_text() == "77\n"
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert path.read_text() == before
    except UnavailableError as reason:
        pytest.skip(str(reason))


def test_dctcps_switch_marks_in_the_simulation_what_linux_would_mark(tmp_path: Path) -> None:
    dctcp = next(case for case in CASES if case.control.marks)
    queue = scenario(dctcp, tmp_path)["scheme"][0]["queue"]
    assert (queue["kind"], queue["mark_above"]) == ("ecn", "22500B")
    dumbbell = dumbbell_of(dctcp)
    assert dumbbell.settings["net.ipv4.tcp_ecn"] == "1"
    # What waits 9 ms at 20 Mb/s has found 22.5 KB.
    assert dumbbell.mark_above_us == 22_500 * 8 / 20


def test_namespaces_of_ours_do_not_stay() -> None:
    def ours() -> list[str]:
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
        return [line for line in listed.splitlines() if line.startswith(dumbbell.router.removesuffix("router"))]

    dumbbell = dumbbell_of(Case("two", 2, 30_000))
    try:
        with dumbbell:
            assert len(ours()) == 4
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert ours() == []
    except UnavailableError as reason:
        pytest.skip(str(reason))


def test_every_case_has_a_name_of_its_own() -> None:
    names = [one.name for one in kernel_comparisons()]
    assert len(names) == len(set(names))
