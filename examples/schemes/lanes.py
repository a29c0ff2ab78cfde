"""A queue's rule in Python: docs/your-own-scheme.md."""

from packetloom.schemes import Arrival, Queue, QueueRule, size


class TwoLanes(QueueRule):
    """Class 0 before all others; marks what waits behind much."""

    lanes = 2
    marks = True
    capacity = size("100KB", doc="The most that waits of a lane.")
    mark_above = size("30KB", doc="What finds more in its lane is marked.")

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        lane = min(arrival.traffic_class, 1)
        if queue.lane_bytes(lane) + arrival.size_bytes > self.capacity:
            queue.drop()
        elif queue.lane_bytes(lane) > self.mark_above:
            queue.mark()
        return lane
