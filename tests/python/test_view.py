"""`packetloom view` answers to this machine's own names only: a page from elsewhere could be made to lead here."""

import socket
import threading
from collections.abc import Iterator

import pytest

import packetloom
from packetloom.pages.server import server
from packetloom.store.results import Results

pytestmark = pytest.mark.unaudited


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    scenario = {
        "topology": {"kind": "rack", "hosts": 3},
        "workload": [{"sizes": {"kind": "constant", "size": "2KB"}}],
        "scheme": [{"name": "TCP", "transport": "tcp", "queue": "drop-tail"}],
        "run": {"loads": [0.5], "flows": 3},
    }
    results = packetloom.run(scenario, tmp_path_factory.mktemp("view") / "out", progress=False, cache=False)
    with server([Results(results.path)], 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_port
        running.shutdown()


def status(port: int, request: str) -> int:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request.encode())
        return int(connection.makefile().readline().split()[1])


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "LocalHost:{}", "[::1]:{}", "localhost", "[::1]"])
def test_own_names(host: str, port: int) -> None:
    assert status(port, f"GET /state HTTP/1.1\r\nHost: {host.format(port)}\r\nConnection: close\r\n\r\n") == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{}",
        "evil.example",
        "127.0.0.1.evil.example:{}",
        "localhost.evil.example",
        "127.0.0.2:{}",
        "",
        ":{}",
    ],
)
@pytest.mark.parametrize("path", ["/", "/state", "/favicon.ico", "/nothing"])
def test_other_names(host: str, path: str, port: int) -> None:
    assert status(port, f"GET {path} HTTP/1.1\r\nHost: {host.format(port)}\r\nConnection: close\r\n\r\n") == 421


def test_no_name(port: int) -> None:
    assert status(port, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n") == 421
