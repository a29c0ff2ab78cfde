"""The virtual machine for `packetloom validate kernel`: with tools that only look like QEMU, and, slowly, with QEMU."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from packetloom.errors import PacketloomError
from packetloom.validate.command import run_validation
from packetloom.validate.kernel import virtual_machine
from packetloom.validate.kernel.cases import CASES, Case, case_from
from packetloom.validate.kernel.measure import Trial, trial_from
from packetloom.validate.kernel.network import UnavailableError
from packetloom.validate.kernel.virtual_machine import VirtualMachine

TRIAL = Trial((0, 7), (1.5, 2.5), 9.0, 3)

# Measures one case, lacks something for the next, and breaks down at the third.
QEMU = f"""#!/bin/sh
echo ready
read case
echo '{json.dumps({"trials": [asdict(TRIAL)]})}'
read case
echo '{{"unavailable": "this kernel has no TCP dctcp"}}'
read case
for word in "$@"; do
    case "$word" in file:*) echo "Kernel panic" > "${{word#file:}}" ;; esac
done
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel's file with its modules."""
    (tmp_path / "modules" / "6.1.0").mkdir(parents=True)
    monkeypatch.setattr(virtual_machine, "MODULES_FOLDER", tmp_path / "modules")
    file = tmp_path / "vmlinuz-6.1.0"
    file.touch()
    return file


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, **tools: str) -> None:
    for name, text in tools.items():
        file = folder / name.replace("_system_", "-system-")
        file.write_text(text)
        file.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_cases_and_trials_pass_through_json_unchanged() -> None:
    for case in CASES:
        assert case_from(json.loads(json.dumps(asdict(case)))) == case
    assert trial_from(json.loads(json.dumps(asdict(TRIAL)))) == TRIAL


def test_the_machine_is_asked_case_by_case(kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, qemu_system_x86_64=QEMU, mkinitramfs="#!/bin/sh\n")
    with VirtualMachine(kernel) as machine:
        assert machine.trials_of(CASES[0]) == [TRIAL]
        with pytest.raises(UnavailableError, match="no TCP dctcp"):
            machine.trials_of(CASES[0])
        with pytest.raises(UnavailableError, match="ended: Kernel panic"):
            machine.trials_of(CASES[0])
        with pytest.raises(UnavailableError, match="ended: Kernel panic"):
            machine.trials_of(CASES[0])


def test_what_is_needed_for_it_is_said(kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reason(file: Path) -> str:
        with VirtualMachine(file) as machine, pytest.raises(UnavailableError) as caught:
            machine.trials_of(CASES[0])
        return str(caught.value)

    monkeypatch.setattr("shutil.which", lambda tool, path: None)
    assert "there is no `qemu-system-x86_64` (Debian: apt install qemu-system-x86)" in reason(kernel)
    monkeypatch.undo()
    install(tmp_path, monkeypatch, qemu_system_x86_64=QEMU, mkinitramfs="#!/bin/sh\necho no room >&2; exit 1\n")
    assert "is no kernel /boot/vmlinuz-VERSION with its modules" in reason(tmp_path / "vmlinuz-6.2.0")
    monkeypatch.setattr(virtual_machine, "MODULES_FOLDER", tmp_path / "modules")
    assert "mkinitramfs failed: no room" in reason(kernel)
    monkeypatch.setattr("sys.executable", "/my programs/python")
    install(tmp_path, monkeypatch, mkinitramfs="#!/bin/sh\n")
    assert "cannot hold white space: /my programs/python" in reason(kernel)


def test_only_the_kernel_runs_in_a_machine(kernel: Path) -> None:
    with pytest.raises(PacketloomError, match="--vm goes with `packetloom validate kernel`"):
        run_validation(["theory"], virtual_kernel=kernel)


@pytest.mark.slow
def test_a_kernel_boots_and_measures() -> None:
    kernels = sorted(Path("/boot").glob("vmlinuz-*"))
    if not kernels:
        pytest.skip("no kernel in /boot")
    case = Case("two", 2, 30_000, trials=2)
    try:
        with VirtualMachine(kernels[-1]) as machine:
            trials = machine.trials_of(case)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    assert len(trials) == 2
    # Bytes and the headers of 42 packets at 20 Mb/s: nothing else takes the machine's time.
    alone_ms = (60_000 + 42 * 66) * 8 / 20e3
    lasts_ms = [max(start / 1e6 + fct for start, fct in zip(one.starts_ns, one.fcts_ms, strict=True)) for one in trials]
    assert lasts_ms == pytest.approx([alone_ms] * 2, rel=0.01)
