"""A virtual machine with a kernel of one's choice, whose file system is this machine's, read-only.

Its processor is emulated and its clock counts instructions: what it measures does not depend on what else this machine
does, and where it waits no time passes here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from packetloom.validate.kernel.cases import Case
from packetloom.validate.kernel.guest import READY
from packetloom.validate.kernel.measure import Trial, trial_from
from packetloom.validate.kernel.network import UnavailableError

KERNEL_PREFIX = "vmlinuz-"
MODULES_FOLDER = Path("/lib/modules")
# mkinitramfs's settings: no modules but those that find the file system.
INITRAMFS = {
    "initramfs.conf": "MODULES=list\nBUSYBOX=auto\nCOMPRESS=gzip\n",
    "modules": "virtio_pci\n9pnet_virtio\n9p\n",
}
ROOT_TAG = "root"
# Of this machine's time, for a boot or a case.
DEADLINE_S = 900


class VirtualMachine:
    """Boots when the first case is asked for; off when left."""

    def __init__(self, kernel: Path) -> None:
        self.kernel = kernel
        self._held = ExitStack()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> VirtualMachine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def trials_of(self, case: Case) -> list[Trial]:
        """What its kernel measures of a case."""
        if self._process is None:
            self._process = self._boot()
        answer = self._ask(self._process, asdict(case))
        if "unavailable" in answer:
            raise UnavailableError(answer["unavailable"])
        return [trial_from(trial) for trial in answer["trials"]]

    def _boot(self) -> subprocess.Popen[str]:
        qemu, mkinitramfs = _tool("qemu-system-x86_64", "qemu-system-x86"), _tool("mkinitramfs", "initramfs-tools")
        version = kernel_version(self.kernel)
        folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(prefix="packetloom-vm-")))
        for name, text in INITRAMFS.items():
            (folder / name).write_text(text, encoding="utf-8")
        self._console = folder / "console.txt"
        initrd = folder / "initrd"
        made = subprocess.run(
            [mkinitramfs, "-d", str(folder), "-o", str(initrd), version],
            env={**os.environ, "PATH": _path()},
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise UnavailableError(f"mkinitramfs failed: {made.stderr.strip()}")
        pipe = subprocess.PIPE
        # Whatever ends us ends it: a machine that waits for us never rests.
        command = [_tool("setpriv", "util-linux"), "--pdeathsig", "KILL"]
        command += qemu_command(qemu, self.kernel, initrd, self._console)
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self._held.callback(process.wait)
        self._held.callback(process.kill)
        if (said := self._line(process)) != READY:
            raise UnavailableError(f"the virtual machine said {said!r} instead of {READY!r}")
        return process

    def _ask(self, process: subprocess.Popen[str], request: Mapping[str, Any]) -> dict[str, Any]:
        assert process.stdin
        # Of a machine that has ended, its last words tell.
        with suppress(BrokenPipeError):
            process.stdin.write(f"{json.dumps(request)}\n")
            process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line(process))
        return answer

    def _line(self, process: subprocess.Popen[str]) -> str:
        """The next line that it writes; whatever hangs is ended."""
        assert process.stdout
        deadline = threading.Timer(DEADLINE_S, process.kill)
        deadline.start()
        try:
            line = process.stdout.readline()
        finally:
            deadline.cancel()
        if not line:
            console = self._console.read_text(encoding="utf-8", errors="replace") if self._console.exists() else ""
            raise UnavailableError("the virtual machine ended: " + " / ".join(console.splitlines()[-5:]))
        return line.strip()


def kernel_version(kernel: Path) -> str:
    """Of a file /boot/vmlinuz-VERSION whose modules are there, too."""
    version = kernel.name.removeprefix(KERNEL_PREFIX)
    if not kernel.is_file() or version == kernel.name or not (MODULES_FOLDER / version).is_dir():
        here = ", ".join(str(path) for path in sorted(Path("/boot").glob(f"{KERNEL_PREFIX}*")))
        raise UnavailableError(
            f"{kernel} is no kernel /boot/{KERNEL_PREFIX}VERSION with its modules in {MODULES_FOLDER}/VERSION "
            f"(here: {here or 'none; Debian: apt install linux-image-amd64'})"
        )
    return version


def qemu_command(qemu: str, kernel: Path, initrd: Path, console: Path) -> Sequence[str]:
    """A machine that runs `guest` as its only program, with the standard streams on its second serial port."""
    if any(character.isspace() for character in sys.executable):
        raise UnavailableError(f"the kernel's command line cannot hold white space: {sys.executable}")
    guest = f"{sys.executable} -- -m packetloom.validate.kernel.guest"
    root = f"root={ROOT_TAG} rootfstype=9p rootflags=trans=virtio,version=9p2000.L,cache=loose,msize=262144 ro"
    # Where all processors rest, the clock leaps to the next timer; but they also rest while files are read from this
    # machine, and should not leap far then: `nohz=off` leaves a timer each 4 ms.
    append = f"console=ttyS0 panic=-1 nohz=off mitigations=off {root} init={guest}"
    options = {
        "accel": "tcg,thread=single",
        # An instruction takes a nanosecond.
        "icount": "shift=0,sleep=off",
        "cpu": "max",
        "m": "1024",
        "display": "none",
        "kernel": str(kernel),
        "initrd": str(initrd),
        "append": append,
        "virtfs": f"local,path=/,mount_tag={ROOT_TAG},security_model=none,readonly=on,multidevs=remap",
    }
    given = [word for name, value in options.items() for word in (f"-{name}", value)]
    return [qemu, "-nodefaults", "-no-reboot", *given, "-serial", f"file:{console}", "-serial", "stdio"]


def _path() -> str:
    """Where tools for administrators are, and the PATH of others does not lead."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _tool(name: str, package: str) -> str:
    if (found := shutil.which(name, path=_path())) is None:
        raise UnavailableError(f"there is no `{name}` (Debian: apt install {package})")
    return found
