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
from packetloom.validate.kernel.cases import RATE_MBPS, Case, dumbbell_of, offsets_ns
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
    settled_ms: float | None = None


def trial_from(plain: Mapping[str, Any]) -> Trial:
    """A trial that was made plain for JSON."""
    return Trial(**{**plain, "starts_ns": tuple(plain["starts_ns"]), "fcts_ms": tuple(plain["fcts_ms"])})


def trials_of(case: Case) -> list[Trial]:
    """Trials in which all flows began on time; a busy machine may take several attempts."""
    numbers = range(case.trials)
    # What an AQM has learned in one trial is nothing that the next should begin with.
    apart = [[number] for number in numbers] if case.managed else [list(numbers)]
    return [trial for together in apart for trial in _trials_on_one(case, together)]


def _trials_on_one(case: Case, numbers: Sequence[int]) -> list[Trial]:
    """These trials, on one dumbbell."""
    trials: list[Trial] = []
    with dumbbell_of(case) as dumbbell, parameters(case.control.linux, case.module):
        for _ in range(ATTEMPTS):
            offsets = [offsets_ns(case, number) for number in numbers[len(trials) :]]
            for seen, due_ns in zip(_observe(dumbbell, case, offsets), offsets, strict=True):
                if on_time(seen, due_ns):
                    trials.append(trial_of(seen, case, dumbbell.has_bucket))
            if len(trials) == len(numbers):
                return trials
    raise UnavailableError(
        f"the machine is too busy: in {ATTEMPTS} attempts not all senders began on time, or it stood still"
    )


def _observe(dumbbell: Dumbbell, case: Case, offsets: list[list[int]]) -> list[Observed]:
    receiver, *senders = dumbbell.hosts
    plan = Plan(
        receiver=receiver,
        address=dumbbell.address(0),
        senders=senders,
        router=dumbbell.router,
        device=BOTTLENECK,
        flow_bytes=case.flow_bytes,
        congestion_control=case.control.linux,
        offsets_ns=offsets,
    )
    command = [sys.executable, "-S", str(Path(endpoint.__file__)), json.dumps(asdict(plan))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=len(offsets) * DEADLINE_S)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"the endpoints took longer than {error.timeout:.0f} s") from None
    if done.returncode:
        raise UnavailableError(f"the endpoints failed: {done.stderr.strip() or done.returncode}")
    return [Observed(**json.loads(line)) for line in done.stdout.splitlines()]


def on_time(seen: Observed, offsets_ns: Sequence[int]) -> bool:
    """Whether no flow waited to begin for longer than it should, and the queue was watched all the time."""
    moments = [time_ns for time_ns, _ in seen.samples if time_ns >= seen.began_ns[0]]
    # Where all begin at once, one follows the other.
    due = pairwise(zip(seen.began_ns, offsets_ns, strict=True))
    return all(later - before - (due_ns - last_ns) <= LATE_NS for (before, last_ns), (later, due_ns) in due) and all(
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
        settled_ms=settled_of(seen.samples, case),
    )


def swing_of(samples: Sequence[tuple[int, float]], begin: int, end: int) -> float:
    """The queue's standard deviation in the second half of that time."""
    middle = (begin + end) / 2
    return statistics.pstdev(value for time_ns, value in samples if middle <= time_ns < end)


def settled_of(samples: Sequence[tuple[int, float]], case: Case) -> float | None:
    """The step response: for how long, around the longest queue, packets wait for more than the target."""
    if case.managed is None or case.managed.target_ms is None:
        return None
    target_bytes = case.managed.target_ms * RATE_MBPS * 1000 / 8
    peak_ns, _ = max(samples, key=lambda sample: sample[1])
    low = [time_ns for time_ns, value in samples if value <= target_bytes]
    before = max((time_ns for time_ns in low if time_ns <= peak_ns), default=samples[0][0])
    after = min((time_ns for time_ns in low if time_ns > peak_ns), default=samples[-1][0])
    return (after - before) / 1e6


def mean_between(samples: Sequence[tuple[int, float]], begin: int, end: int) -> float:
    """The mean over time: a sample holds until the next."""
    area = 0.0
    for (time_ns, value), (next_ns, _) in zip(samples, [*samples[1:], (end, 0)], strict=True):
        area += value * max(0, min(next_ns, end) - max(time_ns, begin))
    return area / (end - begin)
