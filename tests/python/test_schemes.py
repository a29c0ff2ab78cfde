"""Schemes in Python: the same bits as packetloom's own, and a message with a line for every mistake."""

from __future__ import annotations

import json
import linecache
import re
import shutil
import signal
import subprocess
import sys
import time as clock
from pathlib import Path
from typing import Any

import pytest

import packetloom
import packetloom.schemes
from packetloom import PacketloomError, ScenarioError, _core
from packetloom.cli.catalogue import print_explanation
from packetloom.scenario.plan import read_plan
from packetloom.schemes import CongestionControl, loader, rehearsal

pytest.importorskip("numba")

CLASSES = Path(__file__).parent / "schemes" / "classes.py"
HEAD = "from packetloom.schemes import Ack, CongestionControl, Flow, Loss, Window, cbrt, count, number, time\n"


def scenario(*transports: dict[str, Any] | str, queue: Any = "drop-tail", flows: int = 200) -> dict[str, Any]:
    names = [f"scheme {number}" for number in range(len(transports))]
    return {
        "topology": {"kind": "fat-tree", "k": 4},
        "workload": [{"sizes": "web-search"}],
        "scheme": [
            {"name": name, "transport": transport, "queue": queue}
            for name, transport in zip(names, transports, strict=True)
        ],
        "run": {"loads": [0.8], "flows": flows, "seeds": [3]},
    }


def mine(class_name: str, file: Path = CLASSES, **values: Any) -> dict[str, Any]:
    return {"kind": "python", "file": str(file), "class": class_name, **values}


def fingerprints(results: packetloom.Results) -> list[str]:
    return results.to_polars("cases").sort("scheme")["fingerprint"].to_list()


SMALL = {"kind": "drop-tail", "capacity": "30KB"}
ROOT = Path(__file__).parents[2]
MARKING = {"kind": "ecn", "capacity": "60KB", "mark_above": "15KB"}


@pytest.mark.parametrize(
    ("own", "class_name", "queue"),
    [
        ("tcp", "NewReno", SMALL),
        ("tcp", "Default", SMALL),
        ({"kind": "tcp", "initial_window": 4, "delayed_ack": True}, "NewReno", SMALL),
        ("dctcp", "Dctcp", MARKING),
        ({"kind": "dctcp", "g": 0.25, "reduction": "prr"}, "Dctcp", MARKING),
        ({"kind": "dctcp", "connections": {"kind": "pool"}}, "Dctcp", MARKING),
        ({"kind": "tcp", "connections": {"kind": "pool", "warm": 1}}, "NewReno", SMALL),
        ("cubic", "Cubic", SMALL),
        ({"kind": "cubic", "c": 1e7, "fast_convergence": False}, "Cubic", SMALL),
        ("vegas", "Vegas", SMALL),
        ({"kind": "vegas", "alpha": 1.0, "loss_detection": "rack"}, "Vegas", SMALL),
    ],
)
def test_a_class_gives_the_same_bits(own: Any, class_name: str, queue: Any, tmp_path: Path) -> None:
    values = {} if isinstance(own, str) else {key: value for key, value in own.items() if key != "kind"}
    results = packetloom.run(scenario(own, mine(class_name, **values), queue=queue), output=tmp_path / "results")
    ours, theirs = fingerprints(results)
    assert ours == theirs
    cases = results.to_polars("cases")
    assert cases["drops" if "drops" in cases.columns else "retransmissions"].sum() > 0 or queue is MARKING
    assert len(cases) == 2


def test_a_class_that_paces_sends_at_its_rate(tmp_path: Path) -> None:
    made = {
        "topology": {"kind": "rack", "hosts": 2, "link": {"rate": "10Gbps", "delay": "1us"}},
        "workload": [
            {
                "sizes": {"kind": "constant", "size": "1460KB"},
                "arrivals": "at-once",
                "pattern": {"kind": "pair", "src": 0, "dst": 1},
            }
        ],
        "scheme": [{"name": "paced", "transport": mine("Steady", pace_bps=[1e9, 4e9]), "queue": "drop-tail"}],
        "run": {"flows": 1},
    }
    flows = packetloom.run(made, output=tmp_path / "results").to_polars("flows").sort("fct_ns")
    # 1000 packets of 1460 B: from the first to the last 999 of them, at 4 and at 1 Gb/s, and some microseconds.
    fast, slow = flows["fct_ns"].to_list()
    assert fast == pytest.approx(999 * 1460 * 8 / 4, abs=10_000)
    assert slow == pytest.approx(999 * 1460 * 8 / 1, abs=10_000)


