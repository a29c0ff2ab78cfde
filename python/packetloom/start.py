"""Where the command begins.

Loading the rest takes a while, and Ctrl-C may come meanwhile; so nothing large is loaded before that is provided for.
"""

import gc
import os

INTERRUPTED = 130
NOTHING_BEGAN = b"stopped before anything began\n"
AT_ONCE = b"stopped at once; what is finished is kept\n"

# Whether the process is this command: another program, such as a notebook, does not end with a campaign.
_is_command = False


def _stop_at_once(_signal: int = 0, _frame: object = None) -> None:
    """Ends the process: an exception could be lost where a library catches all that go wrong as it is loaded."""
    os.write(2, NOTHING_BEGAN)
    os._exit(INTERRUPTED)


try:
    import signal  # which takes a while itself
except KeyboardInterrupt:
    _stop_at_once()


def end_command() -> None:
    """Ends the process if it is this command, whatever its threads do."""
    if _is_command:
        os.write(2, AT_ONCE)
        os._exit(INTERRUPTED)


def main() -> None:
    """Loads the command line and runs it."""
    global _is_command
    _is_command = True
    gc.set_threshold(20_000, 20, 20)  # what is loaded stays: looking through it as often as by default takes 5 %
    asked = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored, and stays so
    if asked:
        signal.signal(signal.SIGINT, _stop_at_once)
    try:
        from packetloom.cli.main import main as command_line

        command_line()
    except Exception as error:
        _say_if_engine_is_old(error)
        raise
    finally:
        if asked:  # while Python ends, an exception would be nothing but noise
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _say_if_engine_is_old(error: Exception) -> None:
    """Ends the process with a message instead of a traceback, where that is what is wrong."""
    from packetloom.common.stale_engine import blamed

    if message := blamed(error):
        os.write(2, f"error: {message}\n".encode())
        raise SystemExit(2) from None


def loaded() -> None:
    """From here on Ctrl-C is an exception, as usual."""
    if signal.getsignal(signal.SIGINT) is _stop_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
