"""Records a process that already runs: Python 3.14 executes a script of Eventide in it (sys.remote_exec, PEP 768).

The script imports eventide and starts the recording; a second one stops it. The process runs it between two
instructions of its main thread, so not while that waits in a system call.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from eventide.errors import UsageValueError
from eventide.run._attached import STATUS
from eventide.run._launch import Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from eventide.run._settings import Settings

_STOPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_PAUSE = 0.02  # seconds between two readings of the status
_TIMEOUT = 2.0  # seconds until the user reads why nothing happens
_OVER = {"complete", "exits"}  # states of a recording whose file is complete
_PACKAGES = str(Path(__file__).parents[2])
_CALL = """
import sys
sys.path.append({packages!r})
try:
    from eventide.run import _attached
finally:
    sys.path.remove({packages!r})
_attached.{call}
"""
_GUARDED = """
try:
{body}
except BaseException as error:
    import json, os
    with open({part!r}, "w") as file:
        json.dump({{"error": f"{{type(error).__name__}}: {{error}}"}}, file)
    os.replace({part!r}, {status!r})
"""


@dataclass(frozen=True)
class Attached(Ended):
    """How a process was left that was not started by us."""

    runs: bool  # it continues

    def describe(self) -> str:
        """Such as "process 812 continues"."""
        return f"process {self.pid} {'continues' if self.runs else 'has ended'}"


def attach(pid: int, settings: Settings, say: Callable[[str], None], begun: Callable[[], None]) -> Attached:
    """Record the process until --seconds, Ctrl-C, or its end. `say` prints; `begun` is called once it records."""
    if not hasattr(sys, "remote_exec"):
        raise UsageValueError(
            f"--pid needs Python 3.14 or later, for eventide and for the process; this is {sys.version.split()[0]}. "
            "Start the program with eventide run --start-on SIGUSR1 instead, and send it that signal"
        )
    watch = _pidfd(pid)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        with _Exchange(pid, watch) as exchange:
            began, start = time.time(), time.monotonic()
            exchange.run(f"begin({exchange.folder!r}, {settings.to_json()!r})")
            if exchange.wait("recording", say):
                begun()
                if not exchange.is_over():
                    exchange.run("end()")
                    exchange.wait("complete", say)
            peak, runs = _peak_bytes(pid), exchange.continues()
        return Attached(began, time.monotonic() - start, 0, peak, pid, runs)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(watch)


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageValueError(f"--pid {pid} is not a process: {why}; see ps") from error


class _Exchange:
    """A folder with the scripts, and with the state of the recording, which the process writes."""

    def __init__(self, pid: int, watch: int) -> None:
        self._pid, self._watch = pid, watch
        self.folder = ""
        self._script = Path()
        self._idle = False  # no script waits for the process

    def __enter__(self) -> Self:
        self.folder = tempfile.mkdtemp(prefix="eventide-pid-")
        self._script = Path(self.folder, "call.py")
        with suppress(OSError):  # of another user: root attaches to it
            owner = Path(f"/proc/{self._pid}").stat()
            os.chown(self.folder, owner.st_uid, owner.st_gid)
        return self

    def __exit__(self, *_: object) -> None:
        if self._idle or not self.runs:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:  # the process may still open it, and must do nothing then
            self._script.write_text("", encoding="utf-8")

    @property
    def runs(self) -> bool:
        """Whether the process still runs."""
        return not select.select([self._watch], [], [], 0)[0]

    def continues(self) -> bool:
        """Whether the process runs on; its last handler at exit may be ours."""
        if self.runs and self._state() == "exits":
            select.select([self._watch], [], [], _TIMEOUT)
        return self.runs

    def run(self, call: str) -> None:
        """Let the process execute _attached.CALL soon."""
        status = f"{self.folder}/{STATUS}"
        body = _CALL.format(packages=_PACKAGES, call=call).strip()
        text = _GUARDED.format(
            body="\n".join(f"    {line}" for line in body.splitlines()), part=f"{status}.part", status=status
        )
        self._script.write_text(text, encoding="utf-8")
        self._script.chmod(0o644)
        remote_exec: Any = getattr(sys, "remote_exec", None)  # since 3.14
        self._idle = True
        try:
            remote_exec(self._pid, str(self._script))
        except (RuntimeError, OSError) as error:
            if not self.runs:
                return
            raise UsageValueError(
                f"process {self._pid} cannot be recorded: {error}. It must be a process of Python "
                f"{sys.version_info[0]}.{sys.version_info[1]} of the same user, started without "
                "PYTHON_DISABLE_REMOTE_DEBUG; in a container, ptrace must be permitted"
            ) from error
        self._idle = False

    def wait(self, state: str, say: Callable[[str], None]) -> bool:
        """Wait until the process has executed it; False if it has ended. Ctrl-C gives up."""
        deadline: float | None = time.monotonic() + _TIMEOUT
        for signalled in self._looks():
            found = self._state()
            if found in {state, *_OVER}:
                self._idle = True
                return True
            if signalled:
                raise UsageValueError(
                    f"process {self._pid} has not run Python code since; "
                    + ("nothing was recorded" if state == "recording" else "the recording ends when it does")
                )
            if deadline is not None and time.monotonic() > deadline:
                deadline = None
                say(f"eventide: waiting for process {self._pid} to run Python code; Ctrl-C gives up")
        return False

    def is_over(self) -> bool:
        """Wait while it records; False if a signal says to stop now."""
        for signalled in self._looks():
            if self._state() in _OVER:
                return True
            if signalled:
                return False
        return True

    def _looks(self) -> Iterator[bool]:
        """Until the process has ended: whether a signal arrived since the last one."""
        while self.runs:
            yield signal.sigtimedwait(_STOPS, _PAUSE) is not None

    def _state(self) -> str:
        try:
            found = json.loads(Path(self.folder, STATUS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return ""
        if "error" in found:
            self._idle = True
            raise UsageValueError(f"process {self._pid} cannot be recorded: {found['error']}")
        return str(found["state"])


def _peak_bytes(pid: int) -> int:
    """Of resident memory; 0 if the process has ended."""
    with suppress(OSError, ValueError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    return 0
