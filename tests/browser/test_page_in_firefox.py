"""The page in Firefox ESR, driven by its own protocol (Marionette): the timeline is drawn and its keys act."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eventide.report import report
from tests.unit.test_page import trace_of

pytestmark = pytest.mark.heavy
READY = """
const done = arguments[arguments.length - 1];
const look = () => {
  const own = window.eventide;
  if (!own || !own.timeline.painter.filled) return requestAnimationFrame(look);
  const { canvas, t0, t1 } = own.timeline;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let coloured = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i] === 0x5b && data[i + 1] === 0x8c && data[i + 2] === 0x3a) coloured++;
  done([coloured, t1 - t0]);
};
look();
"""  # the colour is that of operators on a light page
ZOOM = 'document.dispatchEvent(new KeyboardEvent("keydown", {key: "w", bubbles: true}));'


class Marionette:
    """Commands are [0, number, name, parameters] with their length in front; answers [1, number, error, result]."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._number = 0
        self._read()  # its greeting

    def __call__(self, name: str, **parameters: Any) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        assert error is None, error
        return result

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._socket.recv(1)
        body, wanted = b"", int(length[:-1])
        while len(body) < wanted:
            body += self._socket.recv(wanted - len(body))
        return json.loads(body)


@pytest.mark.timeout(180)
def test_firefox_draws_the_timeline_and_zooms(tmp_path: Path) -> None:
    firefox = shutil.which("firefox-esr")
    if firefox is None:
        pytest.skip("needs Firefox ESR (Debian: firefox-esr)")
    file, profile = tmp_path / "report.html", tmp_path / "profile"
    profile.mkdir()
    port = free_port()
    prefs = {"marionette.port": port, "ui.systemUsesDarkTheme": 0, "datareporting.policy.dataSubmissionEnabled": False}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in prefs.items()]
    (profile / "user.js").write_text("\n".join(lines))
    report(trace_of([(0, "long", 0, 9000), (2, "k", 500, 9000)]), file)
    command = [firefox, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            assert any("Listening on port" in line for line in process.stdout)
            drive = Marionette(port)
            drive("WebDriver:NewSession")
            drive("WebDriver:Navigate", url=file.as_uri())
            coloured, whole = drive("WebDriver:ExecuteAsyncScript", script=READY, args=[])["value"]
            drive("WebDriver:ExecuteScript", script=ZOOM, args=[])
            _, near = drive("WebDriver:ExecuteAsyncScript", script=READY, args=[])["value"]
            drive.close()
        finally:
            process.kill()
    assert coloured > 3000
    assert near == pytest.approx(0.6 * whole)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
