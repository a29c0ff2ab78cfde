"""Comparisons by seed against the same numbers worked out by other means."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from packetloom.stats.paired import compare, holm, seeds_to_tell

pytestmark = pytest.mark.unaudited

SIZES = Path(__file__).parents[2] / "workloads" / "pfabric_websearch.csv"
ONE = {1: 2.0, 2: 2.4, 3: 1.9, 4: 2.2}
OTHER = {1: 1.0, 2: 1.1, 3: 1.0, 4: 1.05}


def test_a_ratio_is_the_geometric_mean_of_the_seeds_ratios() -> None:
    found = compare(ONE, OTHER)
    assert found
    logs = [math.log(ONE[seed] / OTHER[seed]) for seed in ONE]
    low, high = stats.t.interval(0.95, 3, loc=np.mean(logs), scale=stats.sem(logs))
    assert found.value == pytest.approx(math.exp(np.mean(logs)))
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)))
    paired = stats.ttest_rel([math.log(value) for value in ONE.values()], [math.log(value) for value in OTHER.values()])
    assert found.p == pytest.approx(paired.pvalue)
    assert found.seeds == 4


def test_a_difference_is_the_mean_of_the_seeds_differences() -> None:
    found = compare(ONE, OTHER, ratio=False)
    assert found
    assert found.value == pytest.approx(np.mean([ONE[seed] - OTHER[seed] for seed in ONE]))
    assert found.p == pytest.approx(stats.ttest_rel(list(ONE.values()), list(OTHER.values())).pvalue)


def test_what_all_schemes_of_a_seed_share_cancels_out() -> None:
    """Seeds that differ tenfold, the schemes by a tenth: means alone would tell nothing."""
    one = {seed: 10.0**seed * (1.1 + 0.001 * seed) for seed in range(4)}
    other = {seed: 10.0**seed for seed in range(4)}
    found = compare(one, other)
    assert found
    assert found.p is not None
    assert found.p < 1e-5
    assert stats.ttest_ind(list(one.values()), list(other.values())).pvalue > 0.5


@pytest.fixture(scope="module")
def slowdowns() -> NDArray[np.float64]:
    """The mean slowdowns of flows of web search's sizes at two links that serve them in order of arrival: 3,000 seeds
    of 1,500 flows each. The second link is a tenth slower."""
    random = np.random.default_rng(50)
    packets, _, share = np.loadtxt(SIZES, skiprows=1).T
    sizes = np.interp(random.random((3000, 2000)), share, packets)
    gaps = random.exponential(sizes.mean() / 0.5, sizes.shape)
    means = []
    for slower in (1.0, 1.1):
        served = sizes * slower
        reached = np.cumsum(served[:, :-1] - gaps[:, 1:], axis=1)
        waited = reached - np.minimum(np.minimum.accumulate(reached, axis=1), 0.0)
        means.append((waited / served[:, 1:])[:, 500:].mean(axis=1) + 1)
    return np.array(means)


@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_of_heavy_tailed_sizes_95_of_100_intervals_hold_the_ratio(slowdowns: NDArray[np.float64], seeds: int) -> None:
    one, other = slowdowns
    assert (one / one.mean()).std() > 0.05, "seeds that are all alike would show nothing"
    truth = np.exp(np.mean(np.log(other / one)))
    found = [
        compare(dict(enumerate(other[part])), dict(enumerate(one[part])))
        for part in np.split(np.arange(len(one) // seeds * seeds), len(one) // seeds)
    ]
    held = [one.low <= truth <= one.high for one in found if one and one.low is not None and one.high is not None]
    assert len(held) == len(found)
    chance = math.sqrt(0.95 * 0.05 / len(held))
    assert 0.95 - 3 * chance < np.mean(held) < 0.95 + 3 * chance


def test_only_common_seeds_count() -> None:
    found = compare({1: 2.0, 2: 3.0, 7: 100.0}, {1: 1.0, 2: 1.0, 9: 1.0})
    assert found
    assert found.seeds == 2
    assert compare({1: 1.0}, {2: 1.0}) is None


def test_one_seed_has_a_ratio_and_nothing_more() -> None:
    found = compare({1: 3.0}, {1: 2.0})
    assert found
    assert found.value == pytest.approx(1.5)
    assert (found.low, found.high, found.p) == (None, None, None)


def test_a_zero_has_no_ratio() -> None:
    assert compare({1: 0.0, 2: 1.0}, {1: 1.0, 2: 1.0}) is None
    difference = compare({1: 0.0, 2: 1.0}, {1: 1.0, 2: 1.0}, ratio=False)
    assert difference is not None
    assert (difference.value, difference.is_ratio) == (-0.5, False)


def test_seeds_that_are_all_alike() -> None:
    same = compare(ONE, ONE)
    assert same
    assert same.is_same
    assert same.p is None
    twice = compare({seed: 2 * value for seed, value in ONE.items()}, ONE)
    assert twice
    assert twice.is_exact
    assert twice.p == 0.0
    assert twice.low == pytest.approx(2.0)


def test_flipped() -> None:
    there, back = compare(ONE, OTHER), compare(OTHER, ONE)
    assert there
    assert back
    flipped = there.flipped()
    assert (flipped.value, flipped.low, flipped.high) == pytest.approx((back.value, back.low, back.high))
    assert flipped.p == pytest.approx(back.p)


def test_holms_correction() -> None:
    """By hand: the smallest of four times 4, the next times 3, and so on, never less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, None, 0.8]) == [1.0, None, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("effect", [0.3, 0.5, 1.0, 2.0])
def test_so_many_seeds_would_tell_in_four_of_five_campaigns(effect: float) -> None:
    """Seeds drawn anew from a normal distribution with that mean and a deviation of 1."""
    found = compare({1: effect - math.sqrt(0.5), 2: effect + math.sqrt(0.5)}, {1: 0.0, 2: 0.0}, ratio=False)
    assert found
    assert found.deviation == pytest.approx(1.0)
    seeds = seeds_to_tell(found)
    assert seeds
    draws = np.random.default_rng(7).normal(effect, 1.0, (20_000, seeds))
    told = np.mean(np.asarray(stats.ttest_1samp(draws, 0.0, axis=1).pvalue) < 0.05)
    assert 0.76 < told < 0.93


def test_more_comparisons_need_more_seeds() -> None:
    found = compare({1: 1.2, 2: 1.1, 3: 1.3}, {1: 1.0, 2: 1.05, 3: 1.0})
    assert found
    alone, among_many = seeds_to_tell(found), seeds_to_tell(found, 100)
    assert alone
    assert among_many
    assert alone < among_many
    far = compare({1: 1.0, 2: -0.99}, {1: 0.0, 2: 0.0}, ratio=False)
    assert far
    assert seeds_to_tell(far) is None
