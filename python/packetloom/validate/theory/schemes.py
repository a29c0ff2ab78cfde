"""Which schemes a row of `validate theory` is about, by the names that scenarios have: its id says what was run."""

from __future__ import annotations

from collections.abc import Mapping

_FIFO = ("transport fixed-window", "queue drop-tail")
_SHARED = "queue shared-buffer"

SCHEMES: Mapping[str, tuple[str, ...]] = {
    "md1": _FIFO,
    "mg1": _FIFO,
    "trimming": ("transport ndp", "queue ndp"),
    "processor-sharing": ("transport max-min",),
    "srpt-ideal": ("transport ideal",),
    "srpt-pfabric": ("transport line-rate", "queue pfabric"),
    "square-root": ("transport tcp", "queue drop-tail"),
    "cubic": ("transport cubic", "queue drop-tail"),
    "dctcp": ("transport dctcp", "queue ecn"),
    "rcp": ("transport rcp", "queue drop-tail"),
    "ecmp": ("routing ecmp", *_FIFO),
    "greedy": (),  # a controller's algorithm, without a scenario
    "pfc": ("transport roce", _SHARED),
    "rdma-lone": ("transport roce", "transport dcqcn", "transport timely", "transport rdma-dctcp", _SHARED),
    "hpcc": ("transport hpcc", _SHARED),
    "dcqcn": ("transport dcqcn", _SHARED),
}


def schemes_of(id: str) -> tuple[str, ...]:
    """Those of a row; none of what is not listed."""
    listed = (schemes for name, schemes in SCHEMES.items() if f"{id}-".startswith(f"theory-{name}-"))
    return next(listed, ())
