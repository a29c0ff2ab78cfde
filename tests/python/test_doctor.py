"""The doctor: equal schemes get equal answers, numbers worked out by hand, and what it says of schemes that fail."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import escape

from commands import packetloom
from packetloom.doctor import Examination, examine, readings
from packetloom.doctor.page import doctor_page, table
from packetloom.doctor.questions import SITUATIONS

pytestmark = pytest.mark.unaudited

pytest.importorskip("numba")

GUIDE = Path(__file__).parents[2] / "docs" / "your-own-scheme.md"
HEAD = "import math\nfrom packetloom.schemes import Ack, CongestionControl, Flow, Window, number\n"
MAD = "    def acknowledged(self, ack: Ack, window: Window) -> None:\n        window.cwnd = math.nan\n"
SHUT = "    def acknowledged(self, ack: Ack, window: Window) -> None:\n        window.cwnd = 1.0\n"


def doctor(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return packetloom("doctor", *arguments, cwd=folder)


def written(folder: Path, **bodies: str) -> Path:
    file = folder / "mine.py"
    file.write_text(HEAD + "".join(f"class {name}(CongestionControl):\n{body}\n" for name, body in bodies.items()))
    return file


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Examination:
    """The DCTCP of the guide."""
    text = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL))["my_dctcp.py"]
    file = tmp_path_factory.mktemp("guide") / "my_dctcp.py"
    file.write_text(text)
    return examine(str(file))


def columns(examination: Examination) -> tuple[list[str], ...]:
    """Each contestant's answers."""
    _, lines = table(examination)
    return tuple(zip(*(line[3:] for line in lines), strict=True))  # type: ignore[arg-type]


def fingerprints(examination: Examination, place: int) -> list[str]:
    contestant = examination.contestants[place]
    courses = [examination.course(situation, contestant) for situation in SITUATIONS]
    return [outcome.fingerprint for course in courses for outcome in course.outcomes.values()]


def test_the_guides_dctcp_is_dctcp(guided: Examination) -> None:
    own, built_in, tcp = columns(guided)
    assert own == built_in != tcp
    assert fingerprints(guided, 0) == fingerprints(guided, 1) != fingerprints(guided, 2)
    assert guided.survived
    assert len(fingerprints(guided, 0)) == 7


def test_a_class_without_methods_is_tcp(tmp_path: Path) -> None:
    file = written(tmp_path, TCP="    pass")
    examination = examine(str(file))
    assert examination.own.name == "TCP (yours)"
    assert (examination.own.queue, fingerprints(examination, 0)) == ("drop-tail", fingerprints(examination, 2))


def test_a_parameter_is_set(tmp_path: Path, guided: Examination) -> None:
    assert isinstance(guided.own.transport, dict)
    file = guided.own.transport["file"]
    examination = examine(file, {"g": 1.0})
    assert fingerprints(examination, 0) != fingerprints(guided, 0)
    assert fingerprints(examination, 1) == fingerprints(guided, 1)


def test_numbers_by_hand(guided: Examination) -> None:
    # 30 000 bytes are 21 packets of 40 more: 30 840 bytes, at 10 Gb/s.
    assert readings.wire_ms(30_000) == pytest.approx(0.024672)
    lone, two, incast, loss, _, dead = SITUATIONS
    dctcp, tcp = guided.contestants[1:]
    # DCTCP's queue stays at its mark, 22.5 KB; TCP's swings below the buffer of 150 KB, which it fills.
    queue = guided.course(lone, dctcp).answer(lone.questions[1]).value
    assert queue == pytest.approx(22_500, rel=0.05)
    mean, p99 = (guided.course(lone, tcp).answer(question).value for question in lone.questions[1:])
    assert mean is not None
    assert 75_000 < mean < 150_000
    assert p99 == 150_000
    # A goodput is 1460 bytes of 1500 at most.
    goodput = guided.course(loss, dctcp).answer(loss.questions[0]).value
    assert goodput is not None
    assert 0.9 < goodput < 1460 / 1500
    # The last of the timeouts that double from 200 us on goes off 6.2 ms after the first packet was lost: 2.2 ms after
    # the link came back.
    lost_ms = guided.course(dead, dctcp).answer(dead.questions[0]).value
    assert lost_ms == pytest.approx(2.2, abs=0.3)
    fairness = guided.course(two, dctcp).answer(two.questions[0]).value
    assert fairness is not None
    assert 0.98 < fairness < 1
    beside_ideal = guided.course(incast, dctcp).answer(incast.questions[0]).value
    assert beside_ideal is not None
    assert beside_ideal > 1


def test_the_thresholds() -> None:
    asked = {
        question.asks: question.threshold for one in SITUATIONS for question in one.questions if question.threshold
    }
    assert asked == {
        "fills the link": "90 % or more",
        "keeps the queue short": "30 KB or less",
        "is fair": "0.95 or more",
        "bears incast": "2 times or less",
        "bears random loss": "80 % or more",
        "bears reordering": "90 % or more",
        "bears a dead link": "4 ms or less",
    }


def series(first_gbps: Sequence[float], second_gbps: Sequence[float]) -> Any:
    """What two receivers got, sample by sample."""
    count = len(first_gbps)
    ports = {"port": [0, 1], "node": ["leaf1"] * 2, "peer": ["host2", "host3"]}
    sent = [gbps * 1e5 / 8 for gbps in (*first_gbps, *second_gbps)]
    samples: dict[str, Sequence[float]] = {
        "port": [0] * count + [1] * count,
        "time_ns": [at * 1e5 for at in range(count)] * 2,
        "tx_bytes": sent,
    }
    return SimpleNamespace(tables={"ports": ports, "series": {key: _array(value) for key, value in samples.items()}})


