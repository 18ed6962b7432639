"""The recording that `eventide run` starts inside the program, before its first line.

It never raises into the program and never prints to stdout; each problem is one line on stderr.
"""

from __future__ import annotations

import signal
import sys
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any

from eventide._util.on_import import ImportHook, when_imported
from eventide.run._declares import declares_accesses
from eventide.run._settings import Settings
from eventide.run._tasks import trace_tasks


def raised() -> dict[str, Any] | None:
    """The exception that ended the program, and where it was raised; None if none did.

    Others set sys.last_value too, such as pytest for a test that failed: then its traceback does not begin in __main__.
    """
    error, at = getattr(sys, "last_value", None), getattr(sys, "last_traceback", None)
    if error is None or at is None or at.tb_frame.f_back is not None:
        return None
    if at.tb_frame.f_globals.get("__name__") not in {"__main__", "runpy"}:
        return None
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    return {"error": type(error).__name__, "function": code.co_name, "file": code.co_filename, "line": at.tb_lineno}


class RunRecording:
    """The recording of this process: started at once or by a signal, stopped by time, by the signal or at exit.

    `step` is the number of steps that are complete, if a schedule counts them; `stopped` is called when the file is
    complete.
    """

    def __init__(self, settings: Settings, step: int | None = None, stopped: Callable[[], None] = lambda: None) -> None:
        self._on_stopped = stopped
        self._settings = settings
        self._step = step
        self._lock = allocate_lock()
        self._recorder: Any = None
        self._torch: Any = None
        self._torch_hook: ImportHook | None = None
        self._stopped = False
        self._began_ns = 0

    def start(self) -> None:
        """Start, once; a second call has no effect."""
        settings = self._settings
        with self._lock:
            if self._recorder is not None or self._stopped:
                return
            from eventide import _native
            from eventide._util import process
            from eventide.recording import Recorder, note
            from eventide.runtime.access import accesses_are_declared

            self._recorder = Recorder(
                settings.path,
                ring=settings.ring,
                stacks=True,
                buffer=settings.buffer_mib << 20,
                dump_on=signal.Signals[settings.dump_on] if settings.dump_on else None,
                hang_seconds=settings.hang_seconds,
            )
            if declares_accesses():
                accesses_are_declared()
            self._recorder.start()
            process.cancel_at_exit(self._recorder.close)  # our stop() is the one handler for exit
        if settings.torch:
            self._torch_hook = when_imported("torch", self._trace_torch)
        if settings.sample_ms:
            _native.sampler_start(round(settings.sample_ms * 1e6))
        self._began_ns = _native.now_ns()  # what comes before is not the program's
        note({"run": self._run()})  # if the program is killed, its last record is the end
        if settings.seconds:
            start_new_thread(self._stop_later, (settings.seconds,))

    def _trace_torch(self) -> None:
        from eventide.integrations.torch import TorchRun

        settings = self._settings
        self._torch = TorchRun(settings.torch, settings.torch_seconds, step=self._step or 0, steps=self._step is None)

    def _run(self) -> dict[str, int]:
        return {"began_ns": self._began_ns, "sample_ns": round(self._settings.sample_ms * 1e6)}

    def stop(self) -> None:
        """Stop, once; then the file is complete."""
        with self._lock:
            recorder, self._recorder, self._stopped = self._recorder, None, True
        if recorder is None:
            return
        from eventide import _native
        from eventide.recording import note

        ended_ns = _native.now_ns()
        _native.sampler_stop()
        if self._torch_hook is not None:
            self._torch_hook.close()
        if self._torch is not None:
            self._torch.close()
        note({"run": {**self._run(), "ended_ns": ended_ns}})
        self._describe()
        recorder.close()
        self._on_stopped()

    def _describe(self) -> None:
        """What is only known at the end: the process's name, what it raised, and the children that still run."""
        from eventide import _native
        from eventide.recording import note

        _native.end_children()
        module = sys.modules.get("multiprocessing.process")
        name = str(module.current_process().name) if module is not None else ""
        note({"ended": {"name": "" if name == "MainProcess" else name, "raised": raised()}})

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
        except Exception as error:  # noqa: BLE001 - this signal handler must not raise into the program
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
            self._recording = RunRecording(self._settings._replace(path=name), step)
            self._recording.start()
        self._last = action

    def stop(self) -> None:
        """Stop the recording of the current cycle."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.stop()


class Current:
    """The recording of this process: a forked child has another one than its parent."""

    def __init__(self) -> None:
        self._recording: RunRecording | ScheduledRecording | None = None

    def begin(self, settings: Settings) -> RunRecording | ScheduledRecording:
        """Make the recording, which stops at exit; it is started by the caller."""
        from eventide._util import process

        recording = ScheduledRecording(settings, settings.schedule) if settings.schedule else RunRecording(settings)
        self._recording = recording
        process.at_exit(recording.stop, last=True)
        return recording

    def restart(self, settings: Settings) -> None:
        """In a forked child: the parent's recording is not its own."""
        from eventide._util import process

        if self._recording is not None:
            process.cancel_at_exit(self._recording.stop)
        self.begin(settings).start()

    def stop(self) -> None:
        """Stop the recording: the process ends at once, without Python's exit."""
        if self._recording is not None:
            self._recording.stop()


_current: list[Current] = []  # of `eventide run`


def is_recorded() -> bool:
    """Whether `eventide run` started this process."""
    return bool(_current)


def _as_child(settings: Settings) -> Settings:
    from eventide.recording import is_child
    from eventide.run._children import child_path

    is_child("python", settings.of_rank)
    return settings._replace(path=child_path(settings.children))


def start(text: str) -> None:
    """Record as the settings say; `text` is their JSON.

    At exit, runtime drains the streams, then the recording stops: it contains what runs while they are drained.
    """
    settings = Settings.from_json(text)
    from eventide import integrations, runtime  # noqa: F401 - runtime registers the draining of streams

    if settings.parent:
        settings = _as_child(settings)
    current = Current()
    _current.append(current)
    recording = current.begin(settings)
    integrations.install_when_imported()
    trace_tasks()
    if settings.children:
        from eventide.run._children import Children

        Children(settings, current.restart, current.stop)
    elif sys.version_info >= (3, 12):
        from eventide.run._children import silence_fork_warnings

        silence_fork_warnings()
    if settings.dump_on:
        signal.signal(signal.Signals[settings.dump_on], _nothing_to_dump)
    if settings.start_on and isinstance(recording, RunRecording):  # the command refuses it with a schedule
        signal.signal(signal.Signals[settings.start_on], recording.toggle)
    else:
        recording.start()


def _nothing_to_dump(number: int, _: object) -> None:
    """The handler of --dump-on while nothing is recorded: the default action would end the program."""
    sys.stderr.write(f"eventide: {signal.Signals(number).name} received, but nothing is being recorded now\n")
