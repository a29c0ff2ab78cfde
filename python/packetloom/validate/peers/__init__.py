"""`packetloom validate peers`: other simulators' settings replayed, and their figures beside ours.

What they measured lies in the source tree's `validation/`, with its origin; `docs/validation.md` explains what
comes out.
"""

from __future__ import annotations

from packetloom.validate.comparison import Comparison
from packetloom.validate.peers.flow_lists import flow_list_comparisons
from packetloom.validate.peers.hpcc import hpcc_comparisons
from packetloom.validate.peers.htsim import htsim_comparisons
from packetloom.validate.peers.ns3 import ns3_comparisons
from packetloom.validate.peers.omnet import omnet_comparisons


def peer_comparisons() -> list[Comparison]:
    """All there are."""
    return [
        *flow_list_comparisons(),
        *htsim_comparisons(),
        *omnet_comparisons(),
        *ns3_comparisons(),
        *hpcc_comparisons(),
    ]