def _array(values: Sequence[float]) -> Any:
    import numpy as np

    return np.array(values)


def test_fairness_by_hand() -> None:
    before, after = [10.0] * 200, 200
    alone = {"": series(before + [10.0] * after, [0.0] * 400)}
    assert (readings.jain(alone), readings.ms_until_fair(alone)) == (0.5, float("inf"))
    # 8 and 2 Gb/s for 10 ms, then 5 each: (Σx)² / (2 Σx²) of 65 and 35, but for the last sample.
    late = {"": series(before + [8.0] * 100 + [5.0] * 101, [0.0] * 200 + [2.0] * 100 + [5.0] * 101)}
    assert readings.jain(late) == pytest.approx(100**2 / (2 * (65**2 + 35**2)))
    # A mean over 5 ms is 4.5 Gb/s where 2 Gb/s are a sixth of it: 0.8 ms before.
    assert readings.ms_until_fair(late) == pytest.approx(9.2)


def test_the_page(guided: Examination) -> None:
    text = doctor_page(guided).render()
    assert "<p>my_dctcp.py:MyDctcp, beside DCTCP and TCP, by packetloom" in text
    data = json.loads(text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])
    assert [chart["title"] for chart in data["charts"]] == [situation.name for situation in SITUATIONS]
    for situation in SITUATIONS:
        for question in situation.questions:
            for words in (question.asks, question.number, question.threshold):
                assert str(escape(words)) in text
    assert not re.search(r"""<(?:script|link|img)[^>]*(?:src|href)=["']?(?:https?:)?//""", text)


def test_a_class_that_is_not_a_number(tmp_path: Path) -> None:
    written(tmp_path, Mad=MAD)
    done = doctor(tmp_path, "mine.py", "-o", "page.html")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    printed = " ".join(done.stdout.split())
    assert "A lone flow: Mad does not survive: Mad.acknowledged set the window to what is not a number" in printed
    assert "(flow 0, host0 to host2, at 23.08us)" in printed
    assert "0 of 6 6 of 6 6 of 6" in printed
    assert "does not survive: Mad.acknowledged" in (tmp_path / "page.html").read_text()


def test_a_class_that_never_opens_its_window(tmp_path: Path) -> None:
    written(tmp_path, Shut=SHUT, Other="    pass")
    done = doctor(tmp_path, "mine.py:Shut")
    assert (done.returncode, done.stderr) == (1, "")
    printed = " ".join(done.stdout.split())
    assert re.search(r"fills the link 90 % or more no [1-9] % 100 % 100 %", printed)
    assert "Random loss: Shut does not survive: 1 of 1 flows had not ended after 400ms" in printed
    assert (tmp_path / "mine-doctor.html").is_file()


def test_a_start_that_is_nonsense_is_an_answer_too(tmp_path: Path) -> None:
    body = "    def start(self, flow: Flow, window: Window) -> None:\n        window.cwnd = -1.0\n"
    examination = examine(str(written(tmp_path, Early=body)))
    assert "Early.start set the window to zero packets or fewer" in examination.failures(examination.own)["Incast"]


def test_what_can_not_be_compiled_is_refused_before_anything_runs(tmp_path: Path) -> None:
    ack = "    def acknowledged(self, ack: Ack, window: Window) -> None:\n"
    for body, message in [
        (f"{ack}        raise ValueError('no')", "mine.py line 5: raise can't be compiled in acknowledged"),
        (f"{ack}        yield 1", "mine.py line 5: yield can't be compiled in acknowledged"),
        ("    g: int = 10**30", "mine.py line 4: g gets a whole number of 100 bits"),
        (f"    g: int = {'-' * 50_000}1", "mine.py line 4: this is nested more than 150 deep"),
    ]:
        written(tmp_path, A=body)
        done = doctor(tmp_path, "mine.py")
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)
        assert message in " ".join(done.stderr.replace("│", " ").split())


def test_bad_input(tmp_path: Path) -> None:
    file = written(tmp_path, A='    g = number(0.5, least=0.0, most=1.0, doc="A number.")', B="    pass")
    for arguments, message in [
        (("nothing.py",), "nothing.py: there is no such file"),
        (("mine.py",), "mine.py has 2 congestion controls; write which: mine.py:A or mine.py:B"),
        (("mine.py:C",), "mine.py: there is no class 'C'; the classes are: A, B"),
        (("mine.py:A", "--set", "g=2"), "A: g: 2 is out of range; write a number from 0 to 1"),
        (("mine.py:A", "--set", "gain=0.5"), 'A: gain: unknown key "gain"'),
        (("mine.py:A", "--set", "g"), "--set g: write it as name=value"),
        (("mine.py:A", "--set", "g=[0.1, 0.2]"), "g: a bench takes one value of a parameter"),
        (("mine.py:A", "-o", "nowhere/page.html"), "there is no folder nowhere"),
    ]:
        done = doctor(tmp_path, *arguments)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), arguments
        assert message in " ".join(done.stderr.replace("│", " ").split()), arguments
    assert list(tmp_path.iterdir()) == [file]
