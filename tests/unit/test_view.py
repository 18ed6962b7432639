"""`eventide view`: the Perfetto UI gets the trace, and nothing else gets it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

import eventide as et
from eventide.cli import _output, main
from eventide.cli._trace_server import UI, TraceServer


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "my trace.pftrace"
    file.write_bytes(b"packets" * 1000)
    return file


def run(server: TraceServer) -> Iterator[TraceServer]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server(trace: Path) -> Iterator[TraceServer]:
    yield from run(TraceServer(trace, port=0))


def get(server: TraceServer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = HTTPConnection("127.0.0.1", server.server_port)
    try:
        connection.request(method, path, headers=names)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_the_ui_gets_the_trace_once_it_asks_and_its_origin_alone_may_read_it(server: TraceServer, trace: Path) -> None:
    assert server.address == f"{UI}/#!/?url=http://127.0.0.1:{server.server_port}/my%20trace.pftrace"
    status, headers, body = get(server, server.path, Origin=UI)
    assert (status, body) == (200, trace.read_bytes())
    assert headers["Access-Control-Allow-Origin"] == UI
    assert server.fetched.wait(10)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/my%20trace.pftrace", {"Origin": "https://evil.example"}, 403),
        ("/my%20trace.pftrace", {}, 403),
        ("/my%20trace.pftrace", {"Origin": UI, "Host": "evil.example:9001"}, 403),
        ("/my%20trace.pftrace", {"Sec_Fetch_Site": "same-origin"}, 403),
        ("/", {"Origin": UI}, 404),
        ("/../../etc/passwd", {"Origin": UI}, 404),
    ],
)
def test_others_get_nothing(server: TraceServer, path: str, headers: dict[str, str], status: int) -> None:
    assert get(server, path, **headers)[0] == status
    assert not server.fetched.is_set()


def test_a_browser_that_leaves_halfway_may_ask_again(
    server: TraceServer, trace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace.write_bytes(b"x" * (64 << 20))
    with socket.create_connection(("127.0.0.1", server.server_port)) as left:
        head = f"GET {server.path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\nOrigin: {UI}\r\n\r\n"
        left.sendall(head.encode())
        assert left.recv(100).startswith(b"HTTP/1.0 200")
        left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert get(server, server.path, Origin=UI)[0] == 200
    assert server.fetched.wait(10)
    assert capfd.readouterr().err == ""


def test_a_preflight_of_the_ui_is_answered_and_of_others_refused(server: TraceServer) -> None:
    status, headers, _ = get(server, server.path, "OPTIONS", Origin=UI)
    assert (status, headers["Access-Control-Allow-Private-Network"]) == (204, "true")
    assert get(server, server.path, "OPTIONS", Origin="https://evil.example")[0] == 403


def test_an_offline_ui_is_served_from_its_folder_alone(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "index.html").write_text("<p>ui")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "ui" / "link").symlink_to(tmp_path / "secret")
    for server in run(TraceServer(trace, tmp_path / "ui", port=0)):
        assert server.address.startswith(f"http://127.0.0.1:{server.server_port}/#!/?url=")
        assert get(server, "/")[::2] == (200, b"<p>ui")
        assert get(server, server.path, Sec_Fetch_Site="same-origin")[0] == 200
        for path in ("/../secret", "/%2e%2e/secret", "/link", "/none"):
            assert get(server, path)[0] == 404


def test_the_command_ends_when_the_page_has_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with et.Recorder(tmp_path / "a.eventide"):
        et.instant("1")
    said: list[str] = []
    got: list[int] = []

    def fetch(text: str) -> None:
        said.append(text)
        if "open https" in text:
            address = text.rpartition("url=http://127.0.0.1:")[2]
            port, _, path = address.partition("/")
            connection = HTTPConnection("127.0.0.1", int(port))
            connection.request("GET", f"/{path}", headers={"Origin": UI})
            answer = connection.getresponse()
            got.append(answer.status)
            (tmp_path / "b.pftrace").write_bytes(answer.read())
            connection.close()

    monkeypatch.setattr(_output, "say", fetch)
    assert main(["view", str(tmp_path / "a.eventide"), "--no-open", "--port", "0"]) == 0
    assert got == [200]
    assert any("uploads nothing" in text for text in said)
    assert et.open_trace(tmp_path / "b.pftrace").instants.num_rows == 1


def test_a_port_in_use_and_a_folder_that_is_no_ui_are_errors(
    server: TraceServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with et.Recorder(tmp_path / "a.eventide"):
        pass
    assert main(["view", str(tmp_path / "a.eventide"), "--no-open", "--port", str(server.server_port)]) == 2
    assert f"cannot serve on 127.0.0.1:{server.server_port}: Address already in use" in capsys.readouterr().err
    assert main(["view", str(tmp_path / "a.eventide"), "--ui", str(tmp_path)]) == 2
    assert "is not an unzipped Perfetto UI: it has no index.html" in capsys.readouterr().err
