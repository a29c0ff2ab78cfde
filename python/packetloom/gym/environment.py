"""The environment: an episode is a run of a network, a step of it is an interval of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from packetloom.common import arguments
from packetloom.common.suggest import meant
from packetloom.errors import ArgumentError
from packetloom.gym.rewards import REWARDS, Reward
from packetloom.gym.traffic import Traffic
from packetloom.network.network import EventKind, Events, Network
from packetloom.scenario.overrides import setting_value
from packetloom.tuning.ranges import Range, parse

Scenario = str | Path | Mapping[str, Any]
Vector = NDArray[np.float32]
MOST_STEPS = 10**9
MOST_SEED = 2**53


@dataclass(frozen=True, slots=True)
class Observation:
    """What an interval was like: of the environment's hosts as senders, and of its switches' ports."""

    throughput_gbps: float
    """What these senders got to know as arrived, over the interval."""
    rtt_us: float
    """The mean over their open messages of the last round-trip time; 0 where none is known."""
    rate_gbps: float
    """The mean over them of the sending rate; 0 of a scheme without one."""
    window_kb: float
    """The mean over them of the congestion window; 0 of a scheme without one."""
    drops: float
    """Packets dropped at the switches' ports in the interval."""
    marks: float
    """Packets marked there in the interval."""
    queue_kb: float
    """The longest queue of these ports at the interval's end."""
    open_messages: float
    """Messages of these senders that have started and are not over."""
    fct_us: float
    """The mean time that those took which were received in the interval; 0 if none was."""


OBSERVED = tuple(field.name for field in fields(Observation))
"""The names of an observation's entries, in their order."""