def test_what_no_method_uses_is_not_measured(tmp_path: Path) -> None:
    def constants(class_name: str) -> int:
        return int(
            loader.load(str(CLASSES), _core.file_hash(CLASSES.read_bytes()), class_name)["constants"]["measures"]
        )

    assert [constants(name) for name in ("NewReno", "Dctcp", "Vegas", "Steady")] == [0, 0, 1, 1]


def test_a_parameter_spans_a_grid_and_is_checked(tmp_path: Path) -> None:
    results = packetloom.run(scenario(mine("Dctcp", g=[0.01, 0.5]), queue=MARKING), output=tmp_path / "results")
    slow, fast = results.to_polars("cases").sort("scheme.transport.g")["fingerprint"]
    assert slow != fast
    with pytest.raises(
        ScenarioError, match=r"scheme\[0\]\.transport\.g: 2 is out of range; write a number from 0.000001 to 1"
    ):
        packetloom.run(scenario(mine("Dctcp", g=2.0)), output=tmp_path / "other")
    with pytest.raises(ScenarioError, match='unknown key "gg"; did you mean "g"'):
        packetloom.run(scenario(mine("Dctcp", gg=0.5)), output=tmp_path / "other")


def test_a_class_that_goes_by_marks_wants_a_queue_that_sets_them(capsys: pytest.CaptureFixture[str]) -> None:
    cases = read_plan(scenario(mine("Dctcp")))
    assert any("goes by marks" in warning for warning in cases.warnings)
    assert not read_plan(scenario(mine("NewReno"))).warnings


def test_the_content_of_the_file_is_part_of_a_cases_identity(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    shutil.copy(CLASSES, file)

    def identity() -> str:
        (case,) = read_plan(scenario(mine("Dctcp", file))).cases
        return case.id

    first = identity()
    assert identity() == first
    file.write_text(file.read_text() + "\n# Another version.\n")
    assert identity() != first


def test_a_folder_keeps_the_file_and_repeats_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    shutil.copy(CLASSES, file)
    before = packetloom.run(scenario(mine("Dctcp", file), queue=MARKING, flows=50), output=tmp_path / "first")
    file.write_text("raise ValueError('another file')\n")
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "another cache"))
    after = packetloom.run(tmp_path / "first", output=tmp_path / "second")
    assert fingerprints(before) == fingerprints(after)
    (kept,) = (tmp_path / "second" / "schemes").glob("*/mine.py")
    assert kept.read_text() == CLASSES.read_text()


MISTAKES = [
    (
        "    def acknowleged(self, ack, window):\n        pass",
        1,
        "nothing calls 'acknowleged'; did you mean 'acknowledged'?",
    ),
    # The class's body; its line in the file, counted from the class; what is said.
    ("    gain: str = ''", 1, "gain is str; a field is int, float or bool"),
    ("    gain: float", 1, "gain needs an initial value"),
    ("    gain = 0.5", 1, "what is gain? Write its type"),
    ("    def acknowledged(self, ack, window):\n        window.growl()", 2, "no method 'growl'; did you mean 'grow'?"),
    ("    def acknowledged(self, ack, window):\n        window.cwd = 1.0", 2, "'cwd'; did you mean 'cwnd'?"),
    ("    def acknowledged(self, ack, window):\n        ack.packets = 1", 2, "ack.packets can't be set"),
    ("    def acknowledged(self, ack, window):\n        self.alpha = 1", 2, "declares no 'alpha'"),
    ("    def acknowledged(self, ack):\n        pass", 1, "takes self, ack and window"),
    ("    def acknowledged(self, ack, window):\n        window.shrink()", 2, "window.shrink takes 1 arguments"),
    ("    x: int = 0\n    def lost(self, loss, window):\n        self.x = 0.5", 3, "gets a float"),
    ("    x: int = 0\n    def lost(self, loss, window):\n        self.x /= 2", 3, "gets a float"),
    ("    def lost(self, loss, window):\n        window.cwnd = 'many'", 2, ""),
    ("    def lost(self, loss, window):\n        print(open('x'))", 2, "open"),
    ("    def lost(self, loss, window):\n        self.undefined()", 2, "no method 'undefined'"),
    ("    g = number(0.5, doc='x')\n    def lost(self, loss, window):\n        self.g = 1.0", 3, "g is a parameter"),
    ("    def lost(self, loss, window):\n        return nothing", 2, "nothing"),
    ("    def lost(self, loss, window=1):\n        pass", 1, "without defaults"),
]


