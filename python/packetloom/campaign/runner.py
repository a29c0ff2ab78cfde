"""Campaigns: a scenario's cases, run wherever a worker is free, each kept as soon as it is finished."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from packetloom.campaign.cache import ResultCache, open_cache
from packetloom.campaign.executor import Executor, Finished, executor_for
from packetloom.campaign.forecast import forecast, told
from packetloom.campaign.interim_table import Repetitions, Standings, repetitions_in
from packetloom.campaign.progress import Reporter, RunningCase, SilentReporter, Snapshot, case_label, opening
from packetloom.campaign.schedule import Schedule, Shard
from packetloom.campaign.steady_cases import steadiness_of
from packetloom.campaign.time_left import RateMeter, RemainingTime
from packetloom.common.build import builds_text, other_builds_text
from packetloom.common.files import DamageError, explain_os_error
from packetloom.errors import Interrupted, PacketloomError
from packetloom.scenario.plan import Plan
from packetloom.scenario.run_lengths import said_of_more
from packetloom.start import end_command
from packetloom.store.case_rows import CaseRow, builds_of
from packetloom.store.results import Results
from packetloom.store.writer import ResultsFolder

POLL_S = 0.2
REPORT_PERIOD_S = 0.2


def run_plan(
    plan: Plan,
    output: Path,
    workers: int | None,
    reporter: Reporter,
    *,
    shard: Shard | None = None,
    cache: bool = True,
    ray: str | None = None,
    audit: bool = False,
    keep_older: bool = False,
    verify: bool = True,
) -> Results:
    """Runs what is not finished yet, and, unless `keep_older`, what another build has finished.

    With `verify`, what is finished is read and held against what was written first; a damaged case is run again.
    Raises `Interrupted` after Ctrl-C, and `InvariantError` where an audit asks for it, with everything finished kept.
    What the cache has was not audited, so an audit does not take it.
    """
    executor = executor_for(workers, ray, audit)
    try:
        with ResultsFolder(output, plan, keep_older=keep_older, verify=verify) as folder:
            campaign = _Campaign(plan, folder, executor, reporter, shard, open_cache() if cache and not audit else None)
            campaign.run()
    finally:
        executor.close()
    return Results(output)


class _Campaign:
    def __init__(
        self,
        plan: Plan,
        folder: ResultsFolder,
        executor: Executor,
        reporter: Reporter,
        shard: Shard | None,
        cache: ResultCache | None,
    ) -> None:
        self.plan = plan
        self.folder = folder
        self.executor = executor
        self.reporter = reporter
        self.cache = cache
        self.stop = threading.Event()
        self.schedule = Schedule(plan, shard, folder.rows, steadiness_of(folder.files))
        self.standings = Standings(plan.cases)
        self.remaining = RemainingTime()
        self.hop_rate, self.case_rate = RateMeter(), RateMeter()
        self.finished_hops = 0
        self.report_at = 0.0
        self.cached_ids = cache.ids() if cache else set()
        for row in folder.rows.values():
            if self.schedule.counts(row):
                self._note(row)
        self.schedule.restarted.clear()

    def run(self) -> None:
        known = self.cached_ids.intersection(case.id for case in self.schedule.waiting_cases())
        text = opening(self.schedule.total, self.schedule.finished, len(known), self._cost(known), self.folder.path)
        self.reporter.start(f"{self._of_other_builds()}{text}", self.schedule.total)
        with _stop_on_signals(self.stop):
            try:
                self._run_all()
            finally:
                with suppress(OSError):  # after one, which is on its way to the user, nothing more can be kept
                    self._keep(self.executor.cancel())
                    self._settle(at_once=True)
                self.reporter.close(
                    [] if self.stop.is_set() else [*self.schedule.lengths(), *self.schedule.imprecise()]
                )
        if self.stop.is_set():
            raise Interrupted(self._kept())

    def _cost(self, known: Collection[str]) -> Sequence[str]:
        """What is left to compute will cost, where somebody reads it."""
        cases = [case for case in self.schedule.waiting_cases() if case.id not in known]
        if not cases or isinstance(self.reporter, SilentReporter):
            return ()
        return [*told(forecast(cases, self.executor.workers), self.plan), *said_of_more(self.plan)]

    def _of_other_builds(self) -> str:
        """Which finished cases another build computed, and what happens to them."""
        if self.folder.older:
            builds = builds_text(builds_of(self.folder.older.values()))
            count = len(self.folder.older)
            return f"{count} finished cases are computed again: they are by {builds} (--keep-older keeps them)\n"
        kept = other_builds_text(builds_of(self.folder.rows.values()))
        return kept and f"{kept} (kept)\n"

    def _run_all(self) -> None:
        try:
            self._run_waiting()
            self.folder.remove(self.schedule.superseded())
            self.schedule.ask_again(self.folder.older)
            self._run_waiting()
            self._keep(self.executor.cancel())
            self._settle(at_once=True)
            self.folder.write_index()
            if self.cache:
                self.cache.keep_small()
        except OSError as error:
            with suppress(OSError):
                self._settle(at_once=True)
            problem = explain_os_error(error, f"{self.folder.path}: cannot write a result")
            raise PacketloomError(f"{problem}. {self._kept()}; then run the same command to resume") from None

    def _run_waiting(self) -> None:
        while (self.schedule.waiting or self._unsettled) and not self.stop.is_set():
            self._fill()
            self._keep(self.executor.collect(POLL_S))
            self._settle(at_once=not self.executor.in_hand)
            self.folder.write_index(at_once=False)
            self._report()

    @property
    def _unsettled(self) -> bool:
        return self.executor.in_hand > 0 or self.folder.has_unsettled

    def _fill(self) -> None:
        """Keeps every worker busy, with a case more for each in line; takes from the cache what is there."""
        while self.schedule.waiting and self.executor.in_hand < 2 * self.executor.workers and not self.stop.is_set():
            case = self.schedule.take()
            outcome = self.cache.get(case.id) if self.cache and case.id in self.cached_ids else None
            if outcome is None:
                # Fewer cases than workers: those that are left share out a simulation's nodes.
                cases = self.schedule.waiting + 1 + self.executor.in_hand
                self.executor.submit(case, threads=max(1, self.executor.workers // cases))
                continue
            self.folder.add(case, outcome)
            self._settle(at_once=False)
            self._report()

    def _keep(self, finished: list[Finished]) -> None:
        for case, outcome in finished:
            self.folder.add(case, outcome)
            self.finished_hops += int(outcome.counters.get("packet_hops", 0))

    def _settle(self, *, at_once: bool) -> None:
        for row in self.folder.settle(at_once=at_once):
            self._note(row)
            self.schedule.finish(row)
            self.reporter.finished(row)
            if self.cache:
                self.cache.put(row, self.folder.files)
        self.standings.restart(self.schedule.restarted)
        self.schedule.restarted.clear()

    def _note(self, row: CaseRow) -> None:
        self.standings.add(row, self._jobs(row))
        self.remaining.finished(row.scheme, float(row.counters.get("wall_s", 0.0)))

    def _jobs(self, row: CaseRow) -> Mapping[int, Repetitions]:
        """The repetitions of a finished case's jobs, where somebody sees them."""
        if "iterations" not in row.tables or isinstance(self.reporter, SilentReporter):
            return {}
        with suppress(DamageError):  # of an older case, which whoever reads it names
            return repetitions_in(self.folder.files.table("iterations", row.case_id))
        return {}

    def _report(self) -> None:
        if time.monotonic() >= self.report_at:
            self.reporter.update(self._snapshot())
            self.report_at = time.monotonic() + REPORT_PERIOD_S

    def _snapshot(self) -> Snapshot:
        running = self.executor.running()
        hops = self.finished_hops + sum(one.packet_hops for one in running)
        return Snapshot(
            total=self.schedule.total,
            finished=self.schedule.finished,
            running=[RunningCase(case_label(one.case), one.fraction, one.simulated_ns) for one in running],
            hops_per_s=self.hop_rate.add(hops),
            cases_per_s=self.case_rate.add(self.schedule.finished),
            remaining_s=self.remaining.estimate_s(
                running=[(one.case.parameters["scheme"], one.elapsed_s, one.fraction) for one in running],
                waiting=self.schedule.waiting_of,
                workers=self.executor.workers,
            ),
            standings=self.standings,
            seeds_asked=self.schedule.seeds_asked,
        )

    def _kept(self) -> str:
        return f"{self.schedule.finished} of {self.schedule.total} cases are finished and kept"


@contextmanager
def _stop_on_signals(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C or a polite kill ask to stop, so that neither can fall into the writing of a file.

    A second one ends the command, as a kill would: a method of a user's class may never return.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(_signal: int, _frame: object) -> None:
        if stop.is_set():
            end_command()
        stop.set()

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
