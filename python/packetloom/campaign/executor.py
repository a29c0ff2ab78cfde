"""Where cases run. A campaign hands cases to an executor and gets outcomes back; it does not know where they were."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

from packetloom import _core
from packetloom.common.system import usable_cores
from packetloom.errors import InvariantError, PacketloomError
from packetloom.scenario.input_files import must_be_as_read, must_be_as_read_at_its_end
from packetloom.store.case_rows import row_label
from packetloom.store.outcome import Outcome

Finished = tuple[_core.Case, Outcome]


@dataclass(frozen=True, slots=True)
class Running:
    """A case on its way; the rest is 0 where it can't be seen from here."""

    case: _core.Case
    elapsed_s: float
    fraction: float
    packet_hops: int
    simulated_ns: float


class Executor(Protocol):
    """Runs cases."""

    @property
    def workers(self) -> int:
        """How many cases run at a time."""

    @property
    def in_hand(self) -> int:
        """How many cases were submitted and have not come back."""

    def submit(self, case: _core.Case, threads: int) -> None:
        """Takes a case, for as many threads if the place allows. Twice as many as there are workers keep all busy."""

    def collect(self, timeout_s: float) -> list[Finished]:
        """What has finished: waits until something has, or for so long."""

    def running(self) -> list[Running]:
        """What runs now."""

    def cancel(self) -> list[Finished]:
        """Stops everything, and gives what finished in the meantime."""

    def close(self) -> None:
        """Lets go of the workers; call `cancel` first if something may be in hand."""


@dataclass(slots=True)
class _Task:
    case: _core.Case
    threads: int
    simulation: _core.Simulation | None = None
    started: float = field(default=0.0)


class LocalExecutor:
    """Runs cases on this machine: a thread each, because a simulation does not hold the interpreter's lock."""

    def __init__(self, workers: int | None, audit: bool = False) -> None:
        if workers is not None and workers < 1:
            raise PacketloomError(f"workers is {workers}: give at least 1, or leave it out to use every core")
        self.workers = workers or len(usable_cores())
        self._audit = audit or is_audit_asked()
        self._pool = ThreadPoolExecutor(self.workers)
        self._stop = threading.Event()
        self._tasks: dict[Future[Outcome | None], _Task] = {}

    @property
    def in_hand(self) -> int:
        return len(self._tasks)

    def submit(self, case: _core.Case, threads: int) -> None:
        task = _Task(case, threads)
        self._tasks[self._pool.submit(self._simulate, task)] = task

    def collect(self, timeout_s: float) -> list[Finished]:
        done, _ = wait(self._tasks, timeout=timeout_s, return_when=FIRST_COMPLETED)
        if done and all(future.exception() for future in done):
            next(iter(done)).result()
        return self._take(done)  # what failed beside others is raised the next time, when they are kept

    def running(self) -> list[Running]:
        now = time.monotonic()
        begun = [(task, task.simulation) for future, task in self._tasks.items() if future.running()]
        return [
            Running(task.case, now - task.started, *simulation.progress()) for task, simulation in begun if simulation
        ]

    def cancel(self) -> list[Finished]:
        self._stop.set()
        for task in list(self._tasks.values()):
            if task.simulation:
                task.simulation.cancel()
        ended, _ = wait(self._tasks)
        return self._take(ended)

    def close(self) -> None:
        self._pool.shutdown()

    def _take(self, ended: Iterable[Future[Outcome | None]]) -> list[Finished]:
        good = [(self._tasks.pop(future).case, future.result()) for future in ended if not future.exception()]
        return [(case, outcome) for case, outcome in good if outcome is not None]

    def _simulate(self, task: _Task) -> Outcome | None:
        if self._stop.is_set():
            return None
        simulation = simulation_of(task.case)
        task.started = time.monotonic()
        task.simulation = simulation
        if self._stop.is_set():  # it came between the question and the assignment
            simulation.cancel()
        core = simulation.run(threads=task.threads, audit=self._audit)
        refuse_what_counts_for_nothing(task.case, core)
        return None if core.cancelled else Outcome.of(core)


def is_audit_asked() -> bool:
    """Whether the environment enables the audit, as the test suite does."""
    return os.environ.get("PACKETLOOM_AUDIT", "") not in ("", "0")


def simulation_of(case: _core.Case) -> _core.Simulation:
    """A case's simulation, which has read the files that the scenario was read with."""
    must_be_as_read(case)
    simulation = _core.Simulation(case)
    must_be_as_read(case)
    return simulation


def refuse_what_counts_for_nothing(case: _core.Case, core: _core.Outcome) -> None:
    """Results of a simulation that violated an invariant, or read changed files, are not kept."""
    if core.violation:
        raise InvariantError(f"{row_label(case.parameters)}: {core.violation}")
    must_be_as_read_at_its_end(case)


def executor_for(workers: int | None, ray: str | None, audit: bool) -> Executor:
    """The place to run: this machine, or a Ray cluster where an address is given ("local" starts Ray here)."""
    if ray is None:
        return LocalExecutor(workers, audit)
    from packetloom.campaign.ray_executor import RayExecutor

    return RayExecutor(ray, workers, audit)
