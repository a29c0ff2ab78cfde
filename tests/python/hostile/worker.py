"""Runs commands and pieces of Python one after another in a process of bounded memory: a JSON line in, one out."""

import contextlib
import io
import json
import os
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

MORE_MEMORY = 2 << 30
"""Bytes of addresses beyond what the libraries take."""


def bound_memory() -> None:
    import matplotlib.pyplot  # noqa: F401
    import scipy.stats  # noqa: F401

    import packetloom.campaign.runner
    import packetloom.cli.main
    import packetloom.pages.figures
    import packetloom.pages.report  # noqa: F401

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    taken = pages * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MORE_MEMORY, taken + MORE_MEMORY))


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Exit code and output. Whatever a user would see as a traceback is one here, with exit code 1."""
    out, err = io.StringIO(), io.StringIO()
    os.chdir(asked["folder"])
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run_python(asked["python"]) if "python" in asked else run_command(asked["arguments"])
        except BaseException:
            traceback.print_exc()
            code = 1
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def run_command(arguments: list[str]) -> int:
    from packetloom.cli.main import main

    sys.argv = ["packetloom", *arguments]
    try:
        main()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 0
    return 0


def run_python(text: str) -> int:
    import packetloom

    try:
        exec(text, {"packetloom": packetloom})
    except packetloom.PacketloomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def main() -> None:
    bound_memory()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what is printed past Python must not look like an answer
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
