"""A scheduler in Python that places jobs: what is it worth to put a job's ranks under one switch?

    python examples/placing_jobs.py

Jobs of four or eight hosts come at random, wait until there are as many, and repeat ten steps: each rank computes, then
all reduce their gradients round a ring. A program drives the network (`packetloom.Network`): it has the queue of jobs,
the placement and the rings, packetloom the messages. It takes about 10 CPU-seconds. What to look at: on a network that
is oversubscribed four times, jobs placed under one switch where that is possible are done sooner than those which take
any free hosts, although both come at the same times.
"""

import numpy as np

import packetloom

FABRIC = """
[topology]
kind = "leaf-spine"
leaves = 4
hosts_per_leaf = 8
spines = 2
link = { rate = "25Gbps", delay = "1us" }

[[scheme]]
name = "DCTCP"
transport = "dctcp"
queue = { kind = "ecn", capacity = "1MB", mark_above = "100KB" }
"""
HOSTS_PER_LEAF, STEPS, GRADIENT_BYTES, COMPUTE_NS = 8, 10, 4_000_000, 500e3


def chosen(how: str, free: list[int], ranks: int, draws: np.random.Generator) -> list[int]:
    """The hosts of a job: any, or those of the fullest switch that has enough."""
    leaves = [[host for host in free if host // HOSTS_PER_LEAF == leaf] for leaf in range(4)]
    fitting = [hosts for hosts in leaves if len(hosts) >= ranks]
    if how == "together" and fitting:
        return min(fitting, key=len)[:ranks]
    return [int(host) for host in draws.permutation(free)[:ranks]]


def times_ms(how: str, jobs: int, seed: int) -> np.ndarray:
    """What each job took from its arrival to its end."""
    draws = np.random.default_rng(seed)
    arrivals_ns = np.cumsum(draws.exponential(30e6, jobs))
    sizes = draws.choice([4, 8], jobs)
    waiting: list[int] = []
    free = list(range(4 * HOSTS_PER_LEAF))
    hosts: dict[int, list[int]] = {}
    left = dict.fromkeys(range(jobs), STEPS)  # steps
    rounds, missing = dict.fromkeys(range(jobs), 0), dict.fromkeys(range(jobs), 0)
    ends_ns = np.zeros(jobs)

    def start(network: packetloom.Network) -> None:
        while waiting and len(free) >= sizes[waiting[0]]:
            job = waiting.pop(0)
            hosts[job] = chosen(how, sorted(free), int(sizes[job]), draws)
            for host in hosts[job]:
                free.remove(host)
            network.timer(network.now_ns + COMPUTE_NS, user=jobs + job)

    def send_round(network: packetloom.Network, job: int) -> None:
        ring = hosts[job]
        missing[job] = len(ring)
        network.send_many(ring, ring[1:] + ring[:1], GRADIENT_BYTES // len(ring), user=job)

    with packetloom.Network(FABRIC, seed=seed) as network:
        network.timers(arrivals_ns, user=np.arange(jobs))
        for event in network:
            job = event.user % jobs
            if event.kind is packetloom.EventKind.TIMER and event.user < jobs:
                waiting.append(job)
                start(network)
            elif event.kind is packetloom.EventKind.TIMER:  # a step is computed
                rounds[job] = 2 * (len(hosts[job]) - 1)
                send_round(network, job)
            elif event.kind is packetloom.EventKind.RECEIVED:
                missing[job] -= 1
                if missing[job] == 0:
                    rounds[job] -= 1
                    if rounds[job] > 0:
                        send_round(network, job)
                    else:
                        left[job] -= 1
                        if left[job] > 0:
                            network.timer(network.now_ns + COMPUTE_NS, user=jobs + job)
                        else:
                            ends_ns[job] = event.time_ns
                            free.extend(hosts[job])
                            start(network)
    return (ends_ns - arrivals_ns) / 1e6


if __name__ == "__main__":
    print("seed   any free hosts: mean, longest   together: mean, longest (ms)")
    for seed in (1, 2, 3):
        shown = [times_ms(how, jobs=15, seed=seed) for how in ("any", "together")]
        print(f"{seed:4}   " + "       ".join(f"{one.mean():12.1f} {one.max():9.1f}" for one in shown))
