"""Means that a model makes more precise: the truth is known, because it is drawn."""

import numpy as np
import pytest

from packetloom.reproduce.controlled import controlled
from packetloom.reproduce.measure import Interval, interval_of


def drawn(rng: np.random.Generator, seeds: int, noise: float) -> tuple[dict[int, float], dict[int, float]]:
    """Numbers whose mean is 10, and a model with a mean of 3 that tells them up to some noise."""
    model = {seed: float(rng.normal(3, 1)) for seed in range(200)}
    measured = {seed: 10 + 2 * (model[seed] - 3) + float(rng.normal(0, noise)) for seed in range(seeds)}
    return measured, model


def half(one: Interval) -> float:
    assert one.high is not None
    return one.high - one.value


@pytest.mark.parametrize("noise", [0.2, 2.0, 20.0])
@pytest.mark.parametrize("seeds", [5, 8])
def test_the_interval_has_the_truth_as_often_as_it_says(seeds: int, noise: float) -> None:
    rng = np.random.default_rng(1)
    found = [controlled(*drawn(rng, seeds, noise)) for _ in range(1000)]
    inside = sum(abs(one.value - 10) <= half(one) for one in found) / len(found)
    assert inside == pytest.approx(0.95, abs=0.025)


def test_a_model_that_tells_narrows_the_interval_and_one_that_does_not_hardly_widens_it() -> None:
    rng = np.random.default_rng(2)

    def both(measured: dict[int, float], model: dict[int, float]) -> list[float]:
        return [half(controlled(measured, model)), half(interval_of(measured.items(), "numbers"))]

    widths = [both(*drawn(rng, 8, noise)) for noise in (0.2, 20.0) for _ in range(300)]
    tells, does_not = np.array(widths[:300]).mean(axis=0), np.array(widths[300:]).mean(axis=0)
    assert tells[0] < 0.25 * tells[1]
    assert does_not[0] < 1.2 * does_not[1]


def test_what_a_model_tells_exactly_is_known_as_well_as_the_model_is() -> None:
    model = {seed: float(seed) for seed in range(101)}
    found = controlled({seed: 3 * model[seed] for seed in range(5)}, model)
    assert found.value == pytest.approx(150)
    assert half(found) == pytest.approx(1.984 * 3 * np.std(range(101), ddof=1) / np.sqrt(101), rel=1e-3)


def test_a_model_that_stands_still_tells_nothing() -> None:
    found = controlled({0: 4.0, 1: 5.0, 2: 6.0, 3: 7.0, 4: 8.0}, dict.fromkeys(range(9), 1.0))
    assert found.value == 6.0


def test_four_seeds_are_too_few() -> None:
    with pytest.raises(ValueError, match="4 seeds of both, and at least 5 are needed"):
        controlled(dict.fromkeys(range(4), 1.0), dict.fromkeys(range(9), 1.0))
