"""Optuna, which proposes points and says what mattered: its tree-structured Parzen estimator (Bergstra et al., NeurIPS
2011), and PED-ANOVA (Watanabe et al., IJCAI 2023).

It is asked for a number of points at once and told of all of them before it is asked again. So what it proposes depends
on its seed and on results, never on which case finished first; and a tuning that was stopped asks it all over again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from packetloom.common.percentiles import quantiles
from packetloom.errors import PacketloomError
from packetloom.tuning.ranges import Choices, Dimension, Range

TOP_SHARE = 0.25
"""Importance: in how far the best quarter of all points lies elsewhere in a key than the rest."""
RESAMPLES = 200
SHUFFLES = 400
FEWEST = 20
"""Points below which importance is not told: the best quarter would be fewer than five."""
REFUSED = 1e9
"""By how much a point that the scenario refuses is counted as violating what is required."""


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a key mattered: its share, a 95 % interval of that, and how probable as much is by chance."""

    key: str
    share: float
    low: float
    high: float
    p: float


class Sampler:
    """Proposes points and is told what came of them."""

    def __init__(self, dimensions: Sequence[Dimension], seed: int) -> None:
        self._optuna = load()
        self._dimensions = dimensions
        self._distributions = {one.key: self._distribution(one) for one in dimensions}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of arguments that Optuna calls experimental: its version is recorded
            sampler = self._optuna.samplers.TPESampler(
                seed=seed, multivariate=True, constant_liar=True, constraints_func=_violations
            )
        self._study = self._optuna.create_study(sampler=sampler)

    @property
    def version(self) -> str:
        """Optuna's: another may propose other points."""
        return str(self._optuna.__version__)

    def ask(self, count: int) -> list[Any]:
        """So many points, before any of them is run."""
        return [self._study.ask(self._distributions) for _ in range(count)]

    def settings(self, trial: Any) -> tuple[str, ...]:
        """A point as settings, rounded."""
        return tuple(f"{one.key}={one.value_text(trial.params[one.key])}" for one in self._dimensions)

    def tell(self, trial: Any, value: float | None, violation: float) -> None:
        """What came of a point: smaller values are better; None: the scenario refuses it."""
        trial.set_user_attr("violation", REFUSED if value is None else violation)
        if value is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(trial, value)

    def importances(self, seed: int) -> list[Importance]:
        """Of each key, the largest first; none of too few points, or where all came out the same."""
        done = [one for one in self._study.get_trials(deepcopy=False) if one.value is not None]
        values = np.array([one.value for one in done])
        if len(done) < FEWEST or np.ptp(values) == 0 or len(self._dimensions) < 2:
            return []
        random = np.random.default_rng(seed)
        found = self._raw([one.params for one in done], values)
        everyone = np.arange(len(done))
        drawn = [random.choice(everyone, len(everyone)) for _ in range(RESAMPLES)]
        resampled = np.array(
            [_shares(self._raw([done[place].params for place in places], values[places])) for places in drawn]
        )
        shuffled = np.array(
            [self._raw([one.params for one in done], random.permutation(values)) for _ in range(SHUFFLES)]
        )
        low, high = quantiles(resampled, [0.025, 0.975], axis=0)
        p = (1 + (shuffled >= found).sum(axis=0)) / (SHUFFLES + 1)
        told = [
            Importance(one.key, float(share), float(below), float(above), float(chance))
            for one, share, below, above, chance in zip(self._dimensions, _shares(found), low, high, p, strict=True)
        ]
        return sorted(told, key=lambda one: -one.share)

    def _raw(self, points: Sequence[dict[str, Any]], values: Sequence[float] | np.ndarray[Any, Any]) -> Any:
        """PED-ANOVA's measure of each key, in the order of the ranges."""
        optuna = self._optuna
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = optuna.create_study()
            study.add_trials(
                [
                    optuna.trial.create_trial(params=point, distributions=self._distributions, value=float(value))
                    for point, value in zip(points, values, strict=True)
                ]
            )
            evaluator = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=TOP_SHARE)
            found = evaluator.evaluate(study)
        return np.array([found.get(one.key, 0.0) for one in self._dimensions])

    def _distribution(self, one: Dimension) -> Any:
        distributions = self._optuna.distributions
        if isinstance(one, Choices):
            return distributions.CategoricalDistribution(one.values)
        assert isinstance(one, Range)
        if one.is_whole:
            return distributions.IntDistribution(int(one.low), int(one.high), log=one.is_log)
        return distributions.FloatDistribution(one.low, one.high, log=one.is_log)


def load() -> Any:
    """Optuna; an error that says how to install it, if it is not there."""
    try:
        import optuna
        import optuna.importance
    except ImportError:
        raise PacketloomError("a tuning needs Optuna, which is not installed: pip install 'optuna>=4'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _violations(trial: Any) -> tuple[float]:
    return (float(trial.user_attrs["violation"]),)


def _shares(measures: Any) -> Any:
    """As parts of one; all zero stays zero."""
    total = measures.sum()
    return measures / total if total else measures