ACK = "    def acknowledged(self, ack, window):\n"
MISTAKES += [
    (f"{ACK}        raise ValueError('no')", 2, "raise can't be compiled in acknowledged: nothing can handle an"),
    (f"{ACK}        if ack.una > 9:\n            assert ack.marked", 3, "assert can't be compiled"),
    (f"{ACK}        try:\n            pass\n        except ValueError:\n            pass", 2, "try can't be compiled"),
    (f"{ACK}        with window:\n            pass", 2, "with can't be compiled"),
    (f"{ACK}        yield 1", 2, "yield can't be compiled"),
    (f"{ACK}        async def wait():\n            pass", 2, "async def can't be compiled"),
    (f"{ACK}        def inner(x):\n            return x", 2, "a def in another can't be compiled"),
    (f"{ACK}        f = lambda x: x", 2, "lambda can't be compiled"),
    (f"{ACK}        x = sum(i for i in range(3))", 2, "a generator can't be compiled"),
    (f"{ACK}        match ack.una:\n            case 1:\n                pass", 2, "match can't be compiled"),
    (f"{ACK}        x = 1\n        del x", 3, "del can't be compiled"),
    (f"{ACK}        global HEAD", 2, "global can't be compiled"),
    (f"{ACK}        import math", 2, "import can't be compiled"),
    (
        f"{ACK}        self.again(9)\n    def again(self, n):\n        self.again(n)",
        4,
        "again calls itself; there is no",
    ),
    (
        f"{ACK}        self.a()\n    def a(self):\n        self.b()\n    def b(self):\n        self.a()",
        6,
        "a calls itself by way of b",
    ),
    ("    async def acknowledged(self, ack, window):\n        pass", 1, "is an async def, which is not called"),
    (f"    if True:\n    {ACK}            pass", 1, "'if True:' has no effect in a class's body"),
    ("    step: int = 2.9", 1, "step is declared int and gets a float, 2.9; write int(...), or declare it float"),
    ("    table: list[int] = [0, 1.9]", 1, "table is declared int and gets a float, 1.9"),
    ("    ready: bool = 0.5", 1, "ready is declared bool and gets a float"),
    ("    ready: bool = 2", 1, "ready is declared bool and gets 2; write True or False"),
    ("    g: int = 10**30", 1, "g gets a whole number of 100 bits; write one from -2**63 to 2**63 - 1"),
    ("    g: float = 10**400", 1, "g gets a whole number of 1329 bits"),
    (f"    n: int = 0\n{ACK}        x = self.n = 2.5", 3, "gets a float"),
    (f"    n: int = 0\n{ACK}        x, self.n = 1.5, 2.5", 3, "gets a float"),
    (f"    n: int = 0\n{ACK}        x, self.n = ack.una, ack", 3, ""),
    (f"    n: int = 0\n{ACK}        for self.n in (0.5, 1.5):\n            pass", 3, "for can't count in self.n"),
    (
        f"    t: list[int] = [0] * 4\n{ACK}        self.t[4] = 1",
        3,
        "t has 4 elements, so there is no t[4]; write 0 to 3",
    ),
    (f"    t: list[int] = [0] * 4\n{ACK}        x = self.t[-5]", 3, "there is no t[-5]"),
    (f"    t: int = 0\n{ACK}        x = self.t[0]", 3, "t is no list; write self.t"),
    (f"{ACK}        x = window.cwnd = 2.5", 2, "window.cwnd is set by itself"),
    (f"{ACK}        x = {'-' * 400}1", 2, "this is nested more than 150 deep"),
    (f"{ACK}        x = {'-' * 50_000}1", 2, "this is nested more than 150 deep"),
]


