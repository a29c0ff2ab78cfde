"""A congestion control that follows a table, as one that was learned elsewhere would. See own-scheme.toml."""

import numpy as np

from packetloom.schemes import Ack, CongestionControl, Loss, Window, number

# What becomes of the window in a round trip, by how much longer that is than the shortest seen: a row for each eighth
# of it from 1 to 2; the factor, and the packets that are added.
TABLE = np.array(
    [
        [1.00, 2.0],
        [1.00, 1.0],
        [1.00, 0.5],
        [0.98, 0.0],
        [0.95, 0.0],
        [0.90, 0.0],
        [0.85, 0.0],
        [0.80, 0.0],
    ]
)


class TableDriven(CongestionControl):
    """A window that a table sets once in a round trip, by the delay."""

    scale = number(1.0, least=0.1, most=10.0, doc="The delay of each row, as a multiple of the table's own.")

    shortest_ps: int = 0
    until: int = 0

    def acknowledged(self, ack: Ack, window: Window) -> None:
        if not ack.advanced or ack.rtt_ps == 0:
            return
        if self.shortest_ps == 0 or ack.rtt_ps < self.shortest_ps:
            self.shortest_ps = ack.rtt_ps
        if window.in_slow_start and self.row(ack) < 2:
            window.grow()
        elif ack.una > self.until:
            row = self.row(ack)
            window.cwnd = max(window.cwnd * TABLE[row, 0] + TABLE[row, 1], 1.0)
            window.ssthresh = window.cwnd
            self.until = ack.next

    def row(self, ack: Ack) -> int:
        longer = (ack.rtt_ps / self.shortest_ps - 1.0) / self.scale
        return min(int(longer * len(TABLE)), len(TABLE) - 1)

    def lost(self, loss: Loss, window: Window) -> None:
        window.shrink(0.3)
