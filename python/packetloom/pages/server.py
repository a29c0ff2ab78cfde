"""The report, served on this machine while the run goes on."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from packetloom.errors import PacketloomError
from packetloom.pages.report import report_page
from packetloom.store.case_rows import FLOWS
from packetloom.store.results import Results

HERE = "127.0.0.1"
OWN_NAMES = {HERE, "localhost", "[::1]"}
"""What a browser on this machine calls it, with whatever port: a tunnel from another machine may have its own there."""


class Live:
    """The page of some folders, made anew when another of their cases has finished."""

    def __init__(self, several: Sequence[Results]) -> None:
        self._several = several
        self._making = threading.Lock()
        self._stamp = ""
        self._page = b""

    def stamp(self) -> str:
        """What changes whenever a case finishes, or was computed again: which files of flows there are, since when."""
        with suppress(FileNotFoundError):  # one was just replaced, and the next look finds what came of it
            files = [file for one in self._several for file in sorted((one.path / FLOWS).glob("*.parquet"))]
            names = "\n".join(f"{file.name} {file.stat().st_mtime_ns}" for file in files)
            return hashlib.sha256(names.encode()).hexdigest()[:16]
        return self._stamp

    def page(self) -> bytes:
        """The page as it is now."""
        with self._making:
            stamp = self.stamp()
            if stamp != self._stamp:
                page = report_page(self._several)
                page.give(stamp=stamp)
                self._stamp, self._page = stamp, page.render().encode()
            return self._page


def server(several: Sequence[Results], port: int) -> ThreadingHTTPServer:
    """A server of the page, for this machine only."""
    live = Live(several)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):  # who asked has left
                if not self._is_for_us():
                    self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
                elif self.path == "/":
                    self._page()
                elif self.path == "/state":
                    self._answer("application/json", json.dumps({"stamp": live.stamp()}).encode())
                elif self.path == "/favicon.ico":
                    self._answer("image/x-icon", b"")
                else:
                    self.send_error(404)

        def _is_for_us(self) -> bool:
            """A page from elsewhere, whose name was made to lead here (DNS rebinding), asks for that name."""
            name, colon, number = self.headers.get("Host", "").strip().lower().rpartition(":")
            return (name if colon and number.isdecimal() else f"{name}{colon}{number}") in OWN_NAMES

        def _page(self) -> None:
            try:
                self._answer("text/html; charset=utf-8", live.page())
            except PacketloomError as problem:
                self._answer("text/plain; charset=utf-8", str(problem).encode(), status=500)

        def _answer(self, kind: str, content: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """A line for each request would hide what matters."""

    try:
        return ThreadingHTTPServer((HERE, port), Handler)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "it is in use: name another with --port" if taken else error.strerror
        raise PacketloomError(f"cannot listen on port {port}: {why}") from None
    except OverflowError:
        raise PacketloomError(f"there is no port {port}: ports are from 0 to 65535") from None


def serve(several: Sequence[Results], port: int) -> None:
    """Serves the page until Ctrl-C."""
    with server(several, port) as running:
        print(f"http://{HERE}:{running.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
