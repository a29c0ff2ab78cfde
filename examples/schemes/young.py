"""Priorities in Python: docs/your-own-scheme.md."""

from packetloom.schemes import CongestionControl, Data, Labels, size


class YoungFirst(CongestionControl):
    """TCP whose packets fall to a lower class once their flow has sent much."""

    classes = 2
    old = size("100KB", doc="From when on a flow is old.")

    def label(self, data: Data, labels: Labels) -> None:
        labels.traffic_class = 1 if data.sent_bytes > self.old else 0
