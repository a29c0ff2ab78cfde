"""What sends, receives and observes: a script of its own, for it goes from namespace to namespace.

A socket stays in the namespace where it was made, so that one process holds those of all hosts. The argument is a
`Plan` in JSON; each trial is printed as a line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PORT = 5001
TIMEOUT_S = 60
SAMPLE_S = 0.001
# Before the flows start, and after they ended: what goes with opening and closing connections is over then.
REST_S = 0.05
NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000
BUFFER_BYTES = 1 << 20
# More than a first window, less than would keep the next flow from its start.
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Plan:
    """Each sender sends so many bytes to the receiver; all by their namespaces. The device is one of the router's."""

    receiver: str
    address: str
    senders: list[str]
    router: str
    device: str
    flow_bytes: int
    congestion_control: str
    # Of each trial, how long after the first each sender begins.
    offsets_ns: list[list[int]]


@dataclass(frozen=True)
class Observed:
    """The moments when flows began and ended, sender by sender, what waited at the device, and what it dropped."""

    began_ns: list[int]
    ended_ns: list[int]
    samples: list[tuple[int, int]]
    drops: int


def observe(plan: Plan, offsets_ns: list[int]) -> Observed:
    """One trial."""
    senders, receivers = _connect(plan)
    watcher = Watcher(plan.router, plan.device)
    try:
        time.sleep(REST_S)
        watcher.start()
        began, ended = _transfer(plan.flow_bytes, senders, receivers, offsets_ns)
    finally:
        watcher.end()
        for connection in (*senders, *receivers):
            connection.close()
    time.sleep(REST_S)
    return Observed(began, ended, watcher.samples, watcher.drops)


def _connect(plan: Plan) -> tuple[list[socket.socket], list[socket.socket]]:
    """Both ends of each sender's connection to the receiver."""
    control = plan.congestion_control.encode()
    senders, receivers = [], []
    _enter(plan.receiver)
    with socket.create_server(("0.0.0.0", PORT)) as listener:
        # Connections inherit it: a DCTCP receiver echoes marks differently. As a sysctl, an administrator would have
        # to allow it to namespaces first.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        listener.settimeout(TIMEOUT_S)
        for namespace in plan.senders:
            _enter(namespace)
            sender = socket.socket()
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
            sender.settimeout(TIMEOUT_S)
            sender.connect((plan.address, PORT))
            senders.append(sender)
            receivers.append(listener.accept()[0])
    for connection in (*senders, *receivers):
        connection.setblocking(False)
    return senders, receivers


def _transfer(
    size: int, senders: Iterable[socket.socket], receivers: Iterable[socket.socket], offsets_ns: list[int]
) -> tuple[list[int], list[int]]:
    """Sends `size` bytes through each connection; the moments before the first and after the last of them."""
    payload = memoryview(bytes(size))
    buffer = bytearray(BUFFER_BYTES)
    began: list[int] = []
    ended: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        for number, receiver in enumerate(receivers):
            selector.register(receiver, selectors.EVENT_READ, [number, size])
        for sender, offset_ns in zip(senders, offsets_ns, strict=True):
            if began and offset_ns:
                time.sleep(max(0, began[0] + offset_ns - time.monotonic_ns()) / 1e9)
            began.append(time.monotonic_ns())
            sent = sender.send(payload[:CHUNK_BYTES])
            if sent < size:
                selector.register(sender, selectors.EVENT_WRITE, [sent])
        deadline = time.monotonic() + TIMEOUT_S
        while len(ended) < len(began):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all flows ended within {TIMEOUT_S} s")
            for key, events in selector.select(1.0):
                assert isinstance(key.fileobj, socket.socket)
                flow = key.data
                if events & selectors.EVENT_WRITE:
                    flow[0] += key.fileobj.send(payload[flow[0] : flow[0] + CHUNK_BYTES])
                    finished = flow[0] == size
                else:
                    flow[1] -= key.fileobj.recv_into(buffer)
                    finished = flow[1] == 0
                    if finished:
                        ended[flow[0]] = time.monotonic_ns()
                if finished:
                    selector.unregister(key.fileobj)
    return began, [ended[number] for number in sorted(ended)]


class Watcher(threading.Thread):
    """Samples what waits at a device, on a clock of its own: not whenever a packet has just come."""

    def __init__(self, namespace: str, device: str) -> None:
        super().__init__()
        _enter(namespace)
        self._index = socket.if_nametoindex(device)
        self._kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        backlog, self._before = self._queue()
        self.samples = [(time.monotonic_ns(), backlog)]
        self.drops = 0
        self._on = True

    def run(self) -> None:
        """Until it is ended."""
        while self._on:
            time.sleep(SAMPLE_S)
            backlog, drops = self._queue()
            self.samples.append((time.monotonic_ns(), backlog))
            self.drops = drops - self._before

    def end(self) -> None:
        """Lets it take the last sample."""
        self._on = False
        if self.is_alive():
            self.join()
        self._kernel.close()

    def _queue(self) -> tuple[int, int]:
        """What waits and what was dropped, of the root qdisc: RTM_GETQDISC of rtnetlink, answered with RTM_NEWQDISC."""
        request_type, request_and_echo, root = 38, 9, 0xFFFFFFFF
        message = struct.pack("=BxxxiIII", 0, self._index, 0, root, 0)
        self._kernel.send(struct.pack("=IHHII", 16 + len(message), request_type, request_and_echo, 1, 0) + message)
        answer = self._kernel.recv(65_536)
        position = 16 + 20
        while position < len(answer):
            length, kind = struct.unpack_from("=HH", answer, position)
            if kind == 3:  # TCA_STATS: bytes, packets, drops, overlimits, bps, pps, qlen, backlog
                _, _, drops, _, _, _, _, backlog = struct.unpack_from("=QIIIIIII", answer, position + 4)
                return backlog, drops
            position += (length + 3) & ~3
        raise OSError("the kernel reports nothing about the queue")


def _enter(namespace: str) -> None:
    """Sockets are made there from now on. (`os.setns` came with Python 3.12.)"""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    with (NAMESPACES / namespace).open() as entered:
        if libc.setns(entered.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"can not enter {namespace}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    given = Plan(**json.loads(sys.argv[1]))
    for offsets in given.offsets_ns:
        print(json.dumps(asdict(observe(given, offsets))), flush=True)
