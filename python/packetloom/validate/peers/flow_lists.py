"""Flow lists of other simulators, replayed: their completion times held against ours, flow by flow."""

from __future__ import annotations

import gzip
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from packetloom.common.files import explain_os_error, write_text
from packetloom.common.percentiles import p99
from packetloom.errors import PacketloomError
from packetloom.store.results import Results
from packetloom.validate.comparison import Check, Row
from packetloom.validate.peers.agreement import MEAN_WITHIN, P99_WITHIN, PEERS_FOLDER, agreement

# The p99 of fewer flows rests on less than ten of them.
P99_NEEDS_FLOWS = 1_000


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Flows of more than `above` bytes, up to `up_to`."""

    name: str
    above: float
    up_to: float


SIZE_RANGES = (
    SizeRange("all", 0, float("inf")),
    SizeRange("≤ 100 KB", 0, 100_000),
    SizeRange("100 KB-10 MB", 100_000, 10_000_000),
    SizeRange("> 10 MB", 10_000_000, float("inf")),
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A scheme of a list, and which of its figures are compared."""

    scheme: str
    # Flows that time out in neither simulator only.
    without_timeouts: bool = False
    # Whom a full drop-tail queue locks out is chance, which moves means and tails: those are compared over link delays.
    locks_out: bool = False


@dataclass(frozen=True, slots=True)
class PeerList:
    """Another simulator's flows, and the scenario that repeats its setting.

    `read` gives a row per flow: `src`, `dst`, `size_bytes`, `start_ns`, the `best_us` that the peer divides by, and for
    each scheme S its time `S_us` and its timeouts `S_timeouts`.
    """

    name: str
    title: str
    scenario: str
    flows: str
    read: Callable[[bytes], pl.DataFrame]
    schemes: tuple[Expected, ...]


