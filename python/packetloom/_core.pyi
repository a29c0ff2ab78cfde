"""The simulator, as compiled from Rust."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from packetloom.errors import ScenarioError as ScenarioError

Parameter = str | int | float | bool | None

SLOWEST_FIT: float
"""So often the slowest flow in a hundred has to fit into the time for which flows arrive."""

class Scenario:
    @staticmethod
    def read(text: str, origin: str, format: Literal["toml", "json"]) -> Scenario: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def precision(self) -> tuple[str, float, int, int] | None:
        """Statistic, fraction of its mean, how many seeds to start with, and how often runs may be doubled; None if all
        cases are to run."""
    @property
    def alike(self) -> float:
        """Below which fraction a difference between schemes is called none."""
    def cases(self) -> list[Case]: ...

class Case:
    @staticmethod
    def from_json(text: str) -> Case: ...
    @property
    def id(self) -> str:
        """32 hex digits: the identity of all that can change the case's result."""
    @property
    def json(self) -> str:
        """Self-contained: `Case.from_json` gives the case back."""
    @property
    def parameters(self) -> dict[str, Parameter]:
        """`scheme`, `load`, `seed`, and the grid's axes by their dotted names."""
    def longer(self, times: int) -> Case | None:
        """The case with flows starting for so many times as long; None where that is no longer, or another thing."""
    def is_overloaded(self) -> bool:
        """Whether links are offered what they carry, or more: then no run is steady, however long."""

    @property
    def facts(self) -> tuple[list[str], list[str], list[str]]:
        """What the network comes to; what the case's traffic does, a line for each source; and what is not in the
        scenario but follows for the case's scheme: marking thresholds of other rates."""

    @property
    def round_trips(self) -> tuple[list[tuple[int, float, float]], int] | None:
        """On an empty network: of a header alone and of a full packet the bytes, the shortest and the longest time to
        its answer in ns; and the answer's bytes. None where no packet is answered, or hosts are too many."""

    def flow_cost(self) -> tuple[float, float, float, int] | None:
        """Flows, processor seconds, bytes of memory and operations of a case whose jobs have no packets; None of any
        other."""

    def demand(self) -> tuple[float, float] | None:
        """Flows, and data packets times links, of what the case has the network carry; None where that depends on how
        long flows take."""

    def flows_to_be_steady(self) -> tuple[float, float, float] | None:
        """How many flows it takes to be steady, at least and with room for slow schemes, and the seconds that their
        slowest flows may take; None where no number does, or where no flow arrives by the clock."""

    def path_across(self) -> tuple[float, int, int] | None:
        """From one half of the network to the other: the round-trip time in nanoseconds, the bytes that a path holds in
        it, and those of a full packet; of a scheme with packets."""

    @property
    def slow_alone(self) -> str | None:
        """That a flow is slow that has the network for itself, if one is; found by a run of some milliseconds."""

    @property
    def doubts(self) -> list[str]:
        """What was probably not meant, as only network and traffic show together: lines that begin with keys."""

def unequal(cases: list[Case]) -> list[tuple[str, list[tuple[str, str]], list[str], bool]]:
    """In what the schemes of these cases differ beside themselves: what it is, each scheme with what it has, the
    settings that make all alike, and whether it belongs to none of them."""

class Simulation:
    def __init__(self, case: Case) -> None: ...
    def run(self, threads: int, audit: bool = False) -> Outcome:
        """Simulates, without holding the interpreter's lock; returns early when cancelled, or when an audit
        finds an invariant violated."""
    def progress(self) -> tuple[float, int, float]:
        """The fraction done, 0 to 1, the packet-hops so far, and the simulated nanoseconds; callable from another
        thread."""
    def cancel(self) -> None: ...

class Trial:
    def __init__(self, case: Case, patience_s: float | None = None) -> None:
        """Runs the beginning of a case, to see what the cases of its scheme cost; `TimeoutError` after so long."""
    def cost_of(self, case: Case) -> Cost | None:
        """What a case of this scheme costs; None where that can't be known."""

class Cost:
    """What a case will cost."""

    flows: float
    packet_hops: float
    cpu_s: float
    simulated_s: float
    operations: int
    """Of all ranks of jobs, in all repetitions."""
    ports: int

