"""The recording that `eventide run` starts inside the program, before its first line.

It never raises into the program and never prints to stdout; each problem is one line on stderr.
"""

from __future__ import annotations

import signal
import sys
import time
from _thread import allocate_lock, start_new_thread
from dataclasses import replace
from typing import Any

from eventide.run._settings import Settings


class RunRecording:
    """The recording of this process: started at once or by a signal, stopped by time, by the signal or at exit.

    `step` is the number of steps that are complete, if a schedule counts them.
    """

    def __init__(self, settings: Settings, step: int | None = None) -> None:
        self._settings = settings
        self._step = step
        self._lock = allocate_lock()
        self._recorder: Any = None
        self._torch: Any = None
        self._stopped = False

    def start(self) -> None:
        """Start, once; a second call has no effect."""
        settings = self._settings
        with self._lock:
            if self._recorder is not None or self._stopped:
                return
            from eventide._util import process
            from eventide.recording import Recorder

            self._recorder = Recorder(
                settings.path,
                ring=settings.ring,
                stacks=True,
                dump_on=signal.Signals[settings.dump_on] if settings.dump_on else None,
                hang_seconds=settings.hang_seconds,
            )
            self._recorder.start()
            process.cancel_at_exit(self._recorder.close)  # our stop() is the one handler for exit
        if settings.torch:
            from eventide.integrations.torch import TorchRun

            self._torch = TorchRun(
                settings.torch, settings.torch_seconds, step=self._step or 0, steps=self._step is None
            )
        if settings.sample_ms:
            from eventide import _native

            _native.sampler_start(round(settings.sample_ms * 1e6))
        if settings.seconds:
            start_new_thread(self._stop_later, (settings.seconds,))

    def stop(self) -> None:
        """Stop, once; then the file is complete."""
        with self._lock:
            recorder, self._recorder, self._stopped = self._recorder, None, True
        if recorder is None:
            return
        from eventide import _native

        _native.sampler_stop()
        if self._torch is not None:
            self._torch.close()
        recorder.close()

    def reached(self, step: int) -> None:
        """So many steps are complete."""
        if self._torch is not None:
            self._torch.reached(step)

    def toggle(self, *_: object) -> None:
        """Start, or stop if it was started: the handler of --start-on."""
        try:
            if self._recorder is None and not self._stopped:
                self.start()
            else:
                self.stop()
        except Exception as error:  # noqa: BLE001 - a signal handler of ours must not raise into the program
            sys.stderr.write(f"eventide: {error}\n")

    def _stop_later(self, seconds: float) -> None:
        time.sleep(seconds)
        self.stop()


class ScheduledRecording:
    """Recordings of the steps that a schedule selects, a file for each cycle. torch's optimizers count the steps."""

    def __init__(self, settings: Settings, steps: tuple[int, int, int, int]) -> None:
        from eventide.profiler import ProfilerAction, schedule

        wait, warmup, active, repeat = steps
        self._action = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
        self._recorded = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        self._end_of_cycle = self._last = ProfilerAction.RECORD_AND_SAVE
        self._settings = settings
        self._cycles = 0
        self._recording: RunRecording | None = None

    def start(self) -> None:
        """Begin step 0; later steps are counted once torch is imported."""
        from eventide._util.on_import import when_imported

        self._reached(0)
        when_imported("torch", self._count_steps)

    def _count_steps(self) -> None:
        from eventide.integrations.torch import TorchSteps

        TorchSteps(self._reached)

    def _reached(self, step: int) -> None:
        action = self._action(step)
        if self._recording is not None:
            self._recording.reached(step)
        if action not in self._recorded or self._last is self._end_of_cycle:
            self.stop()
        if self._recording is None and action in self._recorded:
            self._cycles += 1
            path = self._settings.path
            name = path if self._cycles == 1 else f"{path.removesuffix('.eventide')}-{self._cycles}.eventide"
            self._recording = RunRecording(replace(self._settings, path=name), step)
            self._recording.start()
        self._last = action

    def stop(self) -> None:
        """Stop the recording of the current cycle."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.stop()


def start(text: str) -> None:
    """Record as the settings say; `text` is their JSON.

    At exit, runtime drains the streams, then the recording stops: it contains what runs while they are drained.
    """
    settings = Settings.from_json(text)
    from eventide import integrations, runtime  # noqa: F401 - runtime registers the draining of streams
    from eventide._util import process

    recording = ScheduledRecording(settings, settings.schedule) if settings.schedule else RunRecording(settings)
    process.at_exit(recording.stop, last=True)
    integrations.install_when_imported()
    if settings.dump_on:
        signal.signal(signal.Signals[settings.dump_on], _nothing_to_dump)
    if settings.start_on and isinstance(recording, RunRecording):  # the command refuses it with a schedule
        signal.signal(signal.Signals[settings.start_on], recording.toggle)
    else:
        recording.start()


def _nothing_to_dump(number: int, _: object) -> None:
    """The handler of --dump-on while nothing is recorded: the default action would end the program."""
    sys.stderr.write(f"eventide: {signal.Signals(number).name} received, but nothing is being recorded now\n")