def read_ns2(content: bytes) -> pl.DataFrame:
    """A list of ns-2's: tab-separated, sizes in packets of 1460 B, times in us at the sender, handshakes included."""
    packets = pl.col("pkts1460")
    src, dst = pl.col("src"), pl.col("dst")
    hops = pl.when(src // 3 == dst // 3).then(2).when(src // 9 == dst // 9).then(4).otherwise(6)
    schemes = {"pFabric": "pfabric", "DCTCP": "dctcp", "TCP": "tcp"}
    return pl.read_csv(content, separator="\t").select(
        "src",
        "dst",
        (packets * 1460).alias("size_bytes"),
        (pl.col("start_s") * 1e9).round(1).alias("start_ns"),
        # 1.2 us a packet, and once more for the last one at each further link; 0.4 us a link each way; 32 ns an ACK.
        (packets * 1.2 + (hops - 1) * 1.2 + 2 * hops * 0.4 + hops * 0.032).alias("best_us"),
        *(pl.col(f"{theirs}_fct_us").alias(f"{ours}_us") for ours, theirs in schemes.items()),
        *(pl.col(f"{theirs}_timeouts").alias(f"{ours}_timeouts") for ours, theirs in schemes.items()),
    )


def read_yaps(content: bytes, scheme: str = "pFabric") -> pl.DataFrame:
    """A list of YAPS's: comma-separated, times in us at the sender, with its own oracle; without timeouts."""
    return pl.read_csv(content).select(
        "src",
        "dst",
        "size_bytes",
        (pl.col("start_us") * 1e3).round(1).alias("start_ns"),
        pl.col("oracle_us").alias("best_us"),
        pl.col("fct_us").alias(f"{scheme}_us"),
        pl.lit(None, pl.Int64).alias(f"{scheme}_timeouts"),
    )


def read_yaps_phost(content: bytes) -> pl.DataFrame:
    """The same of pHost."""
    return read_yaps(content, "pHost")


def read_yaps_fastpass(content: bytes) -> pl.DataFrame:
    """The same of Fastpass. Its 16 hosts of a leaf are the first of 17 here, of which one is the arbiter."""
    seventeen = (pl.col(end) // 16 * 17 + pl.col(end) % 16 for end in ("src", "dst"))
    return read_yaps(content, "Fastpass").with_columns(*seventeen)


PEERS = (
    PeerList(
        "ns2-web-search",
        "ns-2, web search 0.5",
        "ns2-web-search.toml",
        "ns2/mixed_search_0.5.tsv.gz",
        read_ns2,
        (
            Expected("pFabric"),
            Expected("DCTCP"),
            Expected("TCP", locks_out=True),
        ),
    ),
    PeerList(
        "ns2-data-mining",
        "ns-2, data mining 0.2",
        "ns2-data-mining.toml",
        "ns2/mixed_learning_0.2.tsv.gz",
        read_ns2,
        (
            Expected("pFabric"),
            Expected("DCTCP"),
            Expected("TCP", locks_out=True),
            Expected("TCP", without_timeouts=True),
        ),
    ),
    PeerList(
        "yaps-web-search",
        "YAPS, web search 0.6",
        "yaps-web-search.toml",
        "yaps/yaps_pkt_pfabric_dctcp_0.6_2000.csv.gz",
        read_yaps,
        (Expected("pFabric"),),
    ),
    PeerList(
        "yaps-imc10",
        "YAPS, IMC10 0.6",
        "yaps-imc10.toml",
        "yaps/yaps_pkt_pfabric_aditya_0.6_5000_r1.csv.gz",
        read_yaps,
        (Expected("pFabric"),),
    ),
    PeerList(
        "yaps-fastpass",
        "YAPS, web search 0.6",
        "yaps-fastpass.toml",
        "yaps/yaps_pkt_fastpass_dctcp_0.6_2000.csv.gz",
        read_yaps_fastpass,
        (Expected("Fastpass"),),
    ),
    PeerList(
        "yaps-phost",
        "YAPS, web search 0.6",
        "yaps-phost.toml",
        "yaps/yaps_pkt_phost_dctcp_0.6_2000.csv.gz",
        read_yaps_phost,
        (Expected("pHost"),),
    ),
)


def read_list(peer: PeerList) -> pl.DataFrame:
    """The flows of a peer by their start, which is how ours are numbered, with what it measured of them."""
    path = PEERS_FOLDER / peer.flows
    try:
        return peer.read(gzip.decompress(path.read_bytes())).sort("start_ns", maintain_order=True)
    except FileNotFoundError:
        raise PacketloomError(
            f"{path}: there is no such file; other simulators' flow lists come with packetloom's source tree: "
            "clone it and run `make validate` there"
        ) from None
    except (OSError, EOFError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise PacketloomError(f"{path}: damaged ({reason}); restore it from packetloom's source tree") from None


def replay_scenario(peer: PeerList, folder: Path) -> dict[str, Any]:
    """The scenario that replays a peer's flows, from a file that is put into `folder`."""
    path = folder / "flows" / f"{peer.name}.csv"
    flows = read_list(peer).select("src", "dst", "size_bytes", "start_ns")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, flows.write_csv(float_precision=1))
    except OSError as error:
        raise explain_os_error(error, f"{path}: cannot write the flow list") from None
    scenario = tomllib.loads((PEERS_FOLDER / peer.scenario).read_text(encoding="utf-8"))
    scenario["workload"][0]["arrivals"]["file"] = str(path.absolute())
    return scenario


def paired(theirs: pl.DataFrame, ours: pl.DataFrame, scheme: str) -> pl.DataFrame:
    """A scheme's flows: their normalised FCTs at the sender, `theirs` and `ours`, and all `timeouts`."""
    ours = ours.filter(scheme=scheme).sort("flow_id")
    if not theirs.select("src", "dst", "size_bytes").equals(
        ours.select(pl.col("src", "dst", "size_bytes").cast(pl.Int64))
    ):
        raise PacketloomError(f"the flows of {scheme} are not those of the list: delete the results and run again")
    return theirs.select(
        "size_bytes",
        (pl.col(f"{scheme}_us") / pl.col("best_us")).alias("theirs"),
        (ours["sender_fct_ns"] / 1e3 / pl.col("best_us")).alias("ours"),
        (pl.col(f"{scheme}_timeouts").fill_null(0) + ours["timeouts"].cast(pl.Int64)).alias("timeouts"),
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure, as they have it and as we have it."""

    name: str
    theirs: float
    ours: float


def means(flows: pl.DataFrame) -> list[Pair]:
    """The mean of each size range."""
    return [_pair(name, part, lambda fct: fct.mean()) for name, part in _by_size(flows) if part.height]


def p99s(flows: pl.DataFrame) -> list[Pair]:
    """The 99th percentile of each size range with enough flows."""
    ranges = [(name, part) for name, part in _by_size(flows) if part.height >= P99_NEEDS_FLOWS]
    return [_pair(name, part, p99) for name, part in ranges]


def median_ratios(flows: pl.DataFrame) -> list[Pair]:
    """Ours over theirs flow by flow: the median of each size range; theirs would be 1."""
    ranges = [(name, part) for name, part in _by_size(flows) if part.height]
    return [Pair(name, 1.0, _number((part["ours"] / part["theirs"]).median())) for name, part in ranges]


def _by_size(flows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    size = pl.col("size_bytes")
    return [(one.name, flows.filter(size > one.above, size <= one.up_to)) for one in SIZE_RANGES]


def _pair(name: str, flows: pl.DataFrame, statistic: Callable[[pl.Series], object]) -> Pair:
    return Pair(name, _number(statistic(flows["theirs"])), _number(statistic(flows["ours"])))


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def flow_list_comparisons() -> list[Check]:
    """A comparison for every list."""
    return [_comparison(peer) for peer in PEERS]


def _comparison(peer: PeerList) -> Check:
    def rows(results: Mapping[str, Results]) -> list[Row]:
        theirs, ours = read_list(peer), results["replayed"].to_polars()
        return [
            row for expected in peer.schemes for row in _rows(peer, expected, paired(theirs, ours, expected.scheme))
        ]

    return Check(peer.name, lambda folder: {"replayed": replay_scenario(peer, folder)}, rows)


def _rows(peer: PeerList, expected: Expected, flows: pl.DataFrame) -> list[Row]:
    if expected.without_timeouts:
        flows = flows.filter(timeouts=0)
    which = ", flows without timeouts" if expected.without_timeouts else ""
    case = f"{peer.title}, {expected.scheme}{which}"
    figures = {"flows": ("ours / theirs flow by flow, median", MEAN_WITHIN, median_ratios(flows))}
    if not expected.locks_out:
        figures |= {
            "mean": ("mean normalised FCT", MEAN_WITHIN, means(flows)),
            "p99": ("p99 of the normalised FCT", P99_WITHIN, p99s(flows)),
        }
    return [
        agreement(
            f"{peer.name} {expected.scheme}{which} {id} {pair.name}",
            f"{case}: {title}, {pair.name}",
            f"validation/{peer.flows}",
            pair.theirs,
            pair.ours,
            tolerance,
        )
        for id, (title, tolerance, pairs) in figures.items()
        for pair in pairs
    ]
