"""What a user can do something about."""


class PacketloomError(Exception):
    """A mistake or a circumstance outside the program; the message says what and where, and what to do."""


class LawError(PacketloomError):
    """A simulation was audited, and a law did not hold: a fault of packetloom."""


class Interrupted(KeyboardInterrupt):
    """A campaign was stopped by the user; what had finished is on disk."""
