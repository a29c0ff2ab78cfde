"""The command line. Each command loads what it needs when it runs, so that `--help` comes at once."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from typer.main import get_command_name
from typer.models import CommandInfo

from packetloom.cli.app import app
from packetloom.cli.exit_codes import INVARIANT_VIOLATED, MISTAKE
from packetloom.common.arguments import with_values
from packetloom.errors import InvariantError, PacketloomError, harmless

# Help lists commands in the order in which they are defined.
from packetloom.cli import running, showing, looking_up, evidence  # isort: skip

__all__ = ["app", "evidence", "looking_up", "main", "running", "showing"]


def main() -> None:
    """Runs the command line; a user's mistake is a message and exit code 2."""
    _print_what_it_can()
    try:
        try:
            with _looking_up_only(sys.argv[1:2]):
                app(with_values(sys.argv[1:]), prog_name="packetloom")
        finally:
            _flush()
    except PacketloomError as error:
        from packetloom.common import stale_engine

        # An old engine does not know what newer scenarios may say.
        lines = [f"error: {line}" for line in str(error).splitlines()]
        _end([*lines, *(f"note: {note}" for note in [stale_engine.note()] if note)], _code(error))
    except OSError as error:
        _fail(f"{error.filename or 'standard output, or a file that was open'}: {error.strerror or error}", MISTAKE)
    except MemoryError:
        _fail("there is not enough memory for this", MISTAKE)


@contextmanager
def _looking_up_only(named: Sequence[str]) -> Iterator[None]:
    """The command that is named, if there is such a one: each command's options take a millisecond to look up."""
    every = app.registered_commands
    app.registered_commands = [one for one in every if [_name_of(one)] == named] or every
    try:
        yield
    finally:
        app.registered_commands = every


def _name_of(command: CommandInfo) -> str:
    return command.name or get_command_name(getattr(command.callback, "__name__", ""))


def _print_what_it_can() -> None:
    """A letter that a terminal's encoding does not have is written as its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Now, while a failure to write the output can still be reported: a full disk, or a reader that has left."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again as it ends
        if not isinstance(error, BrokenPipeError):
            _fail(f"standard output: {error.strerror}", MISTAKE)


def _code(error: PacketloomError) -> int:
    return INVARIANT_VIOLATED if isinstance(error, InvariantError) else MISTAKE


def _fail(message: str, code: int) -> NoReturn:
    _end([f"error: {line}" for line in message.splitlines()], code)


def _end(lines: Iterable[str], code: int) -> NoReturn:
    for line in lines:
        print(harmless(line), file=sys.stderr)
    sys.exit(code)
