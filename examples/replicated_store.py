"""A key-value store with three replicas: what does a write take if the primary sends it to both backups at once, and
what if each replica passes it on (chain replication, van Renesse and Schneider, OSDI 2004)?

    python examples/replicated_store.py

A program drives the network (`packetloom.Network`): it has the store, packetloom the messages. It takes about 7
CPU-seconds. What to look at: an idle network makes no difference, as a value crosses three links one after the other in
both. But a primary that sends every value twice fills its own link twice as fast.
"""

import numpy as np

import packetloom

FABRIC = """
[topology]
kind = "rack"
hosts = 16
link = { rate = "25Gbps", delay = "1us" }

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = { kind = "ecn", capacity = "1MB", mark_above = "100KB" }
"""
PRIMARY, BACKUPS, CLIENTS = 0, (1, 2), range(3, 16)
VALUE_BYTES, ACK_BYTES = 64_000, 64
WRITE, COPY, ACK, ANSWER = 1, 2, 3, 4  # what a message is: its tag


def times_us(how: str, load: float, writes: int, seed: int) -> np.ndarray:
    """What each write took, from the client's first byte to its answer; `load` is that of the primary's link inward."""
    draws = np.random.default_rng(seed)
    starts_ns = np.cumsum(draws.exponential(VALUE_BYTES * 8 / (25 * load), writes))
    clients = draws.choice(CLIENTS, writes)
    missing = np.full(writes, len(BACKUPS))
    ends_ns = np.zeros(writes)
    with packetloom.Network(FABRIC, seed=seed) as network:
        network.send_many(clients, PRIMARY, VALUE_BYTES, tag=WRITE, user=np.arange(writes), delay_ns=starts_ns)
        for event in network:
            write = event.user
            if event.kind is not packetloom.EventKind.RECEIVED:
                continue
            if event.tag == ANSWER:
                ends_ns[write] = event.time_ns
            elif how == "chain" and event.dst != BACKUPS[-1]:
                network.send(event.dst, event.dst + 1, VALUE_BYTES, tag=COPY, user=write)
            elif how == "chain":
                network.send(event.dst, int(clients[write]), ACK_BYTES, tag=ANSWER, user=write)
            elif event.tag == WRITE:
                network.send_many(PRIMARY, list(BACKUPS), VALUE_BYTES, tag=COPY, user=write)
            elif event.tag == COPY:
                network.send(event.dst, PRIMARY, ACK_BYTES, tag=ACK, user=write)
            else:
                missing[write] -= 1
                if missing[write] == 0:
                    network.send(PRIMARY, int(clients[write]), ACK_BYTES, tag=ANSWER, user=write)
    return (ends_ns - starts_ns) / 1e3


if __name__ == "__main__":
    print("load   both at once: mean, p99   chain: mean, p99 (us)")
    for load in (0.05, 0.3, 0.45):
        both, chain = (times_us(how, load, writes=3_000, seed=1) for how in ("both", "chain"))
        shown = [f"{one.mean():9.0f} {np.percentile(one, 99):9.0f}" for one in (both, chain)]
        print(f"{load:4.2f}   {shown[0]}       {shown[1]}")
