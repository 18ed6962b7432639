"""The one recording that all running profiles of this process share.

The first profile starts it, the last one stops it; each gets the part of the time in which it ran. Profiles may nest
and may end in any order. It is written as it goes, beside the file that the first profile is to write: a process that
is killed leaves t.pftrace.eventide behind, which ``eventide.open_trace`` reads.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.recording import Recorder

if TYPE_CHECKING:
    from eventide.trace import Trace


class Recording:
    """`_lock` guards the rest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None
        self._users = 0
        self._scratch: Path | None = None  # its file, if nobody wants to keep it
        self.stacks = False  # does it take stacks

    def acquire(self, path: str | None, *, stacks: bool) -> bool:
        """Begin to use it; True: it started now, into `path` itself if that is a .eventide file, else beside it."""
        with self._lock:
            started = self._recorder is None
            if self._recorder is None:
                keep = path is not None and path.lower().endswith(".eventide")
                target = path if keep or path is None else f"{path}.eventide"
                self._recorder = Recorder(target, stacks=stacks).start()
                self._scratch = Path(target) if target is not None and not keep else None
                self.stacks = stacks
            self._users += 1
            return started

    def release(self) -> Trace:
        """End to use it: all that it has. It stops if nobody uses it any more."""
        with self._lock:
            self._users -= 1
            recorder = self._recorder
            assert recorder is not None  # noqa: S101  (acquired before)
            if self._users:
                return _so_far(recorder)
            self._recorder = None
            try:
                return recorder.stop()
            finally:
                if self._scratch is not None:
                    self._scratch.unlink(missing_ok=True)

    def forget(self) -> None:
        """In a forked child: the recording is the parent's."""
        self._lock = threading.Lock()
        self._recorder, self._users = None, 0


def _so_far(recorder: Recorder) -> Trace:
    from eventide.trace import open_trace

    with tempfile.TemporaryDirectory(prefix="eventide-") as folder:
        return open_trace(recorder.dump(Path(folder) / "part.eventide"))


recording = Recording()
