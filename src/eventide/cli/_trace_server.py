"""A server of one trace for the Perfetto UI in the browser of this machine: one path, one origin."""

from __future__ import annotations

import mimetypes
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

UI = "https://ui.perfetto.dev"
PORT = 9001  # the only port that the policy of UI lets it connect to


class TraceServer(ThreadingHTTPServer):
    """Serves `trace` on 127.0.0.1 to pages of the Perfetto UI; with `ui` also that folder, a release of it."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, trace: Path, ui: Path | None = None, port: int = PORT) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.trace, self.ui = trace, ui.resolve() if ui is not None else None
        self.here = f"http://127.0.0.1:{self.server_port}"
        self.origin = UI if ui is None else self.here
        self.path = f"/{quote(trace.name)}"
        self.fetched = threading.Event()

    @property
    def address(self) -> str:
        """What the browser opens."""
        return f"{self.origin}/#!/?url={self.here}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: TraceServer

    def do_OPTIONS(self) -> None:
        if self._allowed():
            self.send_response(204)
            self._headers()
            self.send_header("Access-Control-Allow-Methods", "GET")
            self.send_header("Access-Control-Allow-Private-Network", "true")
            self.end_headers()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == self.server.path:
            if self._allowed():
                self._send(self.server.trace, "application/octet-stream")
                self.server.fetched.set()
            return
        file = self._file_of_ui(path)
        if file is None or not self._is_here():
            self.send_error(404)
            return
        self._send(file, mimetypes.guess_type(file.name)[0] or "application/octet-stream")

    def _allowed(self) -> bool:
        """Whether the request is from a page of the UI; another site, or another name of this machine, gets 403."""
        origin = self.headers.get("Origin")
        same = origin is None and self.server.ui is not None and self.headers.get("Sec-Fetch-Site") == "same-origin"
        if self._is_here() and (same or origin == self.server.origin):
            return True
        self.send_error(403)
        return False

    def _is_here(self) -> bool:
        return self.headers.get("Host") in {
            f"127.0.0.1:{self.server.server_port}",
            f"localhost:{self.server.server_port}",
        }

    def _file_of_ui(self, path: str) -> Path | None:
        root = self.server.ui
        if root is None:
            return None
        file = (root / unquote(path).lstrip("/")).resolve()
        file = file / "index.html" if file == root else file
        return file if file.is_relative_to(root) and file.is_file() else None

    def _send(self, file: Path, kind: str) -> None:
        with file.open("rb") as opened:
            self.send_response(200)
            self._headers()
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(file.stat().st_size))
            self.end_headers()
            while piece := opened.read(1 << 20):
                self.wfile.write(piece)

    def handle(self) -> None:
        with suppress(ConnectionError):  # the browser left; it may ask again
            super().handle()

    def _headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", self.server.origin)
        self.send_header("Cache-Control", "no-store")

    def log_message(self, *_: object) -> None:
        """Only the command prints."""
