"""`packetloom validate peers`: other simulators' settings replayed, and their figures beside ours.

What they measured lies in the source tree's `validation/`, with its origin; `docs/validation.md` explains what
comes out.
"""

from __future__ import annotations

from pathlib import Path

from packetloom.validate.comparison import Check
from packetloom.validate.peers.abm import abm_comparisons
from packetloom.validate.peers.bfc import bfc_comparisons
from packetloom.validate.peers.conweave import balanced_comparison_of, conweave_comparisons
from packetloom.validate.peers.dcpim import dcpim_comparisons
from packetloom.validate.peers.expresspass import expresspass_comparisons
from packetloom.validate.peers.flow_lists import flow_list_comparisons
from packetloom.validate.peers.homa import homa_comparisons
from packetloom.validate.peers.hpcc import comparison_of, hpcc_comparisons
from packetloom.validate.peers.hpcc.settings import read_settings
from packetloom.validate.peers.htsim import htsim_comparisons
from packetloom.validate.peers.htsim_rdma import htsim_rdma_comparisons
from packetloom.validate.peers.jobs import astra_sim_comparisons, loggopsim_comparisons
from packetloom.validate.peers.link_delays import link_delay_comparisons
from packetloom.validate.peers.ns3 import ns3_comparisons
from packetloom.validate.peers.omnet import omnet_comparisons
from packetloom.validate.peers.powertcp import powertcp_comparisons
from packetloom.validate.peers.reverie import reverie_comparisons
from packetloom.validate.peers.sird import sird_comparisons
from packetloom.validate.peers.sprayed import sprayed_comparisons


def peer_comparisons() -> list[Check]:
    """All there are."""
    return [
        *flow_list_comparisons(),
        *link_delay_comparisons(),
        *htsim_comparisons(),
        *htsim_rdma_comparisons(),
        *sprayed_comparisons(),
        *omnet_comparisons(),
        *ns3_comparisons(),
        *abm_comparisons(),
        *reverie_comparisons(),
        *hpcc_comparisons(),
        *powertcp_comparisons(),
        *bfc_comparisons(),
        *sird_comparisons(),
        *dcpim_comparisons(),
        *expresspass_comparisons(),
        *conweave_comparisons(),
        *homa_comparisons(),
        *astra_sim_comparisons(),
        *loggopsim_comparisons(),
    ]


def config_comparison(file: Path) -> Check:
    """The comparison of one `config.txt` of HPCC's simulator, or of ConWeave's, which has a key for who balances."""
    comparison = comparison_of(file)
    settings = read_settings(file)
    return balanced_comparison_of(settings.name, [settings]) if "LB_MODE" in settings.keys else comparison
