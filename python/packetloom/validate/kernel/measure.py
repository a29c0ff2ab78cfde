"""A trial on the kernel: flows that start together through the slow link, their FCTs, and what waited."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from packetloom.validate.kernel.endpoint import READY, TIMEOUT_S
from packetloom.validate.kernel.network import BOTTLENECK, Dumbbell, UnavailableError

# A sender that is woken later than this after the common start spoils the trial.
LATE_NS = 3_000_000
ATTEMPTS = 8
DEADLINE_S = TIMEOUT_S + 30


@dataclass(frozen=True, slots=True)
class Trial:
    """What one trial gave, sender by sender; the queue is the mean over the time until the last flow ended."""

    starts_ns: tuple[int, ...]
    fcts_ms: tuple[float, ...]
    queue_bytes: float
    drops: int


def measure(dumbbell: Dumbbell, flow_bytes: int) -> Trial:
    """A trial in which all senders began on time; a busy machine may take several attempts."""
    for _ in range(ATTEMPTS):
        trial = _attempt(dumbbell, flow_bytes)
        if trial:
            return trial
    raise UnavailableError(f"the machine is too busy: in {ATTEMPTS} attempts not all senders began on time")


def _attempt(dumbbell: Dumbbell, flow_bytes: int) -> Trial | None:
    hosts = range(1, dumbbell.senders + 1)
    with _endpoints(dumbbell) as start:
        watcher = start(None, ["watch", BOTTLENECK])
        what = [str(flow_bytes), dumbbell.congestion_control]
        receiver = start(0, ["receive", str(dumbbell.senders), *what])
        senders = [start(host, ["send", dumbbell.address(0), *what]) for host in hosts]
        start_ns = time.monotonic_ns() + 50_000_000
        for sender in senders:
            _tell(sender, str(start_ns))
        ends = json.loads(_line(receiver))
        began = [json.loads(_line(sender)) for sender in senders]
        _tell(watcher, "")
        watched = json.loads(_line(watcher))
    if len(ends) < dumbbell.senders:
        raise UnavailableError(f"not all flows ended within {TIMEOUT_S} s")
    if max(began) > start_ns + LATE_NS:
        return None
    fcts = tuple((ends[dumbbell.address(host)] - begin) / 1e6 for host, begin in zip(hosts, began, strict=True))
    first_ns = min(began)
    queue = mean_between(watched["samples"], first_ns, max(ends.values()))
    return Trial(tuple(begin - first_ns for begin in began), fcts, queue, watched["drops"])


def mean_between(samples: Sequence[tuple[int, float]], begin: int, end: int) -> float:
    """The mean over time: a sample holds until the next."""
    area = 0.0
    for (time_ns, value), (next_ns, _) in zip(samples, [*samples[1:], (end, 0)], strict=True):
        area += value * max(0, min(next_ns, end) - max(time_ns, begin))
    return area / (end - begin)


@contextmanager
def _endpoints(dumbbell: Dumbbell) -> Iterator[_Starter]:
    starter = _Starter(dumbbell)
    # Whatever hangs ends then, and whoever reads from it gets nothing.
    deadline = threading.Timer(DEADLINE_S, starter.end)
    deadline.start()
    try:
        yield starter
    finally:
        deadline.cancel()
        starter.end()


class _Starter:
    """Starts endpoints, waits until each is ready, and ends them all."""

    def __init__(self, dumbbell: Dumbbell) -> None:
        self.dumbbell = dumbbell
        self.running: list[subprocess.Popen[str]] = []

    def __call__(self, host: int | None, arguments: Sequence[str]) -> subprocess.Popen[str]:
        endpoint = self.dumbbell.start(host, arguments)
        self.running.append(endpoint)
        if (said := _line(endpoint).strip()) != READY:
            raise UnavailableError(f"an endpoint said {said!r} instead of {READY!r}")
        return endpoint

    def end(self) -> None:
        """Ends what still runs."""
        for endpoint in self.running:
            endpoint.kill()
        for endpoint in self.running:
            endpoint.wait()


def _tell(endpoint: subprocess.Popen[str], line: str) -> None:
    assert endpoint.stdin
    endpoint.stdin.write(f"{line}\n")
    endpoint.stdin.flush()


def _line(endpoint: subprocess.Popen[str]) -> str:
    """The next line that an endpoint writes."""
    assert endpoint.stdout
    assert endpoint.stderr
    line = endpoint.stdout.readline()
    if not line:
        endpoint.wait()
        raise UnavailableError(f"an endpoint ended: {endpoint.stderr.read().strip() or 'it took too long'}")
    return line
