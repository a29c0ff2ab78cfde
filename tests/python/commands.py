"""The command without its start: a process that has loaded everything forks for each command.

A command is a process of its own as always, with its working directory, environment, output and exit code; what it does
not pay again are the one or two CPU-seconds of loading. Tests whose subject is the start, a signal or the process
itself start the real one.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

COLUMNS = "140"
TOO_LONG_S = 300.0

_server: tuple[int, subprocess.Popen[bytes], socket.socket] | None = None


def packetloom(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """`packetloom ARGUMENTS` in a folder, with the environment that tests have and these changes to it."""
    words = [str(word) for word in arguments]
    asked = {
        "arguments": words,
        "folder": str(cwd or Path.cwd()),
        "environment": {**os.environ, "COLUMNS": COLUMNS, **environment},
    }
    connection = _connection()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        socket.send_fds(connection, [len(text := json.dumps(asked).encode()).to_bytes(4)], [out.fileno(), err.fileno()])
        connection.sendall(text)
        try:
            code = int.from_bytes(_exactly(connection, 4), signed=True)
        except TimeoutError:
            _end()
            raise
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(words, code, out.read().decode(), err.read().decode())


def _connection() -> socket.socket:
    """To this process's server, which is started when it is first asked."""
    global _server
    if _server is None or _server[0] != os.getpid():
        ours, its = socket.socketpair()
        ours.settimeout(TOO_LONG_S)
        command = [sys.executable, __file__, str(its.fileno())]
        process = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
        its.close()
        _server = (os.getpid(), process, ours)
        atexit.register(_end)
    return _server[2]


def _end() -> None:
    global _server
    if _server is not None and _server[0] == os.getpid():
        _server[1].kill()
        _server[1].wait()
        _server = None


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        more = connection.recv(count - len(received))
        if not more:
            raise EOFError("the other end is gone")
        received += more
    return received


def _load() -> None:
    """What commands load sooner or later. None of it may leave threads, which a fork would lose."""
    import scipy.stats  # noqa: F401

    import packetloom.campaign.runner
    import packetloom.cli.main
    import packetloom.pages.figures
    import packetloom.pages.report
    import packetloom.start

    with suppress(ImportError):  # without numba
        import packetloom.schemes.compiler  # noqa: F401


def _serve(connection: socket.socket) -> None:
    while True:
        try:
            head, files, _, _ = socket.recv_fds(connection, 4, 2)
            if not head:
                return
            head += _exactly(connection, 4 - len(head)) if len(head) < 4 else b""
            asked = json.loads(_exactly(connection, int.from_bytes(head)))
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            connection.close()
            _become(asked, files)
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, signed=True))


def _become(asked: dict[str, Any], files: list[int]) -> None:
    """The command, to its end."""
    from packetloom.start import main

    for file, number in zip(files, (1, 2), strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["packetloom", *asked["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code: object = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(int(code or 0) & 0xFF)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end this
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))
