"""Names of statistics, for completion too, which loads nothing heavy."""

from __future__ import annotations

FEW = ("mean", "p99", "max")
"""Of the statistics that there are, those that are offered at Tab."""
TEXTS = frozenset(
    (
        *("fingerprint", "version", "build", "warnings", "port", "node", "peer", "tier", "name", "operation"),
        *("algorithm", "library", "protocol", "network", "bound_link", "spent_on", "link", "kind", "stream", "after"),
        *("origin_port", "last_in"),
    )
)
"""Columns that may hold texts."""


def is_number(column: str) -> bool:
    """Whether a column of results holds numbers."""
    return column not in TEXTS
