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

from packetloom.common.system import is_root
from packetloom.errors import PacketloomError

COMMAND_TIMEOUT_S = 60
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

    The router's port to host 0 sends at `rate_bps` and lets `limit_bytes` wait; with `mark_above_us` it marks what
    waited longer. With `queue`, the words after `tc qdisc add`, it has that queue, and sends a packet when its class
    has its tokens back. `delay_ms` is what data takes before the queue and acknowledgements after it. `settings` are
    sysctls beyond those that all have; `has_bucket` tells whether it sends from a token bucket.
    """

    senders: int
    rate_bps: int
    limit_bytes: int
    burst_bytes: int
    packet_bytes: int
    congestion_control: str
    settings: Mapping[str, str] = field(default_factory=dict)
    mark_above_us: int | None = None
    queue: Sequence[str] = ()
    delay_ms: int = 0
    names: list[str] = field(default_factory=list)
    has_bucket: bool = field(default=False, init=False)

    def __enter__(self) -> Dumbbell:
        number = next(_numbers)
        prefix = f"packetloom-{os.getpid()}-{number}"
        self.router = f"{prefix}-router"
        self.hosts = [f"{prefix}-host{host}" for host in range(self.senders + 1)]
        # A process that gets a signal to end leaves, too.
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

    def run(self, namespace: str, command: Sequence[str]) -> None:
        """A command inside one of the namespaces."""
        _run(["ip", "netns", "exec", namespace, *command])

    def _build(self) -> None:
        settings = [f"{key}={value}" for key, value in (SYSCTLS | dict(self.settings)).items()]
        for name in (self.router, *self.hosts):
            _run(["ip", "netns", "add", name])
            self.names.append(name)
            self.run(name, ["sysctl", "-qw", *settings])
        ports = [BOTTLENECK, *(f"port{host}" for host in range(1, len(self.hosts)))]
        peers = zip(ports, self.hosts, strict=True)
        _batch([], [f"link add {port} netns {self.router} type veth peer eth0 netns {name}" for port, name in peers])
        gateways = [f"10.77.{host}.1" for host in range(len(self.hosts))]
        _batch(
            ["-n", self.router],
            [line for device, address in zip(ports, gateways, strict=True) for line in _up(device, address)],
        )
        for host, name in enumerate(self.hosts):
            # An ACK for every packet.
            route = f"route add default via {gateways[host]} quickack 1"
            _batch(["-n", name], [*_up("eth0", self.address(host)), route])
            if self.delay_ms:
                delay = ["delay", f"{self.delay_ms}ms", "limit", "100000"]
                self._add_qdisc(name, "eth0", ["root"], "netem", *delay)
        if self.queue:
            self._manage()
        elif self.mark_above_us is None:
            try:
                self._shape(["root"], "netem", "rate", f"{self.rate_bps}bit", "limit", self._limit_packets)
            except UnavailableError:
                self._fill_from_bucket()
        else:
            self._fill_from_bucket()
            # At a constant rate what waits longer is what found more: a threshold as DCTCP's. CoDel itself rests.
            rests = ["limit", self._limit_packets, "target", "10s", "interval", "20s"]
            self._shape(["parent", "1:1"], "codel", *rests, "ce_threshold", f"{self.mark_above_us}us")

    def _manage(self) -> None:
        """A class whose queue chooses when a packet is to go, and which sends none at once after a pause.

        A token bucket asks its queue for a packet while the one before is being sent.
        """
        self._shape(["root", "handle", "1:"], "htb", "default", "1")
        rate = ["rate", f"{self.rate_bps}bit", "burst", "1", "cburst", "1"]
        place = ["dev", BOTTLENECK, "parent", "1:", "classid", "1:1"]
        self.run(self.router, ["tc", "class", "add", *place, "htb", *rate, "quantum", str(self.packet_bytes)])
        self._shape(["parent", "1:1"], *self.queue)

    def _fill_from_bucket(self) -> None:
        """A token bucket: what a kernel has without netem, and what can have a queue of another kind."""
        rate = ["rate", f"{self.rate_bps}bit", "burst", str(self.burst_bytes), "limit", str(self.limit_bytes)]
        self._shape(["root", "handle", "1:"], "tbf", *rate)
        self.has_bucket = True

    @property
    def _limit_packets(self) -> str:
        return str(self.limit_bytes // self.packet_bytes)

    def _shape(self, place: Sequence[str], kind: str, *options: str) -> None:
        self._add_qdisc(self.router, BOTTLENECK, place, kind, *options)

    def _add_qdisc(self, namespace: str, device: str, place: Sequence[str], kind: str, *options: str) -> None:
        try:
            self.run(namespace, ["tc", "qdisc", "add", "dev", device, *place, kind, *options])
        except UnavailableError as error:
            if "qdisc kind is unknown" in str(error) or "Unknown qdisc" in str(error):
                raise UnavailableError(f"this kernel, or its `tc`, has no queue {kind}") from None
            raise

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
    if sys.platform != "linux":
        raise UnavailableError("Linux's TCP runs on Linux; elsewhere give a kernel with --vm")
    for tool in ("ip", "tc", "sysctl"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"there is no `{tool}` (Debian: apt install iproute2 procps)")
    if not is_root():
        raise UnavailableError("network namespaces need root: run it with sudo")
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="utf-8").split()
    if congestion_control not in known:
        raise UnavailableError(f"this kernel has no TCP {congestion_control} (it has {', '.join(known)})")


def _up(device: str, address: str) -> list[str]:
    """One packet at a time: no segmentation offload."""
    return [f"address add {address}/24 dev {device}", f"link set {device} up gso_max_segs 1"]


def _batch(options: Sequence[str], lines: Sequence[str]) -> None:
    """Several of `ip`'s commands at once."""
    _run(["ip", *options, "-batch", "-"], "\n".join(lines))


def _run(command: Sequence[str], given: str = "") -> None:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=COMMAND_TIMEOUT_S)
    if done.returncode:
        raise UnavailableError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}")