class NetworkEnv(gymnasium.Env):  # type: ignore[misc]
    """A network whose transports' or switches' parameters an agent sets once in an interval (docs/gym.md).

    An action is a `float32` array with an entry for each key of `vary`, from -1 (the range's lower end) to 1 (its upper
    end), on a logarithmic scale where the range says `:log`. An observation is a `float32` array with the entries of
    `OBSERVED`. An episode ends (`terminated`) when all of its messages are over; it is cut (`truncated`) after `steps`.

    `scenario` is what `packetloom.Network` takes: without traffic, of one scheme. `traffic` draws an episode's messages
    (`poisson`, `incast`, or a function of your own). `vary` has keys such as `transport.gain` with ranges as
    `packetloom tune` takes them. `interval_ns` is the time of a step. `hosts` are the senders that are set and
    seen, `switches` those whose thresholds are; all, if not given. `reward` is a name of `REWARDS`, or a function of an
    `Observation`. `reset(seed=...)` gives the same episode for the same seed and actions, bit for bit.
    `ArgumentError` for a key, range or reward that there is not.

    Example:
        env = NetworkEnv(
            FABRIC, incast(8, 500_000, 1e6, 5), {"queue.mark_above": "5KB..200KB:log"}, interval_ns=50e3, reward="fct"
        )
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 as Gymnasium has it

    def __init__(
        self,
        scenario: Scenario,
        traffic: Traffic,
        vary: Mapping[str, str],
        *,
        interval_ns: float,
        steps: int = 1000,
        hosts: Sequence[int] | None = None,
        switches: Sequence[int] | None = None,
        reward: str | Reward = "throughput",
    ) -> None:
        self._scenario, self._traffic = scenario, traffic
        self._ranges = _ranges(vary)
        if not (isinstance(interval_ns, int | float) and 1 <= interval_ns < math.inf):
            raise arguments.wrong("interval_ns", interval_ns, "a number of nanoseconds, at least 1")
        self._interval_ns, self._steps = float(interval_ns), arguments.whole("steps", steps, 1, MOST_STEPS)
        self._reward = _reward(reward)
        with Network(scenario) as network:
            self._hosts = list(range(network.hosts)) if hosts is None else [int(host) for host in hosts]
            self._switches = list(network.switches) if switches is None else [int(one) for one in switches]
            # What can't be set is an error here, and not in some episode.
            for end in (-1.0, 1.0):
                self._set(network, [end] * len(self._ranges))
        count = len(self._ranges)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (count,), np.float32)
        self.observation_space = gymnasium.spaces.Box(0.0, np.inf, (len(OBSERVED),), np.float32)
        self._episode: _Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Begins an episode: its traffic and the network's own random numbers are drawn."""
        super().reset(seed=seed)
        self.close()
        network = Network(self._scenario, seed=int(self.np_random.integers(MOST_SEED)))
        self._episode = _Episode(network, self._traffic, self.np_random, self._hosts, self._switches)
        return _vector(self._episode.idle()), {}

    def step(self, action: NDArray[Any]) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Sets the parameters, and goes on for an interval. `info` has the `Observation`, and what was set."""
        if self._episode is None:
            raise ArgumentError("no episode has begun; call reset() first")
        written = self._set(self._episode.network, np.asarray(action, dtype=np.float64).reshape(-1))
        seen = self._episode.go_on(self._interval_ns)
        is_cut = self._episode.steps >= self._steps
        info = {"observation": seen, "parameters": written, "now_ns": self._episode.network.now_ns}
        return _vector(seen), float(self._reward(seen)), self._episode.is_over, is_cut, info

    def close(self) -> None:
        """Ends the episode, if there is one."""
        if self._episode is not None:
            self._episode.network.close()
            self._episode = None

    def _set(self, network: Network, action: Sequence[float] | NDArray[np.float64]) -> dict[str, str | float]:
        if len(action) != len(self._ranges):
            raise ArgumentError(f"an action has {len(action)} entries; give {len(self._ranges)}, one for each key")
        written = {one.key: _at(one, float(place)) for one, place in zip(self._ranges, action, strict=True)}
        network.set(written, hosts=self._hosts, switches=self._switches)
        return written


class _Episode:
    """A run on its way."""

    def __init__(
        self, network: Network, traffic: Traffic, random: np.random.Generator, hosts: list[int], switches: list[int]
    ) -> None:
        self.network = network
        self.steps = 0
        self.is_over = False
        flows = traffic(random, network.hosts)
        order = np.argsort(flows.start_ns, kind="stable")
        src, dst, size_bytes, start_ns = (
            np.asarray(one)[order] for one in (flows.src, flows.dst, flows.size_bytes, flows.start_ns)
        )
        network.send_many(src, dst, size_bytes, delay_ns=start_ns)
        self._size_bytes, self._start_ns = size_bytes, start_ns
        self._is_seen = np.isin(src, hosts)
        self._ports = np.isin(network.switch_ports().switch, switches)
        self._started = 0
        self._open: dict[int, None] = {}
        self._done_bytes = 0
        self._arrived_bytes = 0
        self._marks = self._drops = 0

    def idle(self) -> Observation:
        """Before anything has happened."""
        return Observation(*[0.0] * len(OBSERVED))

    def go_on(self, interval_ns: float) -> Observation:
        """Goes on for an interval, or to the end."""
        self.steps += 1
        until_ns = self.steps * interval_ns
        events: list[Events] = []
        while True:
            events.append(self.network.run(until_ns))
            if events[-1].stopped != "events":
                break
        # Messages that never end leave nothing to be learnt, either.
        self.is_over = events[-1].stopped in ("end", "stalled")
        took_ns = self._note(events)
        return self._observe(interval_ns, took_ns)

    def _note(self, events: Sequence[Events]) -> list[float]:
        """Which messages are under way, and how long those took that were received."""
        now_ns = self.network.now_ns
        while self._started < len(self._start_ns) and self._start_ns[self._started] <= now_ns:
            if self._is_seen[self._started]:
                self._open[self._started] = None
            self._started += 1
        took_ns = []
        for one in events:
            for kind, message, time_ns in zip(one.kind.tolist(), one.id.tolist(), one.time_ns.tolist(), strict=True):
                if not self._is_seen[message]:
                    continue
                if kind == EventKind.RECEIVED:
                    took_ns.append(time_ns - float(self._start_ns[message]))
                elif self._open.pop(message, 0) is None:
                    self._done_bytes += int(self._size_bytes[message])
        return took_ns

    def _observe(self, interval_ns: float, took_ns: Sequence[float]) -> Observation:
        progress = [found for one in self._open if (found := self.network.progress(one)) is not None]
        arrived_bytes = self._done_bytes + sum(one.arrived_bytes for one in progress)
        throughput_gbps = max(0, arrived_bytes - self._arrived_bytes) * 8 / interval_ns
        self._arrived_bytes = arrived_bytes
        ports = self.network.switch_ports()
        marks, drops = int(ports.marks[self._ports].sum()), int(ports.drops[self._ports].sum())
        seen = Observation(
            throughput_gbps=throughput_gbps,
            rtt_us=_mean([one.rtt_ns / 1e3 for one in progress]),
            rate_gbps=_mean([one.rate_bps / 1e9 for one in progress]),
            window_kb=_mean([one.window_bytes / 1e3 for one in progress]),
            drops=drops - self._drops,
            marks=marks - self._marks,
            queue_kb=int(ports.queued_bytes[self._ports].max(initial=0)) / 1e3,
            open_messages=len(self._open),
            fct_us=_mean(took_ns) / 1e3,
        )
        self._marks, self._drops = marks, drops
        return seen


def vector(scenarios: Sequence[Scenario], *arguments_of_each: Any, **named: Any) -> gymnasium.vector.AsyncVectorEnv:
    """An environment for each scenario, in a process each; what else `NetworkEnv` takes is the same for all."""
    if isinstance(scenarios, str | Path | Mapping) or not len(scenarios):
        raise arguments.wrong("scenarios", scenarios, "a list of scenarios; the same several times, if need be")
    made = [partial(NetworkEnv, scenario, *arguments_of_each, **named) for scenario in scenarios]
    # Processes of their own: what a thread holds as its process forks would stay held.
    return gymnasium.vector.AsyncVectorEnv(made, context="spawn")


def _ranges(vary: Mapping[str, str]) -> list[Range]:
    if not isinstance(vary, Mapping) or not vary:
        raise arguments.wrong("vary", vary, 'a dict such as {"transport.gain": "0.001..0.5:log"}')
    found = [parse(f"{key}={text}") for key, text in vary.items()]
    wrong = next((one for one in found if not isinstance(one, Range)), None)
    if wrong is not None:
        raise ArgumentError(f"vary: {wrong.text} has choices; give a range of numbers")
    return [one for one in found if isinstance(one, Range)]


def _reward(reward: str | Reward) -> Reward:
    if not isinstance(reward, str):
        if not callable(reward):
            raise arguments.wrong("reward", reward, f"one of {', '.join(REWARDS)}, or a function of an Observation")
        return reward
    if reward not in REWARDS:
        raise ArgumentError(f"there is no reward {reward!r}; {meant(reward, REWARDS)}")
    return REWARDS[reward]


def _at(one: Range, place: float) -> str | float:
    """The value at a place from -1 to 1 of a range; what is outside is taken as the nearer end."""
    share = (min(1.0, max(-1.0, place)) + 1) / 2
    value = one.low * (one.high / one.low) ** share if one.is_log else one.low + (one.high - one.low) * share
    found = setting_value(one.value_text(value), one.text)
    assert isinstance(found, str | int | float)
    return found


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else 0.0


def _vector(seen: Observation) -> Vector:
    return np.array(astuple(seen), dtype=np.float32)
