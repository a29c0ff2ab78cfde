"""Tries a user's file in a process of its own before it is run in this one.

A single call into C can take for ever, or all memory, and nothing can interrupt it from within: `10**10**9`,
`bytes(10**12)`, `sum(range(10**12))`. So a file that is new is run once where the system sets limits. What it is said
to be wrong with otherwise, it is said where it is run for good.
"""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from pathlib import Path

from packetloom.common.system import ended_by_limit, limit_process
from packetloom.schemes.translate import TranslationError

MOST_SECONDS = 10
"""Of processor time, beside what Python takes to start; all that a file computes is constants."""
_MOST_BYTES = 8 << 30
"""Of addresses, of which numba and its compiler take some."""
_MARK = "rehearsed"
_OUT_OF_MEMORY = 3


def rehearse(copy: Path) -> None:
    """Runs a file under limits, unless that was done of what it holds.

    Raises:
        TranslationError: if it exceeds them, and where.
    """
    mark = copy.with_name(_MARK)
    if mark.exists() or not sys.executable:
        return
    # Beside the user's file there may be others that are called like Python's own modules.
    command = [sys.executable, "-P", "-m", "packetloom.schemes.rehearsal", str(copy), str(MOST_SECONDS)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == _OUT_OF_MEMORY:
        raise TranslationError(_line(done.stderr, copy), "this takes more memory than there is for constants")
    if ended_by_limit(done.returncode):
        message = f"this takes more than {MOST_SECONDS} s before a class is there; write what it comes to"
        raise TranslationError(_line(done.stderr, copy), message)
    mark.touch()


def _line(told: str, copy: Path) -> int:
    """The first line of the file that is told, and the innermost."""
    found = re.search(rf'File "{re.escape(str(copy))}", line (\d+)', told)
    return int(found[1]) if found else 1


def _main(copy: Path, most_seconds: int) -> int:
    from packetloom.schemes.loader import run_file

    limit_process(most_seconds, _MOST_BYTES)
    try:
        run_file(copy)
    except MemoryError as error:
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            print(f'File "{frame.filename}", line {frame.lineno}', file=sys.stderr)
        return _OUT_OF_MEMORY
    except (Exception, SystemExit):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), int(sys.argv[2])))
