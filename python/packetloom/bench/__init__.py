"""Speed and memory, measured.

`measure` is found here because builds are compared with older ones, which have it in a module of this name.
"""

from packetloom.bench.benchmarks import measure

__all__ = ["measure"]
