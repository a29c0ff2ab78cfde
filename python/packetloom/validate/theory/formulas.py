"""The formulas that simulations are held against, each with where it comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


def fifo_waiting(load: float, mean: float, second_moment: float) -> float:
    """The mean waiting time of M/G/1, first come first served: λE[S²] / 2(1 − ρ) (Pollaczek and Khinchine).

    `mean` and `second_moment` are those of the service time.
    """
    return load / mean * second_moment / (2 * (1 - load))


def processor_sharing_slowdown(load: float) -> float:
    """M/G/1-PS: 1 / (1 − ρ) times as long as alone, whatever the size (Kleinrock, Queueing Systems II, §4.4)."""
    return 1 / (1 - load)


def srpt_response(load: float) -> float:
    """The mean response time of M/M/1 under SRPT, in mean service times.

    Schrage and Miller, Operations Research 14 (1966): a job of size x waits λ(∫₀ˣt²dF + x²(1−F(x))) / 2(1−ρ(x))² for
    its first service, with ρ(x) = λ∫₀ˣt dF, and takes ∫₀ˣdt/(1−ρ(t)) from then on.
    """

    def free(x: float) -> float:
        return 1 - load * (1 - math.exp(-x) * (1 + x))

    def waiting(x: float) -> float:
        above = math.exp(-x)
        second_moment = 2 - above * (x * x + 2 * x + 2)
        return load * (second_moment + x * x * above) / (2 * free(x) ** 2)

    # The time from the first service on, over all sizes: ∫₀^∞ (1−F(t)) / (1−ρ(t)) dt.
    upper = 60.0
    total = quad(lambda x: math.exp(-x) * (waiting(x) + 1 / free(x)), 0, upper, limit=200)[0]
    return float(total)


def finite_buffer_loss(load: float, room: int) -> float:
    """The share of arrivals that M/D/1/K turns away, with room for K, the one in service included.

    By the chain of what departures leave behind: Gross and Harris, Fundamentals of Queueing Theory, §5.1.8. With room
    for one it is Erlang's B formula.
    """
    arrivals = [math.exp(-load) * load**count / math.factorial(count) for count in range(room)]
    steps = np.zeros((room, room))
    for left in range(room):
        stays = max(left - 1, 0)
        for then in range(stays, room - 1):
            steps[left, then] = arrivals[then - stays]
        steps[left, room - 1] = 1 - steps[left].sum()
    balance = steps.T - np.eye(room)
    balance[-1] = 1
    idle = np.linalg.solve(balance, np.eye(room)[-1])[0]
    return 1 - 1 / float(idle + load)


def square_root_constant(terms: int = 25) -> float:
    """C in TCP's rate C / (RTT √p), an ACK per packet, packets lost independently: 1.3098.

    Ott, Kemperman and Mathis, "The stationary behavior of ideal TCP congestion avoidance" (1996); Mathis et al. (CCR
    1997) quote it as 1.31. Between losses p·W²/2 grows by the packets sent times p, and a loss divides it by 4. What a
    packet then finds is X = Σ 4⁻ᵏ Eₖ, with exponential Eₖ; a packet takes RTT / W, so C = √2 / E[X^(−1/2)].
    """
    rates = [4.0**term for term in range(terms)]
    mean = 0.0
    for one in rates:
        weight = math.prod(other / (other - one) for other in rates if other != one)
        mean += weight * math.sqrt(one) * math.gamma(0.5)
    return math.sqrt(2) / mean


def cubic_constant(beta: float = 0.7, flows: int = 5_000, losses: int = 100) -> float:
    """a in CUBIC's mean window a C^(1/4) (RTT / p)^(3/4), packets lost independently: 1.636 for beta = 0.7.

    In units of (RTT / pC)^(1/4) and that window, between two losses W(t) = (t − K)³ + W_max with K³ = (1 − beta) W_max
    (RFC 9438 §4.2), until as many packets are sent as an exponential of mean 1 says. So a = 1 / E[T], over the
    distribution of W_max that this leads to, which is drawn here (Poojary and Sharma, arXiv 1510.08496: for C = 0.4
    they have 1.3004, which is as much).
    """
    random = np.random.default_rng(0)
    plateau = np.ones(flows)
    total = 0.0
    for loss in range(2 * losses):
        packets = random.exponential(size=flows)
        k = np.cbrt((1 - beta) * plateau)
        # What was sent by then is convex and too much, so Newton's method comes down to it.
        time = k + (4 * packets + np.square(k) ** 2) ** 0.25
        for _ in range(10):
            sent = plateau * time + (np.square(time - k) ** 2 - np.square(k) ** 2) / 4
            time -= (sent - packets) / (plateau + np.square(time - k) * (time - k))
        plateau = plateau + np.square(time - k) * (time - k)
        # The first half leads there.
        total += time.mean() if loss >= losses else 0
    return losses / total


def dctcp_cycle(window: float, *, grows_while_marked: bool) -> tuple[float, float, float]:
    """DCTCP's saw: alpha, by how much a flow's window swings, and packets per flow and cycle.

    Alizadeh et al. (SIGCOMM 2010) §3.3: the window grows by a packet a round trip until packets are marked, at W* =
    (C·RTT + K) / N; one round trip's packets are marked until the sender hears of it, then it shrinks by alpha / 2:
    alpha = S(W*, W* + 1) / S((W* + 1)(1 − alpha/2), W* + 1) with S(a, b) = (b² − a²) / 2. Their sender
    `grows_while_marked`. RFC 3168 §6.1.2 forbids to grow on a marked ACK: then the round trip whose ACKs are the marked
    ones brings no growth.
    """

    def sent(first: float, last: float) -> float:
        return (last * last - first * first) / 2

    def per_cycle(alpha: float) -> float:
        lowest = (window + 1) * (1 - alpha / 2)
        return sent(lowest, window + 1) + (0 if grows_while_marked else lowest)

    alpha = float(brentq(lambda alpha: alpha * per_cycle(alpha) - sent(window, window + 1), 1e-9, 1))
    return alpha, (window + 1) * alpha / 2, per_cycle(alpha)


def distinct_paths(paths: int, flows: int) -> float:
    """How many paths are used when each flow draws one: n(1 − (1 − 1/n)^m), the birthday problem."""
    return paths * (1 - (1 - 1 / paths) ** flows)


def without_collision(paths: int, flows: int) -> float:
    """How likely it is that no two flows draw the same path: Π (1 − i/n)."""
    return math.prod(1 - taken / paths for taken in range(flows))


def greedy_share(degree: float) -> float:
    """The share of servers that a greedy matching serves, when every server has so many random requests in the mean.

    Each request comes at a random moment and is taken if both its ends are free: du/dt = −u² for the share u that is
    free, so 1 − u = c / (1 + c).
    """
    return degree / (1 + degree)


def pfc_share(alpha: float) -> float:
    """The share of the shared buffer that one link alone holds when it is paused.

    A link may have alpha times what is free (Choudhury and Hahne, ToN 1998): x = alpha (B − x), so x = B alpha / (1 +
    alpha): a ninth for 1/8, a third for 1/2.
    """
    return alpha / (1 + alpha)


def lone_fct_ps(size: int, payload: int, header: int, links_gbps: Sequence[int], delay_ps: int) -> int:
    """How long a flow takes that nothing delays, over links of which none is slower than the first.

    Its packets follow each other on the first link; then the last one crosses the others, stored and forwarded.
    """
    packets = -(-size // payload)
    last = size - (packets - 1) * payload + header

    def takes(wire_bytes: int, gbps: int) -> int:
        return wire_bytes * 8_000 // gbps

    first, *others = links_gbps
    own = (packets - 1) * takes(payload + header, first) + takes(last, first)
    return own + sum(takes(last, gbps) for gbps in others) + delay_ps * len(links_gbps)


def hpcc_utilisation(eta: float, added_bytes: float, bandwidth_delay_bytes: float) -> float:
    """What HPCC's flows keep of a link: U = eta + N W_AI / (B T).

    Each round trip takes W to W / (U / eta) + W_AI (Li et al., SIGCOMM 2019, algorithm 1), and windows are U B T
    together, so that eta / U = 1 − N W_AI / (U B T).
    """
    return eta + added_bytes / bandwidth_delay_bytes
