"""Cases on a Ray cluster: a task each, streamed back as they finish; those of a lost worker are run again."""

from __future__ import annotations

import logging
import socket
import time
from dataclasses import dataclass
from typing import Any

from packetloom import _core
from packetloom.campaign.executor import (
    Finished,
    Running,
    is_audit_asked,
    refuse_what_counts_for_nothing,
    simulation_of,
)
from packetloom.common.arguments import AUTO, LOCAL
from packetloom.common.build import build_text, this_build
from packetloom.errors import InvariantError, PacketloomError
from packetloom.schemes import kept
from packetloom.schemes.kept import Sources
from packetloom.store.outcome import Outcome

DEFAULT_PORT = 6379
ANSWER_WITHIN_S = 5.0
# RFC 9113, section 3.4: each side of HTTP/2, which Ray speaks, begins with SETTINGS, the client with more.
HTTP2_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HTTP2_SETTINGS
SETTINGS_TYPE = slice(3, 4)
RETRIES = 20
"""How often a case is begun anew after its worker was lost: more often than machines die, and yet not forever."""


def simulate(case_json: str, case_id: str, audit: bool, build: str, sources: Sources) -> Outcome:
    """Runs a case on a worker of the cluster; only the build that sends it may. `sources` has its Python classes."""
    here = this_build()
    kept.provide(sources)
    case = _core.Case.from_json(case_json)
    if here.digest != build or case.id != case_id:
        raise PacketloomError(
            f"{socket.gethostname()} has {build_text(here.version, here.digest)}, and the machine that sends the cases "
            f"has build {build}: install the same build on every node"
        )
    core = simulation_of(case).run(threads=1, audit=audit)
    refuse_what_counts_for_nothing(case, core)
    return Outcome.of(core)


@dataclass(frozen=True, slots=True)
class _Task:
    case: _core.Case
    submitted: float


class RayExecutor:
    """Runs cases on a Ray cluster: at an address, or on one that is started on this machine."""

    def __init__(self, address: str, workers: int | None, audit: bool) -> None:
        self._ray = _import_ray()
        self._limit = workers
        self._audit = audit or is_audit_asked()
        self._build = this_build().digest
        self._tasks: dict[Any, _Task] = {}
        _connect(self._ray, address, workers)
        self._remote = self._ray.remote(num_cpus=1, max_retries=RETRIES)(simulate)

    @property
    def workers(self) -> int:
        """The cluster's processors now: nodes may come and go."""
        processors = int(self._ray.cluster_resources().get("CPU", 0))
        return max(1, min(processors, self._limit or processors))

    @property
    def in_hand(self) -> int:
        return len(self._tasks)

    def submit(self, case: _core.Case, threads: int) -> None:
        self._tasks[self._remote.remote(case.json, case.id, self._audit, self._build, kept.sources(case))] = _Task(
            case, time.monotonic()
        )

    def collect(self, timeout_s: float) -> list[Finished]:
        if not self._tasks:
            return []
        done, _ = self._ray.wait([*self._tasks], timeout=timeout_s, fetch_local=True)
        more, _ = self._ray.wait([*self._tasks], num_returns=len(self._tasks), timeout=0, fetch_local=True)
        return [(self._tasks.pop(reference).case, self._get(reference)) for reference in dict.fromkeys([*done, *more])]

    def running(self) -> list[Running]:
        """The oldest, as many as there are processors: how far they are can't be seen from here."""
        now = time.monotonic()
        oldest = list(self._tasks.values())[: self.workers]
        return [Running(task.case, now - task.submitted, 0.0, 0, 0.0) for task in oldest]

    def cancel(self) -> list[Finished]:
        for reference in self._tasks:
            self._ray.cancel(reference, force=True)
        self._tasks.clear()
        return []

    def close(self) -> None:
        self._ray.shutdown()

    def _get(self, reference: Any) -> Outcome:
        try:
            outcome = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, InvariantError):
                raise error.cause from None
            raise PacketloomError(f"a case failed on the cluster: {error.cause or error}") from None
        except self._ray.exceptions.RayError as error:
            raise PacketloomError(f"the cluster lost a case {RETRIES} times: {error}") from None
        assert isinstance(outcome, Outcome)
        return outcome


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise PacketloomError("--ray needs Ray, which is not installed: pip install 'ray>=2.40'") from None
    return ray


def _connect(ray: Any, address: str, workers: int | None) -> None:
    options: dict[str, Any] = {"include_dashboard": False, "logging_level": logging.ERROR, "log_to_driver": False}
    if address == LOCAL:
        options |= {"address": LOCAL, "num_cpus": workers}
    else:
        if address != AUTO:
            _must_answer(address)
        options["address"] = address
        del options["include_dashboard"]
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        raise PacketloomError(f"--ray {address}: cannot join that cluster: {error}") from None


def _must_answer(address: str) -> None:
    """Ray itself waits for minutes where nothing answers, or another server does."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise PacketloomError(f"--ray {address}: write the address as HOST:PORT, for example 10.0.0.1:{DEFAULT_PORT}")
    advice = "is its head node started (ray start --head), and is the address right? Nothing was run"
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_WITHIN_S) as connection:
            connection.sendall(HTTP2_GREETING)
            answer = connection.recv(len(HTTP2_SETTINGS))
    except (OSError, OverflowError) as error:
        raise PacketloomError(f"--ray {address}: no Ray cluster answers there ({error}); {advice}") from None
    if answer[SETTINGS_TYPE] != HTTP2_SETTINGS[SETTINGS_TYPE]:
        raise PacketloomError(f"--ray {address}: what answers there is not a Ray cluster; {advice}")