class Network:
    """A network that a program drives. Times are whole picoseconds."""

    def __init__(
        self, text: str, origin: str, format: Literal["toml", "json"], audit: bool, threads: int, /
    ) -> None: ...
    @property
    def hosts(self) -> int: ...
    @property
    def now_ps(self) -> int: ...
    @property
    def open_messages(self) -> int:
        """How many messages are not over."""
    @property
    def case_json(self) -> str: ...
    def send(
        self,
        src: NDArray[np.uint32],
        dst: NDArray[np.uint32],
        bytes: NDArray[np.uint64],
        tag: NDArray[np.uint64],
        channel: NDArray[np.uint32],
        class_: NDArray[np.uint8],
        delay_ps: NDArray[np.uint64],
        user: NDArray[np.uint64],
        /,
    ) -> int:
        """Sends all messages, or none; the number of the first."""
    def timers(self, at_ps: NDArray[np.uint64], user: NDArray[np.uint64], /) -> int:
        """Sets all timers, or none; the number of the first."""
    def next(
        self, until_ps: int, most: int, /
    ) -> tuple[dict[str, NDArray[Any]], Literal["events", "reached", "end", "stalled"], str]:
        """Up to so many events, as columns; why there are no more; and of a run that is stalled what waits."""
    def progress(self, message: int, /) -> tuple[int, int, float, float, float, int] | None:
        """Of a message that is being sent: bytes arrived, bytes in flight, window in bytes, rate in b/s, round-trip
        time in ns, and packets sent again; not a number where the scheme has no such thing."""
    @property
    def settable(self) -> list[list[str]]:
        """The transport's parameters that may be set, the queue's, and the routing's."""
    @property
    def switches(self) -> tuple[int, int]:
        """The number of the first switch, and the one after the last."""
    def set(
        self,
        hosts: list[int],
        transport: list[tuple[str, str]],
        switches: list[int],
        queue: list[tuple[str, str]],
        routing: list[tuple[str, str]],
        /,
    ) -> None:
        """Sets parameters of the transport at hosts, of the queue at switches, and of the routing at those of both that
        go by it: all, or none."""
    def switch_ports(self) -> tuple[int, dict[str, NDArray[Any]]]:
        """When the last window ended, and what the ports of switches were like then, as columns."""
    def link_name(self, link: int, /) -> str: ...
    def finish(self) -> tuple[Outcome, dict[str, NDArray[Any]]]:
        """Ends the run; the outcome, and `tag`, `channel` and `user` of all messages."""
    def close(self) -> None: ...

class Outcome:
    @property
    def cancelled(self) -> bool: ...
    @property
    def violation(self) -> str | None:
        """The invariant that was violated, if one was."""
    @property
    def fingerprint(self) -> str: ...
    @property
    def counters(self) -> dict[str, int | float]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def flows(self) -> dict[str, NDArray[Any]]: ...
    @property
    def ports(self) -> dict[str, NDArray[Any] | list[str]]: ...
    @property
    def series(self) -> dict[str, NDArray[Any] | list[str]]: ...
    @property
    def flow_series(self) -> dict[str, NDArray[Any]]: ...
    @property
    def pulls(self) -> dict[str, NDArray[Any]]: ...
    @property
    def pauses(self) -> dict[str, NDArray[Any]]: ...
    @property
    def jobs(self) -> dict[str, NDArray[Any] | list[str]]: ...
    @property
    def iterations(self) -> dict[str, NDArray[Any]]: ...
    @property
    def requests(self) -> dict[str, NDArray[Any]]: ...
    @property
    def ranks(self) -> dict[str, NDArray[Any]]: ...
    @property
    def critical_path(self) -> dict[str, NDArray[Any] | list[str]]: ...
    @property
    def operations(self) -> dict[str, NDArray[Any] | list[str]]: ...
    @property
    def timelines(self) -> dict[str, NDArray[Any] | list[bytes]]: ...
    @property
    def traces(self) -> dict[str, NDArray[Any] | list[bytes]]: ...
    @property
    def captures(self) -> dict[str, list[bytes]]: ...
    @property
    def classes(self) -> dict[str, NDArray[Any]]: ...

def registry() -> str:
    """JSON: every component with its parameters, defaults, explanations and sources."""

def schema() -> str:
    """The JSON Schema of the scenario format."""

def column_meanings() -> dict[str, str]:
    """What each column of the results holds, with its unit."""

def fingerprint_of(flows: dict[str, NDArray[Any]]) -> str:
    """The fingerprint of the flow records in these columns of a `flows` table."""

def explain(name: str) -> str:
    """JSON: the components of this name; `ScenarioError` with the nearest if there is none."""

def distributions() -> list[str]:
    """The names of the flow-size distributions that packetloom carries."""

