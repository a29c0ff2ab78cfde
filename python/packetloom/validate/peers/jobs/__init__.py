"""Jobs on ASTRA-sim and on LogGOPSim: schedules and traces that they executed, and when the last rank was done."""

from packetloom.validate.peers.jobs.astra_sim import astra_sim_comparisons
from packetloom.validate.peers.jobs.loggopsim import loggopsim_comparisons

__all__ = ["astra_sim_comparisons", "loggopsim_comparisons"]
