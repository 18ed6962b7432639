"""The recording that `eventide run` starts inside the program, before its first line.

It never raises into the program and never prints to stdout; what it has to say goes to stderr in one line.
"""

from __future__ import annotations

import atexit
import json
import signal
import sys
import time
from _thread import allocate_lock, start_new_thread
from typing import Any


class Recording:
    """One recording of this process: started at once or by a signal, ended by time, by the signal or at exit."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._lock = allocate_lock()
        self._recorder: Any = None
        self._over = False

    def start(self) -> None:
        """Begin, once; a second call does nothing."""
        with self._lock:
            if self._recorder is not None or self._over:
                return
            from eventide.store._recorder import Recorder

            self._recorder = Recorder(self._settings["path"], ring=self._settings["ring"], stacks=True)
            self._recorder.start()
            atexit.unregister(self._recorder.close)  # ours comes later: see start()
        if self._settings["sample_ms"]:
            from eventide import _native

            _native.sampler_start(round(self._settings["sample_ms"] * 1e6))
        if self._settings["seconds"]:
            start_new_thread(self._stop_later, (self._settings["seconds"],))

    def stop(self) -> None:
        """End, once; what is recorded is in the file."""
        with self._lock:
            recorder, self._recorder, self._over = self._recorder, None, True
        if recorder is None:
            return
        from eventide import _native

        _native.sampler_stop()
        recorder.close()

    def toggle(self, *_: object) -> None:
        """Start, or stop what was started: the signal's handler."""
        try:
            if self._recorder is None and not self._over:
                self.start()
            else:
                self.stop()
        except Exception as error:  # noqa: BLE001 - a signal handler of ours must not raise into the program
            sys.stderr.write(f"eventide: {error}\n")

    def _stop_later(self, seconds: float) -> None:
        time.sleep(seconds)
        self.stop()


def start(settings: str) -> None:
    """Start as the settings say. `settings` is the JSON of cli._launch.Settings."""
    recording = Recording(json.loads(settings))
    # eventide's own exit handler, which drains the streams, was registered when it was imported; what is registered
    # later runs earlier, so this one goes below it.
    from eventide.runtime import _process

    atexit.unregister(_process._at_exit)  # noqa: SLF001
    atexit.register(recording.stop)
    atexit.register(_process._at_exit)  # noqa: SLF001
    _install_adapters()
    if recording._settings["start_on"]:  # noqa: SLF001
        signal.signal(getattr(signal, recording._settings["start_on"]), recording.toggle)  # noqa: SLF001
    else:
        recording.start()


def _install_adapters() -> None:
    """Each framework's adapter, when the program imports the framework."""
    from eventide import adapters

    adapters.install_when_imported()
