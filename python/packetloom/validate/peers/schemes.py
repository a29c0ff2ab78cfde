"""Which schemes a row of `validate peers` is about, by the names that scenarios have for them.

A row's text begins with the simulator and with what that calls the scheme: "htsim, nscc, permutation: mean FCT in us".
The table says what the scenario of such a row has for it. Committed rows (`validation/rows.json`) and rows of today get
their schemes by the same look-up.
"""

from __future__ import annotations

from collections.abc import Mapping

Schemes = tuple[str, ...]
"""A section and a kind each, as docs/schemes.md has them: "transport ndp", "queue ndp"."""

_IN_TURN = ("routing spray-round-robin",)
_UEC = ("transport uec", "queue ndp")
_RDMA = ("queue shared-buffer", "routing ecmp")
_BALANCED = ("transport dcqcn", "queue shared-buffer")
_PFABRIC = ("transport min-tcp", "queue pfabric", *_IN_TURN)
_ENTROPIES = ("mixed", "bitmap", "reps", "reps-legacy", "oblivious")

SCHEMES: Mapping[str, Mapping[str, Schemes]] = {
    "htsim": {
        "NDP": ("transport ndp", "queue ndp", "routing permutation"),
        "roce": ("transport roce", *_RDMA),
        "swift": ("transport swift", "queue drop-tail", "routing ecmp"),
        "nscc": _UEC,
        "rccc": _UEC,
        "both": _UEC,
        "eqds": ("transport eqds", "queue ndp", "routing bitmap"),
        **{name: (f"routing {name}",) for name in _ENTROPIES},
    },
    "omnet": {"NDP": ("transport ndp", "queue ndp", "routing spray-random")},
    "ns3": {"DCTCP": ("transport dctcp", "queue ecn", "routing ecmp")},
    "abm_ns3": {"ABM": ("buffer in egress",), "dynamic thresholds": ("buffer in egress",)},
    "reverie_ns3": {"Reverie": ("buffer in egress",)},
    "hpcc_ns3": {
        "no control": ("transport roce", *_RDMA),
        "DCQCN": ("transport dcqcn", *_RDMA),
        "HPCC": ("transport hpcc", *_RDMA),
        "TIMELY": ("transport timely", *_RDMA),
        "DCTCP": ("transport rdma-dctcp", *_RDMA),
    },
    "powertcp_ns3": {
        "PowerTCP": ("transport powertcp", *_RDMA),
        "PowerTCP with hp.hop zeroed": ("transport powertcp", *_RDMA),
        "theta-PowerTCP": ("transport theta-powertcp", *_RDMA),
        "HPCC": ("transport hpcc", *_RDMA),
    },
    "bfc_ns3": {"BFC": ("transport bfc", "queue bfc")},
    "sird_ns2": {"SIRD": ("transport sird", "queue classes", "routing spray-random")},
    "dcpim": {"dcPIM": ("transport dcpim", "queue classes", *_IN_TURN)},
    "expresspass_ns2": {"ExpressPass's ns-2": ("transport expresspass", "queue credit-limiter", "routing ecmp")},
    "conweave_ns3": {
        name: (*_BALANCED, f"routing {name.lower()}") for name in ("ECMP", "DRILL", "LetFlow", "CONGA", "ConWeave")
    },
    "homa_ns3": {"Homa on ns-3": ("transport homa", "queue classes", "routing spray-random")},
    "ns2": {
        "pFabric": _PFABRIC,
        "DCTCP": ("transport dctcp", "queue ecn", *_IN_TURN),
        "TCP": ("transport tcp", "queue drop-tail", *_IN_TURN),
    },
    "yaps": {
        "pFabric": _PFABRIC,
        "Fastpass": ("transport fastpass", "queue pfabric", *_IN_TURN),
        "pHost": ("transport phost", "queue pfabric", *_IN_TURN),
    },
    "astra_sim": {"trace": ("arrivals chakra",), "collective": ("arrivals collective",)},
    "loggopsim": {"LogGOPSim": ("arrivals goal",), "ATLAHS' LogGOPSim": ("arrivals goal",)},
}
"""By the folder of `validation/` that has a simulator's figures."""
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
_UEC_DEFAULT = "routing mixed"


def schemes_of(source: str, what: str) -> Schemes:
    """Those of a row, by its source and its text; none where the text names none."""
    folder = source.removeprefix("validation/").partition("/")[0]
    known = SCHEMES.get(folder, {})
    found = tuple(dict.fromkeys(one for part in _parts(what) for one in known.get(part, ())))
    if "transport uec" in found and not any(one.startswith("routing ") for one in found):
        return (*found, _UEC_DEFAULT)
    return found


def _parts(what: str) -> list[str]:
    """What stands before the colon, part by part, each by the name that the table has."""
    parts = [part.partition(" alone ")[0] for part in what.partition(":")[0].split(", ")]
    firsts = [part.partition(" ")[0] for part in parts]
    return [
        first if first == "trace" else "collective" if first in _COLLECTIVES else part
        for first, part in zip(firsts, parts, strict=True)
    ]
