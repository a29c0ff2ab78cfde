"""Queues that packetloom has built in, written in Python: they give the same bits."""

from packetloom.schemes import Arrival, Queue, QueueRule, size


class DropTail(QueueRule):
    """First in, first out, up to a capacity."""

    capacity = size("30KB", doc="The most bytes that wait.")

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        if queue.bytes + arrival.size_bytes > self.capacity:
            queue.drop()
        return 0


class Marking(QueueRule):
    """Marks above a threshold."""

    marks = True
    capacity = size("60KB", doc="The most bytes that wait.")
    mark_above = size("15KB", doc="Packets that find more waiting are marked.")

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        if queue.bytes + arrival.size_bytes > self.capacity:
            queue.drop()
        elif queue.bytes > self.mark_above:
            queue.mark()
        return 0


class Strict(QueueRule):
    """Traffic classes in strict order, each with a capacity of its own."""

    lanes = 3
    capacity = size("30KB", doc="The most bytes that wait of a class.")

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        lane = min(arrival.traffic_class, queue.lanes - 1)
        if queue.lane_bytes(lane) + arrival.size_bytes > self.capacity:
            queue.drop()
        return lane


class Turns(QueueRule):
    """Two lanes, by flow, that take turns."""

    lanes = 2
    capacity = size("30KB", doc="The most bytes that wait.")
    turn: int = 0

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        if queue.bytes + arrival.size_bytes > self.capacity:
            queue.drop()
        return arrival.flow % 2

    def next(self, queue: Queue) -> int:
        self.turn = 1 - self.turn
        return self.turn


class Cutting(QueueRule):
    """Trims what does not fit; headers and control packets go first."""

    lanes = 2
    trim_to_bytes = 64
    capacity = size("12KB", doc="The most bytes of data that wait.")

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        if not arrival.is_data:
            return 0
        if queue.lane_bytes(1) + arrival.size_bytes > self.capacity:
            queue.trim()
            return 0
        return 1


class Nothing(QueueRule):
    """Takes everything."""