def explain_class(file: str, class_name: str, /) -> str:
    """JSON: a class of a Python file, as a transport."""

def file_hash(content: bytes) -> str:
    """The hash of a file's content, as cases have it: 32 hex digits."""

def listed_ports(text: str) -> list[tuple[int, int]]:
    """The size and the destination port of each flow of a `flow.txt` of HPCC's simulator, in order; none of one without
    ports."""

def scheme_symbols() -> dict[str, int]:
    """The addresses of what the compiled methods of `packetloom.schemes` may call, by name."""

_Fields = list[tuple[str, bool]]

def scheme_layouts() -> dict[tuple[str, str], tuple[_Fields, _Fields]]:
    """The fields of the event and of the tools of each hook, in the order in which they lie in memory, each with
    whether it is floating point; by the first base class that has the hook and its name."""

class SchemeBench:
    """A flow under the transport of a case, which is of kind "python"; `PacketloomError` with what a method did to the
    window, `ArgumentError` for what can't be."""

    def __init__(self, case: Case, rtt: str) -> None: ...
    def check(self) -> None:
        """Raises what `start` did to the window, or an event before."""

    def acknowledged(self, packets: int, marked: bool) -> None: ...
    def lost(self, in_flight: int | None = None) -> None: ...
    def timed_out(self, in_flight: int | None = None) -> None: ...
    def set_rtt(self, rtt: str) -> None: ...
    @property
    def pacing_rate_bps(self) -> float: ...
    @property
    def cwnd(self) -> float: ...
    @property
    def ssthresh(self) -> float: ...
    @property
    def una(self) -> int: ...
    @property
    def next(self) -> int: ...
    @property
    def now_ps(self) -> int: ...
    @property
    def ecn(self) -> bool: ...
    @property
    def state(self) -> list[int]:
        """What the class's parameters and then its fields hold, bit by bit."""

def version() -> str: ...
def profile_guided() -> bool:
    """Whether a profile of earlier runs guided the compiler (`make fast`)."""

def bench_names() -> list[str]: ...
def bench_threads(name: str) -> int: ...
def bench_runs(name: str) -> int:
    """How often a benchmark is run to be timed."""

def bench(name: str, threads: int | None = None) -> dict[str, str | int | float]:
    """Runs a benchmark once: name, packet_hops, events, cpu_s, wall_s, threads."""

def bench_in_turn(name: str, threads: int) -> dict[str, int | float]:
    """Has one thread do in turn what so many would do at once: cpu_s, windows, all_s, longest_s, busiest_s."""

def bench_meeting() -> tuple[float, float]:
    """What a thread takes to meet another after a window, and for each thread more, in seconds."""

def bench_reference_loop(name: str, cpu_s: float) -> dict[str, int | float]:
    """Runs the reference loop on a fabric of a benchmark's size for this much processor time: packet_hops, cpu_s."""

def student_two_sided_p(freedom: float, t: float) -> float:
    """The probability that |t| is at least this large, for so many degrees of freedom."""

def student_two_sided_t(freedom: float, p: float) -> float:
    """The t that |t| exceeds with this probability."""

def control_bench(servers: int) -> list[dict[str, Any]]:
    """Measures the control algorithms: algorithm, item, servers, items, cpu_s, waiting_pairs."""

_Indices = NDArray[np.uint32]
_Numbers = NDArray[np.float64]

def greedy_matching(src: _Indices, dst: _Indices, key: NDArray[np.uint64], servers: int) -> _Indices: ...
def batch_matching(
    src: _Indices, dst: _Indices, packets: _Indices, servers: int, slots: int
) -> tuple[_Indices, _Indices, _Indices]: ...
def maximum_matching(src: _Indices, dst: _Indices, servers: int) -> _Indices: ...
def edge_colouring(src: _Indices, dst: _Indices, leaves: int, euler_split: bool) -> _Indices: ...
def normalise_rates(
    src: _Indices,
    dst: _Indices,
    offered: _Numbers,
    servers: int,
    rounds: int,
    tolerance: float,
    up_to_offered: bool,
) -> _Numbers: ...
def max_min_rates(
    first_link: _Indices, links: _Indices, capacity: _Numbers, weight: _Numbers, limit: _Numbers
) -> _Numbers: ...
def ned_rates(
    first_link: _Indices,
    links: _Indices,
    capacity: _Numbers,
    weight: _Numbers,
    price: _Numbers,
    rounds: int,
    step: float,
    normalise: bool,
) -> tuple[_Numbers, _Numbers]: ...
