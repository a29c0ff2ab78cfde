"""A case on the kernel that runs here: flows that start together through the slow link, their FCTs, and what waited."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from packetloom.validate.kernel import endpoint
from packetloom.validate.kernel.cases import Case, dumbbell_of
from packetloom.validate.kernel.endpoint import TIMEOUT_S, Observed, Plan
from packetloom.validate.kernel.network import BOTTLENECK, Dumbbell, UnavailableError, parameters

# A flow that begins so long after the one before it spoils the trial: something else had the processor.
LATE_NS = 3_000_000
# So does a machine that stands still, as where others have it: times go on.
STILL_NS = 50_000_000
ATTEMPTS = 8
DEADLINE_S = TIMEOUT_S + 30


@dataclass(frozen=True, slots=True)
class Trial:
    """What one trial gave, sender by sender; the queue is the mean over the time until the last flow ended."""

    starts_ns: tuple[int, ...]
    fcts_ms: tuple[float, ...]
    queue_bytes: float
    drops: int
    swing_bytes: float | None = None
    behind_bucket: bool = False


def trial_from(plain: Mapping[str, Any]) -> Trial:
    """A trial that was made plain for JSON."""
    return Trial(**{**plain, "starts_ns": tuple(plain["starts_ns"]), "fcts_ms": tuple(plain["fcts_ms"])})


def trials_of(case: Case) -> list[Trial]:
    """Trials in which all flows began on time; a busy machine may take several attempts."""
    trials: list[Trial] = []
    with dumbbell_of(case) as dumbbell, parameters(case.control.linux, case.module):
        for _ in range(ATTEMPTS):
            seen = _observe(dumbbell, case, case.trials - len(trials))
            trials += [trial_of(one, case, dumbbell.has_bucket) for one in seen if on_time(one)]
            if len(trials) == case.trials:
                return trials
    raise UnavailableError(
        f"the machine is too busy: in {ATTEMPTS} attempts not all senders began on time, or it stood still"
    )


def _observe(dumbbell: Dumbbell, case: Case, trials: int) -> list[Observed]:
    receiver, *senders = dumbbell.hosts
    plan = Plan(
        receiver=receiver,
        address=dumbbell.address(0),
        senders=senders,
        router=dumbbell.router,
        device=BOTTLENECK,
        flow_bytes=case.flow_bytes,
        congestion_control=case.control.linux,
        trials=trials,
    )
    command = [sys.executable, "-S", str(Path(endpoint.__file__)), json.dumps(asdict(plan))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=trials * DEADLINE_S)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"the endpoints took longer than {error.timeout:.0f} s") from None
    if done.returncode:
        raise UnavailableError(f"the endpoints failed: {done.stderr.strip() or done.returncode}")
    return [Observed(**json.loads(line)) for line in done.stdout.splitlines()]


def on_time(seen: Observed) -> bool:
    """Whether no flow waited to begin, and the queue was watched all the time."""
    moments = [time_ns for time_ns, _ in seen.samples if time_ns >= seen.began_ns[0]]
    return all(later - earlier <= LATE_NS for earlier, later in pairwise(seen.began_ns)) and all(
        later - earlier <= STILL_NS for earlier, later in pairwise(moments)
    )


def trial_of(seen: Observed, case: Case, behind_bucket: bool) -> Trial:
    """Times from the first flow's begin on."""
    first_ns = seen.began_ns[0]
    return Trial(
        starts_ns=tuple(begin - first_ns for begin in seen.began_ns),
        fcts_ms=tuple((end - begin) / 1e6 for begin, end in zip(seen.began_ns, seen.ended_ns, strict=True)),
        queue_bytes=mean_between(seen.samples, first_ns, max(seen.ended_ns)),
        drops=seen.drops,
        swing_bytes=swing_of(seen.samples, first_ns, min(seen.ended_ns)) if case.swings else None,
        behind_bucket=behind_bucket,
    )


def swing_of(samples: Sequence[tuple[int, float]], begin: int, end: int) -> float:
    """The queue's standard deviation in the second half of that time."""
    middle = (begin + end) / 2
    return statistics.pstdev(value for time_ns, value in samples if middle <= time_ns < end)


def mean_between(samples: Sequence[tuple[int, float]], begin: int, end: int) -> float:
    """The mean over time: a sample holds until the next."""
    area = 0.0
    for (time_ns, value), (next_ns, _) in zip(samples, [*samples[1:], (end, 0)], strict=True):
        area += value * max(0, min(next_ns, end) - max(time_ns, begin))
    return area / (end - begin)
