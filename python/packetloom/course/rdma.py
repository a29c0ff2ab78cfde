"""Exercises of "RDMA"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packetloom.course.marks import Mark, function, number

PAUSE_BYTES = 64


def check_innocent(answer: Any) -> Mark:
    """What the innocent flow gets in Gb/s, where pauses alone bound what is on its way."""
    return number(
        answer,
        25.0,
        within=0.05,
        hint="Four flows share a port of 100 Gb/s. The pauses for it hold back all that comes by the same link.",
        praise="The fair share of a port that it does not use: head-of-line blocking.",
    )


def headroom_bytes(rate_bps: float, delay_s: float, packet_bytes: float) -> float:
    """What may still come in once a switch decides to pause a link.

    A round trip of the link at its rate; the packet that set it off; one just begun at either end, which delays the
    PAUSE and is not stopped by it; and the PAUSE itself (IEEE 802.1Q, Annex N).
    """
    return 2 * rate_bps * delay_s / 8 + 3 * packet_bytes + PAUSE_BYTES


def check_headroom(answer: Callable[[float, float, float], Any]) -> Mark:
    """The headroom that a link needs."""
    return function(
        answer,
        [
            (case, headroom_bytes(*case))
            for case in ((100e9, 1e-6, 1048.0), (10e9, 5e-6, 1048.0), (400e9, 1e-6, 4096.0))
        ],
        within=0.002,
        hint="Twice the delay at the link's rate, in bytes; three packets: the one that sets it off, one just begun "
        "at each end; and the PAUSE of 64 B.",
        praise="Compare: packetloom refuses a smaller one, and says the same sum.",
    )


def hpcc_utilisation(
    queue_before: float, queue_now: float, sent_bytes: float, seconds: float, rate_bps: float, base_rtt_s: float
) -> float:
    """How full a link is to HPCC, from what it wrote into two packets (SIGCOMM 2019, algorithm 1, line 4)."""
    bdp = rate_bps * base_rtt_s / 8
    return min(queue_before, queue_now) / bdp + sent_bytes * 8 / seconds / rate_bps


def check_hpcc(answer: Callable[..., Any]) -> Mark:
    """HPCC's measure of a link."""
    cases = [
        (0.0, 0.0, 12_500.0, 1e-6, 100e9, 8e-6),
        (50_000.0, 80_000.0, 12_500.0, 1e-6, 100e9, 8e-6),
        (30_000.0, 10_000.0, 5_000.0, 1e-6, 100e9, 8e-6),
    ]
    return function(
        answer,
        [(case, hpcc_utilisation(*case)) for case in cases],
        within=0.002,
        hint="The smaller of the two queues over the BDP, plus the rate at which it sent over the link's rate.",
        praise="Above 1 there is more on its way than the link can carry: HPCC knows by how much, and a mark does not.",
    )


def check_dcqcn(answer: Any) -> Mark:
    """DCQCN's rate in Gb/s after three notifications, starting at 100."""
    return number(
        answer,
        100 * 0.5**3,
        within=0.01,
        hint="alpha starts at 1, and a notification moves it towards 1: it stays there. Each cut is R (1 − alpha / 2).",
        praise="It takes many steps of recovery to get back.",
    )


def packets_sent(loss: float, window: float) -> float:
    """Packets sent for each that is new, under go-back-N: a loss costs a window."""
    return 1 + loss * window


def check_go_back_n(answer: Callable[[float, float], Any]) -> Mark:
    """The cost of go-back-N: packets sent for each packet of the flow."""
    return function(
        answer,
        [(case, packets_sent(*case)) for case in ((0.001, 100.0), (0.0001, 100.0), (0.002, 50.0))],
        within=0.01,
        hint="Each packet is lost with this probability; then a whole window is sent again.",
        praise="The window grows with the rate: at 400 Gb/s the same loss costs four times as many packets.",
    )
