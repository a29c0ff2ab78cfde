"""DCQCN's fixed point: how many packets must be marked for a flow to have its rate."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

# The paper's constants: K, T, the least time between CNPs, B, F, R_AI, R_HAI, g (Zhu et al., SIGCOMM 2015, §3.1, §5).
ALPHA_S, TIMER_S, CNP_S = 55e-6, 55e-6, 50e-6
COUNTER_BYTES, STEPS = 10e6, 5
ADDITIVE_BPS, HYPER_BPS, GAIN = 40e6, 400e6, 1 / 256


def fluid_marked(rate: float, packet_bytes: int) -> float:
    """The share of packets that are marked where DCQCN's flows settle at so many packets a second each, in the mean.

    The fluid model's fixed point (Zhu et al., CoNEXT 2016, §3.1, after Zhu et al., SIGCOMM 2015, §5.1), with the
    paper's constants. In the mean a flow's rate is cut by alpha / 2 as often as a CNP comes, at most one in tau; as
    often as its byte counter or its timer runs out before the next one, it halves its distance to the target, and the
    target rises once fast recovery is over.
    """
    counter, additive = COUNTER_BYTES / packet_bytes, ADDITIVE_BPS / 8 / packet_bytes

    def missing(marked: float) -> float:
        none = math.log1p(-marked)

        def before(packets: float) -> float:
            """How often per packet so many follow each other without a mark."""
            return marked * math.exp(packets * none) / -math.expm1(packets * none)

        cut = -math.expm1(CNP_S * rate * none)
        alpha = -math.expm1(ALPHA_S * rate * none)
        by_bytes, by_time = before(counter), before(TIMER_S * rate)
        raised = by_bytes * math.exp(STEPS * counter * none) + by_time * math.exp(STEPS * TIMER_S * rate * none)
        # Where the target stands above the rate, by its own balance; then what the rate gains less what it loses.
        above = additive * rate * raised * CNP_S / cut
        return above * (by_bytes + by_time) - alpha * cut / CNP_S

    return float(brentq(missing, 1e-7, 0.5))


def drawn_marked(rate_bps: float, line_bps: float, packet_bytes: int) -> float:
    """The same where rates vary as they do: of marks that are drawn packet by packet, so many that the rate comes out.

    The fluid model takes the mean of what varies, by which a flow would need a fifth fewer marks.
    """
    marked = fluid_marked(rate_bps / 8 / packet_bytes, packet_bytes)
    for _ in range(3):
        # Rates are nearly in inverse proportion.
        marked *= drawn_rate(marked, line_bps, packet_bytes) / rate_bps
    return marked


def drawn_rate(marked: float, line_bps: float, packet_bytes: int, seconds: float = 2.0) -> float:
    """The mean rate of the paper's machine, event by event, where packets are marked at random."""
    random = np.random.default_rng(1)
    rate = target = line_bps / 2
    alpha, by_time, by_bytes, sent = 0.5, 0, 0, 0.0
    now, all_bits, until_mark, last_cnp = 0.0, 0.0, float(random.geometric(marked)), -1.0
    timer_at, alpha_at = TIMER_S, ALPHA_S
    while now < seconds:
        per_packet = packet_bytes * 8 / rate
        kinds = (timer_at - now, alpha_at - now, (COUNTER_BYTES - sent) * 8 / rate, until_mark * per_packet)
        passed = max(min(kinds), 0.0)
        kind = kinds.index(min(kinds))
        now += passed
        all_bits += rate * passed
        sent += rate * passed / 8
        until_mark -= passed / per_packet
        if kind == 1:
            alpha, alpha_at = alpha * (1 - GAIN), alpha_at + ALPHA_S
        elif kind == 3:
            until_mark = float(random.geometric(marked))
            if now - last_cnp >= CNP_S:
                last_cnp, target, rate = now, rate, max(rate * (1 - alpha / 2), ADDITIVE_BPS)
                alpha += GAIN * (1 - alpha)
                by_time, by_bytes, sent, timer_at, alpha_at = 0, 0, 0.0, now + TIMER_S, now + ALPHA_S
        else:
            beyond = min(by_time, by_bytes) - STEPS
            if max(by_time, by_bytes) >= STEPS:
                target = min(target + (HYPER_BPS * (beyond + 1) if beyond > 0 else ADDITIVE_BPS), line_bps)
            rate = (rate + target) / 2
            if kind == 0:
                by_time, timer_at = by_time + 1, timer_at + TIMER_S
            else:
                by_bytes, sent = by_bytes + 1, 0.0
    return all_bits / now
