"""How fast jobs were, and what they waited for: critical paths, the links that bound operations, stragglers, ranks."""

from packetloom.pages.waits.section import write_waits
from packetloom.pages.waits.speeds import print_jobs, speeds
from packetloom.pages.waits.tables import bounds, stragglers, time_spent

__all__ = ["bounds", "print_jobs", "speeds", "stragglers", "time_spent", "write_waits"]