@pytest.mark.parametrize(("body", "line", "message"), MISTAKES, ids=[one[0].strip()[:40] for one in MISTAKES])
def test_a_mistake_is_reported_with_its_line(body: str, line: int, message: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(f"{HEAD}class Broken(CongestionControl):\n{body}\n")
    with pytest.raises(ScenarioError) as raised:
        read_plan(scenario(mine("Broken", file)))
    assert f"broken.py line {line + 2}: " in str(raised.value)
    assert message in str(raised.value)
    assert "scheme[0].transport.file" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Broken(:\n", "broken.py line 1: invalid syntax"),
        ("1 / 0\nclass Broken: pass\n", "broken.py line 1: ZeroDivisionError: division by zero"),
        (
            "class Broken: pass\n",
            "line 1: Broken is none of packetloom.schemes; derive it from one of CongestionControl",
        ),
        ("class Other: pass\n", "there is no class 'Broken' here; the classes are: Other"),
        ("import os\nclass Broken: pass\n", "line 1: os can't be imported here"),
        ("x = 1\nimport random\nclass Broken: pass\n", "line 2: random can't be imported here"),
        ("import numpy as np\nW = np.random.random()\n", "line 2: np.random.random can't be used here, for results"),
        ("import numpy as np\nW = np.loadtxt('w.txt')\n", "line 2: np.loadtxt can't be used here"),
        ("import numpy as np\nW = np.empty(3)\n", "line 2: np.empty can't be used here"),
        ("import numpy as np\nf = np\n", "line 2: np is a module"),
        ("from numpy.random import random\n", "line 1: numpy.random.random can't be used here"),
        ("from numpy import random as r\n", "line 1: numpy.random can't be used here"),
        ("from numpy import *\n", "line 1: write import numpy"),
        ("import typing\nW = typing.sys.argv\n", "line 2: typing.sys.argv can't be used here"),
        ("import numba\nf = numba.objmode\n", "line 2: numba.objmode can't be used here"),
        ("os = __import__('os')\n", "line 1: __import__ can't be used here"),
        ("W = open('w.txt').read()\n", "line 1: open can't be used here"),
        ("W = eval('1')\n", "line 1: eval can't be used here"),
        ("W = id(1)\n", "line 1: id can't be used here"),
        ("W = ().__class__\n", "line 1: __class__ can't be used here"),
        ("class Broken: pass\nraise SystemExit(0)\n", "line 2: SystemExit: 0"),
        (f"{HEAD}@print\nclass Broken(CongestionControl): pass\n", "Broken can't have a decorator"),
        (
            f"{HEAD}class Broken(CongestionControl): pass\nBroken.lost = print\n",
            "line 2: Broken.lost is set outside of the class",
        ),
        (
            "import numpy as np\nnp.save('w.npy', np.zeros(3))\n",
            "line 2: save can't be used here, for the file is run",
        ),
        ("from numpy import savetxt\n", "line 1: numpy.savetxt can't be used here"),
        ("import numpy as np\nnp.zeros(3).tofile('w')\n", "line 2: tofile can't be used here"),
        ("import packetloom\npacketloom.run('a.toml')\n", "line 2: packetloom.run can't be used here"),
        ("from packetloom import run\nrun('a.toml')\n", "line 2: run can't be used here"),
        ("from packetloom.common.files import write_text as w\nw('a', 'b')\n", "line 2: w can't be used here"),
        ("class Broken: pass\nn = 1\nwhile n:\n    n += 1\n", "TimeoutError: more than 10,000,000 steps"),
        ("class Broken: pass\nwhile True: pass\n", "TimeoutError: more than 10,000,000 steps"),
        ("class Broken: pass\n[0 for _ in range(10**12)]\n", "TimeoutError: more than 10,000,000 steps"),
        (
            "from packetloom import CongestionControl\nclass Broken(CongestionControl): pass\n",
            "schemes import Congestion",
        ),
        (
            "def f():\n    while True:\n        pass\nf()\nclass Broken: pass\n",
            "TimeoutError: more than 10,000,000 steps",
        ),
        ("from .other import x\nclass Broken: pass\n", "line 1: .other can't be imported here"),
        (
            "from packetloom.schemes import CongestionControll\nclass Broken: pass\n",
            "line 1: packetloom.schemes has no 'CongestionControll'; did you mean 'CongestionControl'?",
        ),
    ],
)
def test_a_file_that_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    with pytest.raises(ScenarioError) as raised:
        read_plan(scenario(mine("Broken", file)))
    assert message in str(raised.value)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory so")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 10**10**9", "takes more than 1 s before a class is there"),
        ("x = sum(range(10**12))", "takes more than 1 s before a class is there"),
        ("x = bytes(10**12)", "takes more memory than there is for constants"),
        ("x = [0] * 10**11", "takes more memory than there is for constants"),
    ],
)
def test_one_call_that_nothing_can_interrupt(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "MOST_SECONDS", 1)
    # Beside the user's file, some that are called like modules of Python's.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queue.py").write_text("raise SystemExit(7)\n")
    file = tmp_path / "endless.py"
    file.write_text(f"{HEAD}class Endless(CongestionControl): pass\ndef f():\n    {text}\n    return 1\nf()\n")
    with pytest.raises(ScenarioError) as raised:
        read_plan(scenario(mine("Endless", file)))
    assert f"endless.py line {file.read_text().count(chr(10)) - 2}: this {message}" in str(raised.value)


