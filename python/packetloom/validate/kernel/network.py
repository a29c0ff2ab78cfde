"""A dumbbell of network namespaces: hosts, a router, and one slow link with a short queue before the receiver."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from packetloom.errors import PacketloomError

COMMAND_TIMEOUT_S = 20
TERMINATED = 143
BOTTLENECK = "slow"

# As the simulated TCP has it: no ECN, no tail loss probe, no undone timeouts, nothing carried over from earlier
# connections, buffers that never limit.
SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv4.tcp_ecn": "0",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_early_retrans": "0",
    "net.ipv4.tcp_frto": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_rmem": "4096 4194304 8388608",
    "net.ipv4.tcp_wmem": "4096 4194304 8388608",
}

# HyStart leaves slow start when delays grow, before anything is lost. RFC 9438 §4.10 leaves that open; ours has none.
PARAMETERS = {"cubic": {"hystart": "0"}}

_numbers = itertools.count()


class UnavailableError(PacketloomError):
    """What the machine has not; the text says it."""


@dataclass
class Dumbbell:
    """Namespaces of our own, from entering until leaving: host 0 receives, hosts 1, 2, ... send.

    The router's port to host 0 sends at `rate_bps` from a token bucket (tbf) and lets `limit_bytes` wait; with
    `mark_above_us` it marks what waited longer. `settings` are sysctls beyond those that all have.
    """

    senders: int
    rate_bps: int
    limit_bytes: int
    burst_bytes: int
    congestion_control: str
    settings: Mapping[str, str] = field(default_factory=dict)
    mark_above_us: int | None = None
    names: list[str] = field(default_factory=list)

    def __enter__(self) -> Dumbbell:
        number = next(_numbers)
        prefix = f"packetloom-{os.getpid()}-{number}"
        self.router = f"{prefix}-router"
        self.hosts = [f"{prefix}-host{host}" for host in range(self.senders + 1)]
        # Who is told to end leaves, too.
        self._before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
        try:
            require(self.congestion_control)
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def address(self, host: int) -> str:
        """A host's address."""
        return f"10.77.{host}.2"

    def run(self, namespace: str, command: Sequence[str]) -> str:
        """A command inside one of the namespaces."""
        return _run(["ip", "netns", "exec", namespace, *command])

    def start(self, host: int | None, arguments: Sequence[str]) -> subprocess.Popen[str]:
        """An endpoint inside a host's namespace, or the router's."""
        script = Path(__file__).with_name("endpoint.py")
        namespace = self.router if host is None else self.hosts[host]
        command = ["ip", "netns", "exec", namespace, sys.executable, "-S", str(script), *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def _build(self) -> None:
        settings = SYSCTLS | dict(self.settings)
        for name in (self.router, *self.hosts):
            _run(["ip", "netns", "add", name])
            self.names.append(name)
            self.run(name, ["sysctl", "-qw", *(f"{key}={value}" for key, value in settings.items())])
        for host in range(len(self.hosts)):
            self._connect(host)
        rate = ["rate", f"{self.rate_bps}bit", "burst", str(self.burst_bytes), "limit", str(self.limit_bytes)]
        queue = ["tc", "qdisc", "add", "dev", BOTTLENECK]
        self.run(self.router, [*queue, "root", "handle", "1:", "tbf", *rate])
        if self.mark_above_us is not None:
            # At a constant rate what waits longer is what found more: a threshold as DCTCP's. CoDel itself rests.
            codel = ["codel", "limit", "1000", "target", "10s", "interval", "20s"]
            self.run(self.router, [*queue, "parent", "1:1", *codel, "ce_threshold", f"{self.mark_above_us}us"])

    def _connect(self, host: int) -> None:
        name, port = self.hosts[host], BOTTLENECK if host == 0 else f"port{host}"
        router = f"10.77.{host}.1"
        _run(["ip", "link", "add", port, "netns", self.router, "type", "veth", "peer", "name", "eth0", "netns", name])
        for namespace, device, address in ((self.router, port, router), (name, "eth0", self.address(host))):
            self.run(namespace, ["ip", "address", "add", f"{address}/24", "dev", device])
            # One packet at a time: no segmentation offload.
            self.run(namespace, ["ip", "link", "set", device, "up", "gso_max_segs", "1"])
        # An ACK for every packet.
        self.run(name, ["ip", "route", "add", "default", "via", router, "quickack", "1"])

    def _remove(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False, timeout=COMMAND_TIMEOUT_S)
        self.names.clear()
        signal.signal(signal.SIGTERM, self._before)


@contextmanager
def parameters(congestion_control: str, more: Mapping[str, str]) -> Iterator[None]:
    """Has the congestion control's module as the simulated one is. It is the whole machine's, so it is put back."""
    before: dict[Path, str] = {}
    try:
        for name, value in {**PARAMETERS.get(congestion_control, {}), **more}.items():
            path = Path(f"/sys/module/tcp_{congestion_control}/parameters/{name}")
            try:
                before[path] = path.read_text(encoding="utf-8")
                path.write_text(value, encoding="utf-8")
            except OSError as error:
                raise UnavailableError(f"{path} can not be set: {error.strerror}") from error
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def require(congestion_control: str) -> None:
    """Raises `UnavailableError` if the machine does not let us build a dumbbell with this congestion control."""
    for tool in ("ip", "tc", "sysctl"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"there is no `{tool}` (Debian: apt install iproute2 procps)")
    if os.geteuid() != 0:
        raise UnavailableError("network namespaces take root: run it with sudo")
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="utf-8").split()
    if congestion_control not in known:
        raise UnavailableError(f"this kernel has no TCP {congestion_control} (it has {', '.join(known)})")


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_S)
    if done.returncode:
        raise UnavailableError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}")
    return done.stdout
