"""What jobs waited for: critical paths, the links that bound operations, stragglers, and when ranks did what."""

from packetloom.waits.section import write_waits
from packetloom.waits.tables import bounds, stragglers, time_spent

__all__ = ["bounds", "stragglers", "time_spent", "write_waits"]
