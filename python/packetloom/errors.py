"""What a user can do something about."""


class PacketloomError(Exception):
    """A mistake or a circumstance outside the program; the message says what and where, and what to do."""


class ScenarioError(PacketloomError):
    """A mistake in a scenario: where it is, what is wrong and what to write instead."""


class ArgumentError(PacketloomError, ValueError):
    """What a Python function was given is of the wrong type, or out of range."""


class InvariantError(PacketloomError):
    """An audited simulation violated an invariant: a fault of packetloom."""


class Interrupted(KeyboardInterrupt):
    """A campaign was stopped by the user; what had finished is on disk."""
