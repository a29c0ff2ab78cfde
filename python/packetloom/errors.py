"""What a user can do something about."""

import re

MOST_LETTERS = 2_000
"""Of a line of a message: what users wrote may be of any length."""
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey instead of showing it, or would turn the direction of the text (Unicode UAX #9)."""


def harmless(line: str) -> str:
    """A line of a message as a terminal may have it: nothing invisible, and without its middle where it is long."""
    if len(line) > MOST_LETTERS:
        line = f"{line[: MOST_LETTERS // 2]} ... {line[-MOST_LETTERS // 2 :]}"
    return INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04X}", line)


class PacketloomError(Exception):
    """A mistake or a circumstance outside the program; the message says what and where, and what to do."""


class ScenarioError(PacketloomError):
    """A mistake in a scenario: where it is, what is wrong and what to write instead."""


class ArgumentError(PacketloomError, ValueError):
    """What a Python function was given is of the wrong type, or out of range."""


class ScenarioWarning(UserWarning):
    """What a scenario makes a reader doubt, such as an overloaded link; the commands print it as "warning: ..."."""


class InvariantError(PacketloomError):
    """An audited simulation violated an invariant: a fault of packetloom."""


class Interrupted(KeyboardInterrupt):
    """A campaign was stopped by the user; what had finished is on disk."""
