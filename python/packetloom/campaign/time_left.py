"""How fast a campaign goes, and how long it will take."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packetloom.scenario.plan import Parameter

RATE_WINDOW_S = 5.0


class RateMeter:
    """A rate over the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, count: int) -> float:
        """Notes a count, and gives the rate."""
        now = time.monotonic()
        self._samples.append((now, count))
        while now - self._samples[0][0] > RATE_WINDOW_S and len(self._samples) > 2:
            self._samples.popleft()
        began, before = self._samples[0]
        return max(0.0, (count - before) / (now - began)) if now > began else 0.0


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1


class RemainingTime:
    """The time left: a case is taken to last as long as others of its scheme did, or, failing that, as any did."""

    def __init__(self) -> None:
        self._known: defaultdict[Parameter, _Mean] = defaultdict(_Mean)

    def finished(self, scheme: Parameter, wall_s: float) -> None:
        """A case took so long."""
        self._known[scheme].add(wall_s)

    def estimate_s(
        self, running: Sequence[tuple[Parameter, float, float]], waiting: Mapping[Parameter, int], workers: int
    ) -> float | None:
        """From the schemes, elapsed seconds and fractions of what runs, and the schemes of what waits."""
        known = {scheme: _Mean(mean.total, mean.count) for scheme, mean in self._known.items()}
        for scheme, elapsed_s, fraction in running:
            if fraction > 0.01:
                known.setdefault(scheme, _Mean()).add(elapsed_s / fraction)
        every = sum(mean.count for mean in known.values())
        if not every:
            return None
        overall_s = sum(mean.total for mean in known.values()) / every

        def expected_s(scheme: Parameter) -> float:
            return known[scheme].total / known[scheme].count if scheme in known else overall_s

        begun = [
            max(0.0, (1.0 - fraction) * expected_s(scheme) if fraction else expected_s(scheme) - elapsed_s)
            for scheme, elapsed_s, fraction in running
        ]
        total = sum(begun) + sum(count * expected_s(scheme) for scheme, count in waiting.items())
        return max([total / max(1, workers), *begun])
