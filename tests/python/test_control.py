"""The control algorithms from Python: arrays in, arrays out, mistakes refused."""

from typing import Literal

import numpy as np
import pytest

from packetloom import control

SERVERS = 30


@pytest.fixture
def pairs() -> tuple[np.ndarray, np.ndarray]:
    matrix = np.random.default_rng(1).random((SERVERS, SERVERS)) < 0.2
    src, dst = np.nonzero(matrix)
    return src, dst


def is_matching(src: np.ndarray, dst: np.ndarray) -> bool:
    return len(set(src.tolist())) == len(set(dst.tolist())) == len(src)


def test_greedy_matching_takes_pairs_in_order_of_key() -> None:
    src, dst, key = [0, 0, 1, 2], [0, 1, 1, 2], [5, 1, 2, 9]
    assert control.greedy_matching(src, dst, key, servers=3).tolist() == [1, 3]


def test_greedy_matching_is_maximal_and_at_least_half_the_maximum(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    src, dst = pairs
    greedy = control.greedy_matching(src, dst, np.arange(len(src)), servers=SERVERS)
    maximum = control.maximum_matching(src, dst, servers=SERVERS)
    for matched in (greedy, maximum):
        assert is_matching(src[matched], dst[matched])
    assert np.all(np.isin(src, src[greedy]) | np.isin(dst, dst[greedy]))
    assert len(maximum) / 2 <= len(greedy) <= len(maximum)


def test_every_slot_of_a_batch_is_a_maximal_matching(pairs: tuple[np.ndarray, np.ndarray]) -> None:
    src, dst = pairs
    packets = np.random.default_rng(2).integers(1, 6, len(src))
    grants = control.batch_matching(src, dst, packets, servers=SERVERS, slots=16)
    granted = np.zeros((SERVERS, SERVERS), int)
    np.add.at(granted, (grants.src, grants.dst), 1)
    left = packets - granted[src, dst]
    assert left.min() >= 0
    assert granted.sum() == len(grants.slot)
    for slot in range(16):
        senders, receivers = grants.src[grants.slot == slot], grants.dst[grants.slot == slot]
        assert is_matching(senders, receivers)
        assert np.all(np.isin(src, senders) | np.isin(dst, receivers) | (left == 0))


@pytest.mark.parametrize("method", ["euler-split", "paull"])
def test_colouring_is_proper_with_the_fewest_colours(method: Literal["euler-split", "paull"]) -> None:
    src, dst = np.random.default_rng(3).integers(0, 5, (2, 90))
    colours = control.edge_colouring(src, dst, leaves=5, method=method)
    for leaf in (src, dst):
        assert len(set(zip(leaf.tolist(), colours.tolist(), strict=True))) == len(leaf)
    assert colours.max() + 1 == max(np.bincount(src).max(), np.bincount(dst).max())


@pytest.mark.parametrize("up_to_offered", [False, True])
def test_normalised_rates_fit_and_none_can_grow(pairs: tuple[np.ndarray, np.ndarray], up_to_offered: bool) -> None:
    src, dst = pairs
    offered = np.random.default_rng(4).random(len(src)) * 0.4
    rates = control.normalise_rates(src, dst, offered, servers=SERVERS, up_to_offered=up_to_offered)
    sent, received = np.bincount(src, rates, SERVERS), np.bincount(dst, rates, SERVERS)
    assert max(sent.max(), received.max()) <= 1 + 1e-9
    at_limit = rates >= (offered if up_to_offered else 1.0) - 1e-9
    assert np.all((sent[src] > 1 - 1e-9) | (received[dst] > 1 - 1e-9) | at_limit)


def test_rates_are_normalised_until_they_settle() -> None:
    # 0 has packets for 2 and 3, 1 for 2 alone: the most goes through if 0 leaves 2 to 1.
    rates = control.normalise_rates([0, 0, 1], [2, 3, 2], [1, 1, 1], servers=4)
    assert rates == pytest.approx([0, 1, 1], abs=0.05)
    assert control.normalise_rates([0, 0, 1], [2, 3, 2], [1, 1, 1], servers=4, rounds=5)[0] > 0.05
    with pytest.raises(ValueError, match="tolerance is -1 of type int; give a number from 0"):
        control.normalise_rates([0], [1], [1], servers=2, tolerance=-1)


def test_max_min_rates_go_by_weight_and_limit() -> None:
    rates = control.max_min_rates([0, 1, 2, 3], [0, 0, 0], [12.0], weight=[1, 1, 2], limit=[1.0, np.inf, np.inf])
    assert rates == pytest.approx([1.0, 11 / 3, 22 / 3])


def test_utility_rates_settle_and_can_be_continued() -> None:
    line = [0, 2, 3, 4], [0, 1, 0, 1], [3.0, 3.0]
    whole = control.utility_rates(*line, rounds=200)
    assert whole.rates == pytest.approx([1.0, 2.0, 2.0], abs=1e-6)
    half = control.utility_rates(*line, rounds=100, normalise=False)
    again = control.utility_rates(*line, rounds=100, prices=half.prices)
    assert again.rates == pytest.approx(whole.rates, abs=1e-12)


def test_mistakes_are_refused_with_what_to_write() -> None:
    with pytest.raises(ValueError, match="src and dst are below 3, not 3"):
        control.maximum_matching([0], [3], servers=3)
    with pytest.raises(ValueError, match="key has 2 entries, src has 1"):
        control.greedy_matching([0], [1], [1, 2], servers=3)
    with pytest.raises(ValueError, match="src is from 0"):
        control.maximum_matching([-1], [0], servers=3)
    with pytest.raises(ValueError, match="whole numbers"):
        control.maximum_matching([0.5], [0], servers=3)
    with pytest.raises(ValueError, match="slots is from 1 to 64, not 65"):
        control.batch_matching([0], [1], [1], servers=3, slots=65)
    with pytest.raises(ValueError, match="offered is 0 or more and finite, not NaN"):
        control.normalise_rates([0], [1], [np.nan], servers=3)
    with pytest.raises(ValueError, match="links are below 1"):
        control.max_min_rates([0, 1], [1], [1.0])
    with pytest.raises(ValueError, match="first_link goes up from 0"):
        control.max_min_rates([0, 2], [0], [1.0])
    with pytest.raises(ValueError, match='"euler-split" or "paull"'):
        control.edge_colouring([0], [0], leaves=1, method="greedy")  # type: ignore[arg-type]
