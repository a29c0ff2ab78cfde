"""What a user can do something about."""


class PacketloomError(Exception):
    """A mistake or a circumstance outside the program; the message says what and where, and what to do."""


class Interrupted(KeyboardInterrupt):
    """A campaign was stopped by the user; what had finished is on disk."""
