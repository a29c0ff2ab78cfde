"""What runs inside a namespace: a script of its own, so that it starts fast, driven by lines on its standard input.

`receive COUNT BYTES CONTROL` takes so many connections and prints when each had all its bytes. `send ADDRESS BYTES
CONTROL` connects, then reads a moment of the monotonic clock, which all namespaces share, and sends from then on, under
that congestion control. `watch DEVICE` samples what waits at a device until its input ends.
"""

from __future__ import annotations

import json
import select
import selectors
import socket
import struct
import sys
import time

PORT = 5001
TIMEOUT_S = 60
READY = "ready"
SAMPLE_S = 0.001


def receive(count: int, size: int, control: bytes) -> None:
    """Takes `count` connections with `size` bytes each; prints the moments of the last bytes by sender's address."""
    listener = socket.create_server(("0.0.0.0", PORT), backlog=count)
    # Connections inherit it: a DCTCP receiver echoes marks differently.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
    listener.settimeout(TIMEOUT_S)
    print(READY, flush=True)
    selector = selectors.DefaultSelector()
    for _ in range(count):
        connection, (address, _port) = listener.accept()
        selector.register(connection, selectors.EVENT_READ, [address, size])
    ends: dict[str, int] = {}
    deadline = time.monotonic() + TIMEOUT_S
    buffer = bytearray(1 << 20)
    while len(ends) < count and time.monotonic() < deadline:
        for key, _events in selector.select(1.0):
            flow = key.data
            assert isinstance(key.fileobj, socket.socket)
            flow[1] -= key.fileobj.recv_into(buffer)
            if flow[1] <= 0:
                ends[flow[0]] = time.monotonic_ns()
                selector.unregister(key.fileobj)
    print(json.dumps(ends), flush=True)


def send(address: str, size: int, control: bytes) -> None:
    """Sends `size` bytes from the moment on that it is told; prints when it really began."""
    with socket.socket() as connection:
        connection.settimeout(TIMEOUT_S)
        # As a sysctl, an administrator would have to allow it to namespaces first.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        connection.connect((address, PORT))
        payload = bytes(size)
        print(READY, flush=True)
        start_ns = int(sys.stdin.readline())
        time.sleep(max(0.0, (start_ns - time.monotonic_ns()) / 1e9))
        started_ns = time.monotonic_ns()
        connection.sendall(payload)
        print(json.dumps(started_ns), flush=True)
        sys.stdin.readline()


def watch(device: str) -> None:
    """Prints pairs of a moment and the bytes that wait at the device, and at last how many packets it dropped."""
    index = socket.if_nametoindex(device)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        backlog, before = _queue(kernel, index)
        drops, samples = before, [(time.monotonic_ns(), backlog)]
        print(READY, flush=True)
        while not select.select([sys.stdin], [], [], SAMPLE_S)[0]:
            backlog, drops = _queue(kernel, index)
            samples.append((time.monotonic_ns(), backlog))
        print(json.dumps({"samples": samples, "drops": drops - before}), flush=True)


def _queue(kernel: socket.socket, index: int) -> tuple[int, int]:
    """What waits and what was dropped, of the root qdisc: RTM_GETQDISC of rtnetlink, answered with RTM_NEWQDISC."""
    request_type, request_and_echo, root = 38, 9, 0xFFFFFFFF
    message = struct.pack("=BxxxiIII", 0, index, 0, root, 0)
    kernel.send(struct.pack("=IHHII", 16 + len(message), request_type, request_and_echo, 1, 0) + message)
    answer = kernel.recv(65_536)
    position = 16 + 20
    while position < len(answer):
        length, kind = struct.unpack_from("=HH", answer, position)
        if kind == 3:  # TCA_STATS: bytes, packets, drops, overlimits, bps, pps, qlen, backlog
            _, _, drops, _, _, _, _, backlog = struct.unpack_from("=QIIIIIII", answer, position + 4)
            return backlog, drops
        position += (length + 3) & ~3
    raise OSError("the kernel tells nothing of the queue")


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode())
    elif sys.argv[1] == "send":
        send(sys.argv[2], int(sys.argv[3]), sys.argv[4].encode())
    else:
        watch(sys.argv[2])
