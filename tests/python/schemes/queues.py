"""Queues that packetloom has built in, written in Python: they give the same bits."""

import math

from packetloom.schemes import Arrival, Departure, Queue, QueueRule, size, time


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


class Codel(QueueRule):
    """Controlled delay (RFC 8289), without ECN."""

    target = time("5us", doc="How long packets may wait for good.")
    interval = time("50us", doc="For how long they must wait longer before one is dropped.")
    largest: int = 0
    is_above: bool = False
    first_above: int = 0
    drop_next: int = 0
    count: int = 0
    last_count: int = 0
    dropping: bool = False
    after: int = 0

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        self.largest = max(self.largest, arrival.size_bytes)
        return 0

    def leaves(self, departure: Departure, queue: Queue) -> None:
        now = departure.now_ps
        above = self.above(departure, queue)
        after = self.after
        self.after = 0
        if after == 1:
            return
        if after == 2 and above:
            self.drop_next += int(self.interval / math.sqrt(self.count))
        if self.dropping and not above:
            self.dropping = False
        elif self.dropping and now >= self.drop_next:
            self.count += 1
            self.after = 2
            queue.drop()
        elif above and not self.dropping:
            self.dropping = True
            delta = self.count - self.last_count
            soon = max(now - self.drop_next, 0) < 16 * self.interval
            self.count = delta if delta > 1 and soon else 1
            self.last_count = self.count
            self.drop_next = now + int(self.interval / math.sqrt(self.count))
            self.after = 1
            queue.drop()

    def above(self, departure: Departure, queue: Queue) -> bool:
        if departure.waited_ps < self.target or queue.bytes <= self.largest:
            self.is_above = False
            return False
        if not self.is_above:
            self.is_above = True
            self.first_above = departure.now_ps + self.interval
            return False
        return departure.now_ps >= self.first_above


class LatestFirst(QueueRule):
    """Two lanes by flow, a packet each in turn; when full, the longer one loses its first packet."""

    lanes = 2
    capacity = size("15KB", doc="The most bytes that wait.")

    def arrives(self, arrival: Arrival, queue: Queue) -> int:
        if queue.bytes + arrival.size_bytes > self.capacity:
            queue.drop_first(0 if queue.lane_bytes(0) > queue.lane_bytes(1) else 1)
        return arrival.flow % 2


class Nothing(QueueRule):
    """Takes everything."""
