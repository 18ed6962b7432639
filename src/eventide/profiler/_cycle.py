"""One recorded stretch of a profile: from the warm-up to its result."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eventide import _native
from eventide.profiler._options import Options
from eventide.profiler._result import ProfilerResult
from eventide.recording import Recorder, record_span

if TYPE_CHECKING:
    from eventide.profiler._sources import Sources
    from eventide.trace import Trace


_log = logging.getLogger("eventide.profiler")
_SAID = {
    "after disable": "a backend's event came after the profile was stopped; such are dropped and counted",
    "before start": "a backend's event came before the profile was started; such are dropped and counted",
}


class Drops(dict[str, int]):
    """Counts by reason. The same object is in the result, so that late records are counted there too."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def add(self, reason: str, count: int = 1) -> None:
        """Count; a reason that indicates a mistake is logged once."""
        with self._lock:
            first = reason not in self
            self[reason] = self.get(reason, 0) + count
        if first and reason in _SAID:
            _log.warning("%s", _SAID[reason])


_PACKAGE = Path(__file__).parents[1]
_OURS = (
    str(_PACKAGE / "profiler") + os.sep,
    str(_PACKAGE / "integrations" / "torch") + os.sep,
    str(_PACKAGE / "recording" / "_recorder.py"),
)
# Between our dispatch mode and the operator that called it.
_BETWEEN = ("torch/_compile.py", "torch/_dynamo/eval_frame.py", "torch/utils/_python_dispatch.py")


def without_our_frames(trace: Trace) -> Trace:
    """The innermost frames of the profiler itself, and what torch puts between it and the program, are left out."""
    stacks = trace.stacks["frames"].to_pylist()
    if not any(frames and _ours(frames[0]) for frames in stacks):
        return trace
    cleaned = [_clean(frames) for frames in stacks]
    return trace.replace(stacks={"frames": pa.array(cleaned, trace.stacks.schema.field("frames").type)})


def _clean(frames: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    if not frames or not _ours(frames[0]):
        return frames
    first = next((number for number, frame in enumerate(frames) if not _ours(frame)), len(frames))
    while first < len(frames) and frames[first]["file"].endswith(_BETWEEN):
        first += 1
    return frames[first:]


def _ours(frame: dict[str, Any]) -> bool:
    return bool(frame["file"].startswith(_OURS))


class _ProfileRecorder(Recorder):
    """Profiles request of backends what they need by themselves."""

    _takes_reports = False


class Recording:
    """`_lock` guards the rest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None
        self._users = 0
        self._scratch: Path | None = None  # its file, if it is not to be kept
        self.stacks = False  # does it take stacks

    def acquire(self, path: str | None, *, stacks: bool) -> bool:
        """Begin to use it; True: it started now, into `path` itself if that is a .eventide file, else beside it."""
        with self._lock:
            started = self._recorder is None
            if self._recorder is None:
                keep = path is not None and path.lower().endswith(".eventide")
                target = path if keep or path is None else f"{path}.eventide"
                self._recorder = _ProfileRecorder(target, stacks=stacks).start()
                self._scratch = Path(target) if target is not None and not keep else None
                self.stacks = stacks
            self._users += 1
            return started

    def release(self) -> Trace:
        """Stop using it; returns all that it has recorded. The last user stops it."""
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


class Cycle:
    """Recording from construction to finish() or drop(); only records after begin_window() count."""

    def __init__(self, options: Options, sources: Sources, dropped: Drops, *, number: int) -> None:
        self._options = options
        self._sources = sources
        self._dropped = dropped
        self._number = number  # of cycles before this one
        self._file: Recorder | None = None
        self._window: int | None = None
        self._step = 0
        self._refused = _native.profiler_refused()
        path = numbered(options.path, number) if options.path is not None else None
        started = recording.acquire(path, stacks=options.with_stack)
        try:
            sources.resume()
            if path is not None and path.lower().endswith(".eventide") and not started:
                self._file = Recorder(path).start()  # inside the other: a copy of its time
        except BaseException:
            recording.release()
            raise

    def begin_window(self) -> None:
        """The warm-up has ended. Later calls change nothing."""
        if self._window is None:
            self._step = _native.now_ns()
            self._window = self._step // 1000 * 1000  # backends report whole microseconds
            self._sources.mark()

    def end_of_step(self, number: int) -> None:
        """One step has ended, the next begins."""
        now = _native.now_ns()
        record_span(f"ProfilerStep#{number}", "step", self._step, now, {"step": number}, work=number)
        self._step = now
        self._sources.mark()

    def finish(self, about: dict[str, Any], *, step: int | None) -> ProfilerResult:
        """The result. `step`: the number of the step that was cut short by the end, if there were steps."""
        if step:
            self.end_of_step(step)
        else:
            self._sources.mark()
        more = self._sources.pause()
        refused = _native.profiler_refused() - self._refused
        if refused:
            self._dropped.add("invalid times", refused)
        window = (self._window or 0, -(-_native.now_ns() // 1000) * 1000)
        trace = self._release()
        return ProfilerResult(self._shape(trace, window, {**about, **more}))

    def drop(self) -> None:
        """Nothing of it is wanted: it was only warmed up."""
        self._sources.pause()
        self._release()

    def _release(self) -> Trace:
        try:
            if self._file is not None and self._file.recording:
                self._file.stop()
        finally:
            trace = recording.release()
        return trace

    def _shape(self, trace: Trace, window: tuple[int, int], about: dict[str, Any]) -> Trace:
        from eventide.profiler._backends import outside, settle
        from eventide.profiler._handles import with_modules
        from eventide.trace import cut

        trace, clocks = settle(trace, window)
        trace = with_modules(trace)
        warnings = [*trace.metadata["warnings"], *about.pop("warnings", [])]
        for backend, (count, distance) in outside(trace, window).items():
            self._dropped.add("outside the profile", count)
            warnings.append(
                f"{count} events of backend {backend!r} lie outside the profile, the nearest by "
                f"{distance / 1e9:.3g} s: its clock is neither CLOCK_MONOTONIC nor Unix time; "
                "use adjust_timestamps=True"
            )
        for backend, model in clocks.items():
            if not model["consistent"]:
                warnings.append(f"no one offset fits the clock of backend {backend!r}: its times may all be wrong")
        if self._options.with_stack and not recording.stacks:
            warnings.append("a recording without stacks was running already: only operators and modules have stacks")
        if self._options.with_stack:
            trace = without_our_frames(trace)
        user = about.pop("user", {})
        profiler = {"window": window, **about, "clocks": clocks}
        metadata = {"profiler": profiler, "warnings": warnings, **({"user": user} if user else {})}
        return cut(trace, *window).replace(metadata)

    def save(self, result: ProfilerResult, path: str | None) -> None:
        """Write the file at `path`, whole or not at all."""
        if path is not None and not path.lower().endswith(".eventide"):
            result.save(numbered(path, self._number))


def numbered(path: str, number: int) -> str:
    """t.json.gz for the first cycle, t.2.json.gz for the second."""
    if number == 0:
        return path
    file = Path(path)
    stem, dot, suffix = file.name.partition(".")
    return str(file.with_name(f"{stem}.{number + 1}{dot}{suffix}"))
