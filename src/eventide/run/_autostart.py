"""The recording that `eventide run` starts inside the program, before its first line.

It never raises into the program and never prints to stdout; what it has to say goes to stderr in one line.
"""

from __future__ import annotations

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
        self._torch: Any = None
        self._over = False

    def start(self) -> None:
        """Begin, once; a second call does nothing."""
        with self._lock:
            if self._recorder is not None or self._over:
                return
            from eventide._util import process
            from eventide.recording import Recorder

            settings = self._settings
            self._recorder = Recorder(
                settings["path"],
                ring=settings["ring"],
                stacks=True,
                dump_on=getattr(signal, settings["dump_on"]) if settings["dump_on"] else None,
                hang_seconds=settings["hang_seconds"],
            )
            self._recorder.start()
            process.cancel_at_exit(self._recorder.close)  # stop() is called later: see start()
        self._hear_torch()
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
        if self._torch is not None:
            self._torch.close()
        recorder.close()

    def _hear_torch(self) -> None:
        if self._settings["torch"]:
            from eventide.integrations.torch import TorchRun

            wanted, seconds = tuple(self._settings["torch"]), self._settings["torch_seconds"]
            step = self._settings.get("step")  # of a schedule, which counts them
            self._torch = TorchRun(wanted, seconds, step=step or 0, steps=step is None)

    def reached(self, step: int) -> None:
        """So many steps are over."""
        if self._torch is not None:
            self._torch.reached(step)

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


class Steps:
    """Recordings of the steps that a schedule wants, a file for each cycle. Steps come from torch's optimizers."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from eventide.profiler import ProfilerAction, schedule

        wait, warmup, active, repeat = settings["schedule"]
        self._action = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
        self._wanted = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        self._last = ProfilerAction.RECORD_AND_SAVE
        self._settings = settings
        self._cycles = 0
        self._recording: Recording | None = None

    def start(self) -> None:
        """Step 0 begins; torch's optimizers are heard once torch is there."""
        from eventide._util.on_import import when_imported

        self._reached(0)
        when_imported("torch", self._listen)

    def _listen(self) -> None:
        from eventide.integrations.torch import TorchSteps

        TorchSteps(self._reached)

    def _reached(self, step: int) -> None:
        action = self._action(step)
        if self._recording is not None:
            self._recording.reached(step)
        if self._recording is not None and (action not in self._wanted or step_saves(self._last)):
            self.stop()
        if self._recording is None and action in self._wanted:
            self._cycles += 1
            path = self._settings["path"]
            name = path if self._cycles == 1 else f"{path.removesuffix('.eventide')}-{self._cycles}.eventide"
            self._recording = Recording({**self._settings, "path": name, "step": step})
            self._recording.start()
        self._last = action

    def stop(self) -> None:
        """End the cycle that is being recorded."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.stop()


def step_saves(action: Any) -> bool:
    """Is this the last step of a cycle?"""
    return bool(action.name == "RECORD_AND_SAVE")


def start(settings: str) -> None:
    """Start as the settings say. `settings` is the JSON of run._launch.Settings."""
    options = json.loads(settings)
    recording = Steps(options) if options["schedule"] else Recording(options)
    from eventide import runtime  # noqa: F401 - its exit handler drains the streams
    from eventide._util import process

    process.at_exit(recording.stop, last=True)  # so the recording has what runs while streams are drained
    _install_adapters()
    if options["dump_on"]:
        signal.signal(getattr(signal, options["dump_on"]), _nothing_to_dump)
    if options["start_on"] and isinstance(recording, Recording):
        signal.signal(getattr(signal, options["start_on"]), recording.toggle)
    else:
        recording.start()


def _nothing_to_dump(number: int, _: object) -> None:
    """What the signal does while nothing is recorded; left to the system, it would end the program."""
    sys.stderr.write(f"eventide: {signal.Signals(number).name} came, but nothing is being recorded now\n")


def _install_adapters() -> None:
    """Each framework's adapter, when the program imports the framework."""
    from eventide import integrations

    integrations.install_when_imported()
