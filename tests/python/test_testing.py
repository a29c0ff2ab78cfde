"""The test bench: the numbers of RFC 5681 and RFC 8257, packetloom's own errors, and what a file can be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from packetloom import ArgumentError, PacketloomError, ScenarioError
from packetloom.testing import Bench, Event, ack, drive, loss, timeout

pytest.importorskip("numba")

CLASSES = Path(__file__).parent / "schemes" / "classes.py"
HEAD = "import math\nfrom packetloom.schemes import Ack, CongestionControl, Flow, Loss, Window, flag, number, time\n"


def written(tmp_path: Path, body: str, name: str = "Own") -> str:
    """A class in a file of its own, as the bench takes it."""
    file = tmp_path / f"{name.lower()}.py"
    file.write_text(f"{HEAD}class {name}(CongestionControl):\n{body}\n")
    return f"{file}:{name}"


@pytest.mark.parametrize("name", ["Default", "NewReno"])
def test_what_behaves_as_new_reno(name: str) -> None:
    bench = drive(f"{CLASSES}:{name}")
    assert bench.play([ack(10), ack(20), ack(40)]) == [20.0, 40.0, 80.0], "slow start doubles in each round"
    bench.lose()
    assert (bench.window.cwnd, bench.window.ssthresh, bench.window.in_slow_start) == (40.0, 40.0, False)
    bench.acknowledge(40)
    # 1 / cwnd for each of the 40, as cwnd grows: a bit less than one packet (RFC 5681 §3.1).
    grown = 40.0
    for _ in range(40):
        grown += 1 / grown
    assert bench.window.cwnd == pytest.approx(grown, abs=1e-4)
    assert bench.play([timeout(in_flight=30), ack(), timeout()]) == [1.0, 2.0, 1.0]
    assert bench.window.ssthresh == 2.0, "RFC 5681 §3.1: two packets at least"
    assert bench.window.in_slow_start


def test_a_timer_that_expires_again_leaves_ssthresh() -> None:
    bench = drive(f"{CLASSES}:Default", initial_window=32)
    assert bench.play([timeout(), timeout()]) == [1.0, 1.0]
    assert bench.window.ssthresh == 16.0


def test_dctcps_alpha_after_known_marks() -> None:
    bench = drive(f"{CLASSES}:Dctcp", g=0.5)

    def alpha() -> float:
        return float(bench.field("alpha")) / (1 << 20)

    # Packets 0 to 9 are a round. Its first acknowledgement ends the round before, in which nothing was marked.
    bench.acknowledge(10)
    assert (alpha(), bench.window.cwnd) == (0.5, 20.0)
    bench.acknowledge()
    assert (alpha(), bench.window.cwnd) == (0.25, 21.0)
    # The first mark shrinks the window by alpha / 2, the others of the round do nothing.
    assert bench.play([ack(marked=True) for _ in range(19)]) == [21 * 0.875] * 19
    # The next acknowledgement ends that round, of which 19 in 20 were marked: 0.25 / 2 + 0.95 / 2.
    bench.acknowledge()
    assert alpha() == pytest.approx(0.6, abs=1e-5)
    bench.acknowledge()
    before = bench.window.cwnd
    bench.acknowledge(marked=True)
    assert bench.window.cwnd == pytest.approx(before * (1 - 0.3), abs=1e-4)


def test_one_reduction_for_each_round_of_marks() -> None:
    bench = drive(f"{CLASSES}:Dctcp", g=1.0)
    bench.acknowledge(10)
    windows = bench.play([ack(marked=True) for _ in range(20)])
    assert len(set(windows)) == 1, "once in a round, however many marks"
    assert windows[0] == bench.window.ssthresh


def test_the_bench_counts_packets_and_time() -> None:
    bench = drive(f"{CLASSES}:Default")
    assert (bench.una, bench.next, bench.now_ps) == (0, 10, 0)
    bench.acknowledge()
    assert (bench.una, bench.next, bench.now_ps) == (1, 12, 40_000_000)
    bench.rtt = "100us"
    bench.acknowledge(9)
    # Ten packets take a round trip, of which nine are left.
    assert (bench.una, bench.next, bench.now_ps, bench.rtt) == (10, 30, 130_000_000, "100us")
    bench.lose()
    assert (bench.una, bench.next, bench.now_ps) == (30, 40, 230_000_000)
    bench.time_out()
    assert (bench.una, bench.next, bench.now_ps) == (30, 40, 430_000_000)


def test_methods_see_what_the_bench_says(tmp_path: Path) -> None:
    body = """
    g = number(0.25, doc="A number.")
    on = flag(True, doc="A flag.")
    span = time("40us", doc="A time.")
    size: int = 0
    rtt: int = 0
    una: int = 0
    next: int = 0
    marks: int = 0
    flying: int = -1
    again: bool = False
    half: float = 0.5
    def start(self, flow: Flow, window: Window) -> None:
        self.size = flow.size_bytes
        window.cwnd = 4.0
    def acknowledged(self, ack: Ack, window: Window) -> None:
        self.rtt = ack.rtt_ps
        self.una = ack.una
        self.next = ack.next
        self.marks += ack.marked
    def lost(self, loss: Loss, window: Window) -> None:
        self.flying = loss.in_flight
    def timed_out(self, loss: Loss, window: Window) -> None:
        self.again = loss.again == 1"""
    bench = drive(written(tmp_path, body), span="2ms", on=False)
    assert bench.window.cwnd == 4.0
    bench.play([ack(marked=[True, False, True]), loss()])
    expected = {"g": 0.25, "on": False, "span": 2_000_000_000, "size": 10**12, "rtt": 40_000_000}
    expected |= {"una": 3, "next": 6, "marks": 2, "flying": 4, "again": False, "half": 0.5}
    assert bench.fields == expected
    bench.play([timeout(), timeout()])
    assert bench.field("again") is True
    with pytest.raises(ArgumentError, match="declares no 'alpha'; there are: g, on, span"):
        bench.field("alpha")


NONSENSE = [
    ("acknowledged", "window.cwnd = math.nan", [ack(3)], "Own.acknowledged set the window to what is not a number", 1),
    ("lost", "window.cwnd = 0.0", [ack(2), loss()], "Own.lost set the window to zero packets or fewer", 3),
    ("timed_out", "window.cwnd = 1e9", [timeout()], "Own.timed_out set the window to 1000000000 packets", 1),
    ("acknowledged", "window.ssthresh = -1.0", [ack()], "Own.acknowledged set ssthresh to what is negative", 1),
]


@pytest.mark.parametrize(("method", "statement", "events", "message", "number"), NONSENSE)
def test_nonsense_names_method_and_event(
    method: str, statement: str, events: list[Event], message: str, number: int, tmp_path: Path
) -> None:
    body = f"    def {method}(self, event, window):\n        {statement}"
    bench = drive(written(tmp_path, body), max_window=50)
    for _ in range(2):  # and again: the flow has ended
        with pytest.raises(PacketloomError) as raised:
            bench.play(events)
        assert message in str(raised.value)
        assert f"(event {number}, at " in str(raised.value)


def test_nonsense_at_the_start(tmp_path: Path) -> None:
    body = "    def start(self, flow: Flow, window: Window) -> None:\n        window.cwnd = math.nan"
    with pytest.raises(PacketloomError, match=r"Own\.start set the window to what is not a number \(event 0"):
        drive(written(tmp_path, body))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"g": 2.0}, r"^Dctcp: g: 2 is out of range; write a number from 0\.000001 to 1"),
        ({"gg": 0.5}, '^Dctcp: gg: unknown key "gg"; did you mean "g"'),
        ({"min_rto": 200}, "^Dctcp: min_rto: "),
        ({"g": [0.1, 0.2]}, "g: a bench takes one value of a parameter"),
    ],
)
def test_parameters_are_read_as_in_a_scenario(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(PacketloomError, match=message):
        drive(f"{CLASSES}:Dctcp", **parameters)


def test_what_is_no_class(tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    two.write_text(f"{HEAD}class A(CongestionControl):\n    pass\nclass B(A):\n    pass\nclass Other:\n    pass\n")
    broken = tmp_path / "broken.py"
    broken.write_text("class A(:\n")
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    cases: list[tuple[str | Path, str]] = [
        (two, r"two\.py has 2 congestion controls; write which: .*two\.py:A or .*two\.py:B"),
        (f"{two}:C", r"two\.py: there is no class 'C'; the classes are: A, B, Other"),
        (f"{two}:Other", r"two\.py line 7: Other is none of packetloom\.schemes"),
        (broken, r"broken\.py line 1: invalid syntax"),
        (empty, r"empty\.py has no congestion control; write a class derived from"),
        (f"{empty}:A", r"there is no class 'A'; there are no classes"),
        (tmp_path / "nothing.py", "there is no such file"),
        ("dctcp", r"dctcp: write a Python file and a class of it, such as my_cc\.py:MyCC"),
    ]
    for named, message in cases:
        with pytest.raises(PacketloomError, match=message):
            drive(named)
    with pytest.raises(ArgumentError, match=r"packetloom\.schemes\.CongestionControl"):
        drive(int)  # type: ignore[arg-type]
    assert issubclass(ArgumentError, PacketloomError)
    assert issubclass(ScenarioError, PacketloomError)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda bench: bench.acknowledge(packets=11), "11 packets can't be acknowledged at once, 10 are in flight"),
        (lambda bench: bench.acknowledge(3, marked=[True]), "marked has 1 values for 3 acknowledgements"),
        (lambda bench: bench.acknowledge(marked="yes"), "marked is 'yes'"),
        (lambda bench: bench.acknowledge(marked=[1]), "marked is 1"),
        (lambda bench: bench.acknowledge(-1), "count is from 0"),
        (lambda bench: bench.lose(in_flight=-1), "in_flight is from 0"),
        (lambda bench: bench.play(["ack"]), "events is 'ack'"),
        (lambda bench: setattr(bench, "rtt", "40"), 'rtt: "40" has no unit; write a time such as "40us"'),
        (lambda bench: setattr(bench, "rtt", 40), "rtt is 40"),
    ],
)
def test_what_can_not_be(wrong: object, message: str) -> None:
    bench = drive(f"{CLASSES}:Default")
    assert isinstance(bench, Bench)
    with pytest.raises(ArgumentError, match=message):
        wrong(bench)  # type: ignore[operator]
    assert bench.una == 0
