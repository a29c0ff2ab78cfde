"""Runs a class, DCTCP and TCP through all situations, and answers what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packetloom import _core
from packetloom.campaign.executor import LocalExecutor
from packetloom.doctor.questions import SITUATIONS, Question, Situation
from packetloom.doctor.readings import Outcomes
from packetloom.doctor.situations import BUILT_IN, Contestant, Setting
from packetloom.errors import ScenarioError
from packetloom.scenario.plan import read_plan
from packetloom.schemes.named import named_class
from packetloom.store.outcome import Outcome
from packetloom.testing import RTT, bench_case

POLL_S = 0.2
PREFIX = "scheme.transport: "
"""Where the simulator found it, which is plain here."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a scheme answers to a question: a number, or nothing if it did not survive the situation."""

    question: Question
    value: float | None

    @property
    def text(self) -> str:
        """The number as people say it."""
        return "failed" if self.value is None else self.question.shows(self.value)

    @property
    def is_good(self) -> bool | None:
        """Whether it meets the threshold; nothing if there is none."""
        if self.value is None:
            return False if self.question.threshold else None
        return self.question.is_good(self.value)


@dataclass(frozen=True, slots=True)
class Course:
    """How a scheme went through a situation: what came of its settings, or why it did not survive."""

    outcomes: Outcomes
    failure: str | None

    def answer(self, question: Question) -> Answer:
        """What it answers to a question."""
        return Answer(question, None if self.failure else question.reads(self.outcomes))


@dataclass(frozen=True, slots=True)
class Examination:
    """What came of everything; the first of the contestants is the class that is examined."""

    contestants: tuple[Contestant, ...]
    courses: Mapping[tuple[str, str], Course]
    """By the situation and the contestant."""

    @property
    def own(self) -> Contestant:
        """The class that is examined."""
        return self.contestants[0]

    def course(self, situation: Situation, contestant: Contestant) -> Course:
        """How a scheme went through a situation."""
        return self.courses[situation.name, contestant.name]

    def answers(self, situation: Situation, question: Question) -> list[Answer]:
        """What each of the contestants answers."""
        return [self.course(situation, contestant).answer(question) for contestant in self.contestants]

    def failures(self, contestant: Contestant) -> dict[str, str]:
        """Which situations it did not survive, and why."""
        found = {one.name: self.course(one, contestant).failure for one in SITUATIONS}
        return {name: failure for name, failure in found.items() if failure}

    @property
    def survived(self) -> bool:
        """Whether the class that is examined came through every situation."""
        return not self.failures(self.own)


def examine(
    control: str, parameters: Mapping[str, Any] | None = None, tell: Callable[[str], None] = lambda _: None
) -> Examination:
    """Runs a class, "my_cc.py:MyCC" or "my_cc.py", through all situations, beside DCTCP and TCP.

    `parameters` are as in a scenario; `tell` is called with each situation's name before it is run.

    Raises:
        ScenarioError: what is wrong with the file, the class or a parameter. What goes wrong later is an answer.
    """
    contestants = (_own(control, dict(parameters or {})), *BUILT_IN)
    courses = {}
    for situation in SITUATIONS:
        tell(situation.name)
        for contestant in contestants:
            courses[situation.name, contestant.name] = _course(situation, contestant)
    return Examination(contestants, courses)


def _own(control: str, parameters: dict[str, Any]) -> Contestant:
    file, class_name = named_class(control)
    ecn = _core.SchemeBench(bench_case(f"{file}:{class_name}", parameters), RTT).ecn
    name = f"{class_name} (yours)" if class_name in {one.name for one in BUILT_IN} else class_name
    transport = {"kind": "python", "file": str(Path(file).absolute()), "class": class_name, **parameters}
    return Contestant(name, transport, "ecn" if ecn else "drop-tail")


def _course(situation: Situation, contestant: Contestant) -> Course:
    outcomes = {}
    for name, setting in situation.settings.items():
        try:
            outcomes[name] = outcome = _simulated(read_plan(setting.scenario(contestant)).cases[0])
        except ScenarioError as error:  # the scenario is right: this is what the class did
            return Course({}, str(error).removeprefix(PREFIX))
        if failure := _failure(setting, outcome):
            return Course({}, failure)
    return Course(outcomes, None)


def _simulated(case: _core.Case) -> Outcome:
    """Runs a case in a thread, so that Ctrl-C is heard."""
    executor = LocalExecutor(1)
    try:
        executor.submit(case, threads=1)
        while not (finished := executor.collect(POLL_S)):
            pass
        return finished[0][1]
    except KeyboardInterrupt:
        executor.cancel()
        raise
    finally:
        executor.close()


def _failure(setting: Setting, outcome: Outcome) -> str | None:
    """Why a run was not survived, if so."""
    counters = outcome.counters
    if counters["stalled"]:
        return "; ".join(outcome.warnings)
    missing = counters["flows_started"] - counters["flows_finished"]
    if setting.is_endless or not missing:
        return None
    return f"{missing} of {counters['flows_started']} flows had not ended after {setting.run['max_time']}"