def test_a_function_of_the_file_is_held_to_the_same(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    body = f"class Broken(CongestionControl):\n{ACK}        window.cwnd = 3.0 + f(ack.una)\n"
    for function, message in [
        ("def f(n):\n    assert n\n    return n", "line 3: assert can't be compiled in f"),
        ("def f(n):\n    return 0 if n < 0 else f(n - 1)", "line 3: f calls itself"),
        ("def f(n):\n    return g(n)\ndef g(n):\n    return f(n)", "calls itself by way of"),
        ("import numba\ndef f(n):\n    return g(n)\ng = numba.njit(f)", "calls itself by way of"),
    ]:
        file.write_text(f"{HEAD}{function}\n{body}")
        with pytest.raises(ScenarioError) as raised:
            read_plan(scenario(mine("Broken", file)))
        assert message in str(raised.value)


def test_what_a_file_may_hold(tmp_path: Path) -> None:
    """Constants that are computed, helpers that no method calls, and a program beside the class."""
    file = tmp_path / "whole.py"
    file.write_text(
        f'''import math
import numpy as np
import packetloom
from packetloom import run
{HEAD}TABLE = np.array([math.exp(-x) for x in np.linspace(0.0, 1.0, 5)])
def checked(x):
    assert x > 0
    return x
ONE = checked(1)
def at(table: np.ndarray, place):
    at = table[place]
    return at
class Whole(CongestionControl):
    """A class."""
    n: int = 0
    table: list[int] = [0, True]
    def acknowledged(self, ack: Ack, window: Window) -> None:
        id = [one * 2 for one in range(3)]
        self.n = self.table[0] = id[1]
        self.table[1], self.n = self.n, self.table[0]
        window.cwnd = 2.0 + at(TABLE, 1) + ONE
if __name__ == "__main__":
    print(open("another file").read())
    print(run("a.toml"), packetloom.run("b.toml"))
'''
    )
    assert len(read_plan(scenario(mine("Whole", file))).cases) == 1


def test_another_process_takes_what_was_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From elsewhere, where the user's file is no module; and the first may have imported it as one."""
    monkeypatch.setenv("PACKETLOOM_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "own.py"
    file.write_text(
        f"{HEAD}class Own(CongestionControl):\n    def lost(self, loss, window):\n        window.restart()\n"
    )
    code = f"from packetloom import _core; _core.explain_class({str(file)!r}, 'Own')"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for imports, folder in (("import own", tmp_path), ("", elsewhere), ("", tmp_path), ("", elsewhere)):
        command = [sys.executable, "-c", f"{imports}\n{code}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "cache").rglob("*.nbc"))) == 2, "the method and its entry, compiled once"


def test_a_key_that_is_missing_or_spans_a_grid() -> None:
    with pytest.raises(ScenarioError, match=r"transport\.class: is missing"):
        read_plan(scenario({"kind": "python", "file": str(CLASSES)}))
    with pytest.raises(ScenarioError, match=r"transport\.class: .*a \[\[scheme\]\] for each"):
        read_plan(scenario(mine("Dctcp") | {"class": ["Dctcp", "Cubic"]}))
    with pytest.raises(ScenarioError, match="cannot read"):
        read_plan(scenario(mine("Dctcp", Path("/nowhere/mine.py"))))


NONSENSE = [
    ("window.cwnd = math.nan", "Mad.acknowledged set the window to what is not a number"),
    ("window.cwnd = 0.0", "Mad.acknowledged set the window to zero packets or fewer"),
    ("window.cwnd = -3.5", "Mad.acknowledged set the window to zero packets or fewer"),
    ("window.cwnd = 1e3", "Mad.acknowledged set the window to 1000 packets, and it may be 20 at most"),
    ("window.ssthresh = -1.0", "Mad.acknowledged set ssthresh to what is negative"),
    ("self.table[ack.una] = 1", "Mad.acknowledged raised an exception; look for an index"),
    (
        "self.table[0] = self.table[-1 - ack.una]",
        "Mad.acknowledged raised an exception; look for an index",
    ),
    ("self.table[0] = [1, 2][ack.una]", "Mad.acknowledged raised an exception; look for an index"),
    ("window.shrink(math.nan)", "Mad.acknowledged set the window to what is not a number"),
]


@pytest.mark.parametrize(("statement", "message"), NONSENSE, ids=[one[0] for one in NONSENSE])
def test_nonsense_ends_the_run_with_method_flow_and_time(statement: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mad.py"
    body = f"    table: list[int] = [0] * 4\n{ACK}        {statement}\n"
    file.write_text(f"import math\n{HEAD}class Mad(CongestionControl):\n{body}")
    source = scenario(mine("Mad", file, max_window=20), flows=20)
    with pytest.raises(PacketloomError) as raised:
        packetloom.run(source, output=tmp_path / "results")
    assert message in str(raised.value)
    assert "(flow " in str(raised.value)
    assert " at " in str(raised.value)


def test_a_second_ctrl_c_ends_a_method_that_never_returns(tmp_path: Path) -> None:
    endless = "        while self.table[0] < 1:\n            self.table[1] += 1\n"
    (tmp_path / "mad.py").write_text(
        f"{HEAD}class Mad(CongestionControl):\n    table: list[int] = [0] * 2\n{ACK}{endless}"
    )
    (tmp_path / "mad.json").write_text(json.dumps(scenario("tcp", mine("Mad", Path("mad.py")), flows=20)))
    command = [sys.executable, "-m", "packetloom", "run", "mad.json", "-o", "out", "--workers", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if "done: scheme 0" in line:
            break
    assert any("warning: a method of scheme 1 did not return within 10 s: an endless loop?" in line for line in told)
    for _ in range(2):
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        clock.sleep(1)
    _, said = process.communicate(timeout=20)
    *progress, last = said.splitlines()
    assert (process.returncode, last) == (130, "stopped at once; what is finished is kept")
    assert all(line.startswith("1 of 2 cases done") for line in progress), progress
    assert len(packetloom.Results(tmp_path / "out").cases) == 1


def test_below_a_packet_one_goes_at_a_time_so_that_no_class_falls_silent(tmp_path: Path) -> None:
    file = tmp_path / "silent.py"
    body = "    def acknowledged(self, ack: Ack, window: Window) -> None:\n        window.cwnd = 0.5\n"
    file.write_text(f"{HEAD}class Silent(CongestionControl):\n{body}")
    source = scenario(mine("Silent", file), flows=1)
    source["workload"][0]["sizes"] = {"kind": "constant", "size": "1MB"}
    (row,) = packetloom.run(source, output=tmp_path / "results").rows()
    # 685 packets, each with a round trip of its own.
    assert (row.counters["flows_finished"], row.counters["packets_sent"]) == (1, 685)
    assert row.counters["slowdown_mean"] > 5


def test_threads_change_no_bit() -> None:
    source = scenario(mine("Dctcp"), queue=MARKING)
    source["topology"] = {"kind": "leaf-spine", "leaves": 8, "spines": 4, "hosts_per_leaf": 8}
    (case,) = read_plan(source).cases
    one, two = (_core.Simulation(case).run(threads).fingerprint for threads in (1, 2))
    assert one == two


def test_without_numba_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    file.write_text(CLASSES.read_text() + "\n# Not compiled yet.\n")
    monkeypatch.delitem(sys.modules, "packetloom.schemes.compiler", raising=False)
    monkeypatch.delattr(packetloom.schemes, "compiler", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ScenarioError, match=r"numba, which is not installed; write pip install 'numba>=0\.61'"):
        read_plan(scenario(mine("Dctcp", file)))


def test_the_guide_can_be_followed(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "your-own-scheme.md").read_text()
    files = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL))
    others = {"young.py": "YoungFirst", "gentle.py": "Gentle", "lanes.py": "TwoLanes", "avoid.py": "Avoid"}
    assert set(files) == {"my_dctcp.py", "mine.toml", "test_my_dctcp.py"}
    assert all(f"](../examples/schemes/{name})" in guide for name in others)
    files |= {name: (ROOT / "examples/schemes" / name).read_text() for name in others}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert len(files["my_dctcp.py"].splitlines()) <= 40
    results = packetloom.run(tmp_path / "mine.toml", output=tmp_path / "results", overrides=["run.flows=300"])
    built_in, own = fingerprints(results)
    assert built_in == own
    young, gentle, lanes, avoid = ({"file": str(tmp_path / file), "class": name} for file, name in others.items())
    together = {
        "topology": {"kind": "fat-tree", "k": 4},
        "workload": [{"sizes": "web-search"}],
        "scheme": [
            {"name": "young", "transport": young | {"kind": "python"}, "queue": lanes | {"kind": "python"}},
            {"name": "gentle", "transport": gentle | {"kind": "python-rate"}, "queue": "shared-buffer"},
            {"name": "avoid", "transport": "uec", "queue": "ndp", "routing": avoid | {"kind": "python"}},
        ],
        "run": {"loads": [0.5], "flows": 100},
    }
    flows = packetloom.run(together, output=tmp_path / "together").to_polars("flows")
    assert flows["fct_ns"].null_count() == 0
    command = [sys.executable, "-m", "pytest", "-q", "test_my_dctcp.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout


def test_a_class_at_hand_is_a_scheme(tmp_path: Path) -> None:
    text = CLASSES.read_text()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cell = "/tmp/ipykernel_1/2.py"
    linecache.cache[cell] = (len(text), None, ["%matplotlib inline\n", *text.splitlines(keepends=True)], cell)
    exec(compile("\n" + text, cell, "exec"), namespace)
    own = packetloom.scheme(namespace["Dctcp"], g=0.125, queue=MARKING)
    source = scenario({"kind": "dctcp", "g": 0.125}, queue=MARKING, flows=100)
    source["scheme"].append(own.to_dict())
    ours, theirs = fingerprints(packetloom.run(source, output=tmp_path / "results"))
    assert ours == theirs
    assert (own.name, packetloom.scheme(namespace["NewReno"]).queue) == ("Dctcp", "drop-tail")


def test_what_is_no_class_of_a_scheme_is_refused() -> None:
    with pytest.raises(PacketloomError, match=r"packetloom\.schemes\.CongestionControl"):
        packetloom.scheme(int)  # type: ignore[arg-type]
    exec("class Lost(Base):\n    def lost(self, loss, window): pass", namespace := {"Base": CongestionControl})
    with pytest.raises(PacketloomError, match="source of Lost was not found"):
        packetloom.scheme(namespace["Lost"])


def test_explain_knows_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    print_explanation(f"{CLASSES}:Cubic")
    printed = capsys.readouterr().out
    for text in ("How steep the cubic function is", "0.4", "min_rto", "CUBIC (RFC 9438)"):
        assert text in printed
    with pytest.raises(ScenarioError, match=r"which class of .*classes\.py\? Write .*:CLASS"):
        print_explanation(str(CLASSES))
    with pytest.raises(ScenarioError, match="there is no class 'Nothing' here"):
        print_explanation(f"{CLASSES}:Nothing")
