"""Claims AB1 to AB4: Active Buffer Management beside dynamic thresholds, on its authors' network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from packetloom.reproduce.claims import Claim, Measured, NotComparable
from packetloom.reproduce.measure import Runs, between_leaves, by_label, chosen, listed, of_flows, ratio, tail
from packetloom.reproduce.transports.measure import drain_times
from packetloom.store.results import Results

DYNAMIC, ABM = "dynamic thresholds", "ABM"
BURSTS = pl.col("source") == 1
# As its authors count them: below a bandwidth-delay product, of no burst; all of theirs cross to the other leaf.
SHORT = BURSTS.not_() & between_leaves(32) & (pl.col("size_bytes") < 100_000)
KINDS = {"short flows": SHORT, "flows of bursts": BURSTS}
COLUMNS = ("src", "dst", "source", "size_bytes", "slowdown")
# In drain.toml: by class what may wait at most, alpha times the buffer, at a port's rate; and since when it is steady.
MOST_NS = {0: 8e5, 1: 4e5}
STEADY_NS = 5.5e6

NO_FIRST_ROUND_TRIP = (
    "ABM's authors admit the packets of a flow's first round trip by an alpha of their own, 1024. `abm` has none, so "
    "this is not all of ABM."
)


def cubic(runs: Runs) -> Sequence[Measured]:
    """AB1."""
    raise NotComparable(NO_FIRST_ROUND_TRIP, list(_tails(runs["cubic"], ABM, DYNAMIC)))


def moderate(runs: Runs) -> Sequence[Measured]:
    """AB2; PIAS has the first 100 KB of each flow in a class of their own, which can have that alpha."""
    results = runs["moderate"]
    beside = [
        one
        for transport in ("DCTCP", "TIMELY", "PowerTCP", "PIAS")
        for one in _tails(results, f"{transport}, {ABM}", f"{transport}, {DYNAMIC}")
    ]
    with_alpha = [f"PIAS, {rule}, alpha 1024" for rule in (ABM, DYNAMIC)]
    more = [one for scheme in with_alpha for one in _tails(results, scheme, f"PIAS, {DYNAMIC}")]
    raise NotComparable(NO_FIRST_ROUND_TRIP, [*beside, *more])


def _tails(results: Results, scheme: str, other: str) -> Iterator[Measured]:
    for kind, which in KINDS.items():
        tails = by_label(of_flows(results, COLUMNS, chosen(which, tail("slowdown"))))
        yield ratio(tails[scheme], tails[other], scheme).beside(f"p99 of {kind}, {scheme} / {other}")


def isolation(_: Runs) -> Sequence[Measured]:
    """AB3."""
    raise NotComparable("A case here has one transport for all flows: CUBIC cannot run beside DCTCP or PowerTCP.")


def drains(runs: Runs) -> Iterator[Measured]:
    """AB4: the longest that what waits in any queue takes to leave, over alpha times the buffer at the port's rate."""
    for row, queues in drain_times(runs["drain"]):
        allowed = queues["class"].replace_strict(MOST_NS, return_dtype=pl.Float64).to_numpy()
        share = queues["drain_ns"].to_numpy() / allowed
        late = queues["time_ns"].to_numpy() >= STEADY_NS
        yield Measured(
            f"{row.scheme}: longest over the bound", float(share.max()), band=(0.0, 1.0), decides=row.scheme == ABM
        )
        yield Measured(f"{row.scheme}: the same of steady queues", float(np.max(share[late])), decides=False)


PAPER = "ABM, abstract"

CLAIMS = (
    Claim(
        "AB1",
        "p99 FCT of short flows up to 94 % lower than by other management of buffers",
        PAPER,
        "≥ 50 % lower than dynamic thresholds', CUBIC at 0.6 with bursts of 0.3 buffers",
        ("cubic",),
        cubic,
    ),
    Claim(
        "AB2",
        "FCT up to 76 % better for DCTCP, TIMELY and PowerTCP under bursts even at moderate load",
        PAPER,
        "≥ 20 % better",
        ("moderate",),
        moderate,
        choices=(
            "PIAS has the first 100 KB of each flow in a class of their own. With that alpha for it, p99 of the "
            "bursts' flows falls to 0.3 of what it is under dynamic thresholds, by either rule: what is missing "
            "decides."
        ),
    ),
    Claim(
        "AB3",
        "isolation: CUBIC's load does not change DCTCP's and PowerTCP's tails in other queues",
        PAPER,
        "change ≤ 20 % from CUBIC at 0.1 to 0.6; under dynamic thresholds ≥ 2 times",
        (),
        isolation,
    ),
    Claim(
        "AB4",
        "drain time is bounded: no queue's length over its rate exceeds alpha times the buffer over the port's rate",
        PAPER,
        "as stated",
        ("drain",),
        listed(drains),
        ("AB4",),
        choices=(
            "Round robin, as its authors run it. Beside, with weights of 3 and 1, a class that gets a quarter of its "
            "port counts as one that gets all, as in their code. So it waits longer than the bound while few ports "
            "are loaded."
        ),
        explanation=(
            "ABM drops arriving packets, not waiting ones: a queue that had its port alone is within its bound "
            "until another class takes half of the rate. Once all queues are loaded, drain times are far below "
            "the bound."
        ),
    ),
)
