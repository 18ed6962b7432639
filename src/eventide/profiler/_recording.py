"""The one recording that all running profiles of this process share.

The first profile starts it, the last one stops it; each gets the part of the time in which it ran. Profiles may nest
and may end in any order.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from eventide import _native
from eventide.store import Recorder

if TYPE_CHECKING:
    from eventide.store import Trace


class Recording:
    """`_lock` guards the rest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None
        self._users = 0
        self.stacks = False  # does it take stacks

    def acquire(self, *, stacks: bool) -> None:
        """Begin to use it; it starts if nobody did."""
        with self._lock:
            if self._recorder is None:
                self._recorder = Recorder(stacks=stacks).start()
                self.stacks = stacks
            self._users += 1

    def release(self) -> Trace:
        """End to use it: all that it has. It stops if nobody uses it any more."""
        with self._lock:
            self._users -= 1
            recorder = self._recorder
            assert recorder is not None  # noqa: S101  (acquired before)
            if self._users == 0:
                self._recorder = None
                return recorder.stop()
            return _so_far(recorder)

    def forget(self) -> None:
        """In a forked child: the recording is the parent's."""
        self._lock = threading.Lock()
        self._recorder, self._users = None, 0


def _so_far(recorder: Recorder) -> Trace:
    from eventide.store import open_trace

    _native.recorder_flush()  # sets the clock, too
    with tempfile.TemporaryDirectory(prefix="eventide-") as folder:
        return open_trace(recorder.dump(Path(folder) / "part.eventide"))


recording = Recording()
