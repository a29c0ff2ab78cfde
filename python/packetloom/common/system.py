"""What not every operating system has. Each use of it stands here, with what is lost where it is missing.

packetloom is tested on Linux alone. Elsewhere it should run, with these losses:

| Missing | On | Lost |
|---|---|---|
| `fcntl` | Windows | a second run that writes to the same folder is not refused |
| `resource` | Windows | a user's class is tried without limits of time and memory; peak memory is unknown |
| `os.sched_*` | macOS, Windows | all cores count as usable; `bench --against` runs two builds in turn, not at once |
| `/proc` | macOS, Windows | the processor is named by its architecture; peak memory may be the parent's |
| folders that can be synced | Windows | a power cut may undo the last renames |
| files replaced while others read them | Windows | a campaign ends if a page is made of it meanwhile; it resumes |
| network namespaces | macOS, Windows | `validate kernel` is skipped |
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

CPUINFO = Path("/proc/cpuinfo")
STATUS = Path("/proc/self/status")
_ON_CORES = (
    "import json, os, sys; os.sched_setaffinity(0, json.loads(sys.argv[1])); os.execvp(sys.argv[2], sys.argv[2:])"
)


def _module(name: str) -> ModuleType | None:
    """Python's module of a system that has it; loaded when it is needed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def lock(descriptor: int) -> bool:
    """Locks an open file for this process, until it ends; false if another has it. Without `fcntl` it locks nothing."""
    if (fcntl := _module("fcntl")) is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_file(file: Path) -> None:
    """Brings a file that was written onto the disk. Windows syncs only what is open for writing."""
    _sync(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)


def sync_folder(folder: Path) -> None:
    """Makes the renames in a folder last. Windows opens no folders: there it does nothing."""
    if os.name != "nt":
        _sync(folder, os.O_RDONLY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def usable_cores() -> list[int]:
    """The numbers of the cores that this process may use; of all cores, where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def can_choose_cores() -> bool:
    """Whether a process can be kept to some cores."""
    return hasattr(os, "sched_setaffinity")


def on_cores(command: Sequence[str], cores: Sequence[int]) -> list[str]:
    """A command that runs on these cores only, where `can_choose_cores`: a process binds itself, then becomes it."""
    return [sys.executable, "-c", _ON_CORES, json.dumps([*cores]), *command]


def processor_name(cpuinfo: Path = CPUINFO) -> str | None:
    """The processor's model, which Linux reports of most."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return None


def peak_memory_bytes() -> int:
    """The most memory this process ever had; 0 where that is unknown.

    Linux's `ru_maxrss` would count its parent's, from before exec, so `/proc` is asked first.
    """
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if (resource := _module("resource")) is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit


def limit_process(seconds: int, memory_bytes: int) -> None:
    """Ends this process after so many more CPU-seconds, telling where it is, and refuses it more memory than that."""
    if (resource := _module("resource")) is None:
        return
    faulthandler.register(signal.SIGXCPU, chain=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def ended_by_limit(returncode: int) -> bool:
    """Whether a process ended because it had used up its time."""
    return -returncode in {getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name)}


def is_root() -> bool:
    """Whether this process may make network namespaces, as far as the user decides that."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
