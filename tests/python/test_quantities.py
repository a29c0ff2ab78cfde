"""Quantities as people write them."""

import pytest

from packetloom.common.quantities import axis_text, in_percent, said_within, size_text, time_text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0"), (40, "40B"), (22_500, "22.5KB"), (1e7, "10MB"), (2.5e9, "2.5GB"), (float("inf"), "∞")],
)
def test_sizes(size_bytes: float, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(("time_ns", "text"), [(400.5, "400.5ns"), (40_000, "40us"), (1e7, "10ms"), (2e9, "2s")])
def test_times(time_ns: float, text: str) -> None:
    assert time_text(time_ns) == text


@pytest.mark.parametrize(
    ("axis", "value", "text"),
    [
        ("scheme.queue.mark_above_bytes", 22_500, "queue.mark_above 22.5KB"),
        ("scheme.transport.min_rto_ns", 200_000.0, "transport.min_rto 200us"),
        ("topology.link.rate_gbps", 40.0, "link.rate 40Gbps"),
        ("scheme.queue.capacity_packets", 8, "queue.capacity 8 packets"),
        ("scheme.routing", "ecmp", "scheme.routing ecmp"),
        ("scheme.transport.delayed_ack", True, "transport.delayed_ack True"),
        ("load", 0.5, "load 0.5"),
        ("fault.at", "never", "no fault"),
        ("fault.at", "0us", "fault at 0us"),
        ("fault.1.at_ns", 2e6, "fault 1 at 2ms"),
        ("fault.1.at", "never", "no fault 1"),
        ("workload[0].sizes", "web-search", "sizes web-search"),
        ("workload[1].sizes", "web-search", "workload[1].sizes web-search"),
    ],
)
def test_axes(axis: str, value: object, text: str) -> None:
    assert axis_text(axis, value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.004, "0.4 %"),
        (0.051, "5.1 %"),
        (0.0996, "10 %"),
        (-0.27, "-27 %"),
        (1.1, "110 %"),
        (12.3, "1,230 %"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert in_percent(share) == text
    assert in_percent(share, signed=True) == (text if share < 0 else f"+{text}")


def test_what_rounding_alone_makes_of_an_interval_is_none() -> None:
    assert said_within(94.570401, 1e-13, "gbps") == "94.6 ± 0 Gb/s"
    assert said_within(94.570401, 2e-6, "gbps") == "94.570401 ± 0.000002 Gb/s"
