"""Campaigns: a scenario's cases, run in parallel, each kept as soon as it is finished."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from packetloom import _core
from packetloom.errors import Interrupted, PacketloomError
from packetloom.folder import ResultsFolder
from packetloom.progress import Reporter, Snapshot, case_label, estimate_remaining_s
from packetloom.results import Results
from packetloom.scenario import Plan
from packetloom.storage import explain_os_error

POLL_S = 0.2


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))


def run_plan(plan: Plan, output: Path, workers: int | None, reporter: Reporter) -> Results:
    """Runs what is not finished yet. Raises `Interrupted` after Ctrl-C, with everything finished kept."""
    if workers is not None and workers < 1:
        raise PacketloomError(f"workers is {workers}: give at least 1, or leave it out to use every core")
    with ResultsFolder(output, plan) as folder:
        _Campaign(plan, folder, workers or usable_cores(), reporter).run()
    return Results(output)


@dataclass(slots=True)
class _Running:
    case: _core.Case
    started: float
    simulation: _core.Simulation | None = None

    def fraction_and_hops(self) -> tuple[float, int]:
        return self.simulation.progress() if self.simulation else (0.0, 0)


@dataclass
class _Campaign:
    plan: Plan
    folder: ResultsFolder
    workers: int
    reporter: Reporter
    stop: threading.Event = field(default_factory=threading.Event)
    waiting: deque[_core.Case] = field(default_factory=deque)
    finished_hops: int = 0
    running: dict[Future[_core.Outcome], _Running] = field(default_factory=dict)

    def run(self) -> None:
        self.waiting = deque(case for case in self.plan.cases if case.id not in self.folder.rows)
        resumed = len(self.plan.cases) - len(self.waiting)
        self.reporter.start(len(self.plan.cases), resumed, self.folder.path)
        with _stop_on_signals(self.stop), ThreadPoolExecutor(self.workers) as pool:
            try:
                self._run_all(pool)
            finally:
                with suppress(OSError):  # after one, which is on its way to the user, nothing more can be kept
                    self._cancel_running()
                self.reporter.close()
        if self.stop.is_set():
            raise Interrupted(f"{len(self.folder.rows)} of {len(self.plan.cases)} cases are finished and kept")

    def _run_all(self, pool: ThreadPoolExecutor) -> None:
        try:
            while (self.waiting or self.running) and not self.stop.is_set():
                while self.waiting and len(self.running) < self.workers:
                    self._submit(self.waiting.popleft(), pool)
                done, _ = wait(self.running, timeout=POLL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    self._keep(self.running.pop(future), future.result())
                self.folder.write_index(at_once=False)
                self.reporter.update(self._snapshot())
            self._cancel_running()
            self.folder.write_index()
        except OSError as error:
            kept = f"{len(self.folder.rows)} of {len(self.plan.cases)} cases are finished and kept"
            problem = explain_os_error(error, f"{self.folder.path}: cannot write a result")
            raise PacketloomError(f"{problem}. {kept}; then run the same command again to go on") from None

    def _submit(self, case: _core.Case, pool: ThreadPoolExecutor) -> None:
        entry = _Running(case, time.monotonic())

        def simulate() -> _core.Outcome:
            entry.simulation = _core.Simulation(case)
            if self.stop.is_set():
                entry.simulation.cancel()
            return entry.simulation.run()

        self.running[pool.submit(simulate)] = entry

    def _keep(self, entry: _Running, outcome: _core.Outcome) -> None:
        if outcome.cancelled:
            return
        row = self.folder.commit(entry.case, outcome)
        self.finished_hops += int(row.counters.get("packet_hops", 0))
        self.reporter.finished(case_label(entry.case), row, outcome)

    def _cancel_running(self) -> None:
        """Stops what runs, and keeps what finished in the meantime."""
        for entry in self.running.values():
            if entry.simulation:
                entry.simulation.cancel()
        ended, _ = wait(self.running)
        for future in ended:
            entry = self.running.pop(future)
            if future.exception() is None:
                self._keep(entry, future.result())

    def _snapshot(self) -> Snapshot:
        running = [(entry, *entry.fraction_and_hops()) for entry in self.running.values()]
        now = time.monotonic()
        return Snapshot(
            total=len(self.plan.cases),
            finished=len(self.folder.rows),
            running=[(case_label(entry.case), fraction) for entry, fraction, _ in running],
            packet_hops=self.finished_hops + sum(hops for _, _, hops in running),
            remaining_s=estimate_remaining_s(
                finished=[(row.parameters, row.counters) for row in self.folder.rows.values()],
                running=[(entry.case.parameters, now - entry.started, fraction) for entry, fraction, _ in running],
                waiting=[case.parameters for case in self.waiting],
                workers=self.workers,
            ),
        )


@contextmanager
def _stop_on_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C or a polite kill ask to stop, so that neither can fall into the writing of a file."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(_signal: int, _frame: object) -> None:
        stop.set()

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
