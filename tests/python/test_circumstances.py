"""What figures were measured on stands beside them."""

import hashlib
import json
import os
import platform
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from packetloom import _core
from packetloom.bench.circumstances import Circumstances
from packetloom.common.build import Build, build_of, this_build
from packetloom.common.machine import this_machine

pytestmark = pytest.mark.unaudited

X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon Gold 6130 @ 2.10GHz\nflags\t\t: fpu\n"
ARM = "processor\t: 0\nBogoMIPS\t: 100.00\nCPU implementer\t: 0x41\n"


def test_a_figure_says_what_it_was_measured_on() -> None:
    written = json.loads(json.dumps(Circumstances().of({"name": "any", "cpu_s": 1.5})))
    where = written.pop("measured_on")
    assert written == {"name": "any", "cpu_s": 1.5}
    digest = hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
    guided = _core.profile_guided()
    assert where["build"] == {"version": _core.version(), "digest": digest[:16], "profile_guided": guided}
    assert where["python"] == platform.python_version()
    assert set(where["machine"]) == {"processor", "cores", "system"}  # a host's name would tell too much
    assert where["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert set(where) == {"build", "python", "machine", "started"}
    assert datetime.now().astimezone() - datetime.fromisoformat(where["started"]) < timedelta(seconds=10)


def test_a_comparison_names_both_builds() -> None:
    other, benchmarks = build_of(Path(sys.executable))
    assert other == this_build()
    assert benchmarks == _core.bench_names()
    circumstances = Circumstances(other_build=other)
    assert circumstances.of({})["measured_on"]["other_build"]["digest"] == other.digest
    assert f"against {other}" in str(circumstances)


def test_a_profile_guided_build_says_so() -> None:
    assert str(Build("1.2.3", "abc", True)) == "packetloom 1.2.3 (build abc, profile-guided)"
    assert str(Build("1.2.3", "abc", False)) == str(Build("1.2.3", "abc", None)) == "packetloom 1.2.3 (build abc)"


@pytest.mark.parametrize(("cpuinfo", "processor"), [(X86, "Xeon Gold 6130 @ 2.10GHz"), (ARM, platform.machine())])
def test_the_processor_is_what_the_system_calls_it(
    cpuinfo: str, processor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "processor", lambda: "")
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert this_machine(tmp_path / "cpuinfo").processor == processor
