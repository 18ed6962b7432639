"""One recorded stretch of a profile: from the warm-up to its result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide.profiler._arguments import Options
from eventide.profiler._drops import Drops
from eventide.profiler._recording import recording
from eventide.profiler._result import ProfilerResult
from eventide.recording import Recorder, record_span

if TYPE_CHECKING:
    from eventide.profiler._sources import Sources
    from eventide.trace import Trace


class Cycle:
    """Recording from construction to finish() or drop(); what counts is what comes after begin_window()."""

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
        """The warm-up is over. Later calls change nothing."""
        if self._window is None:
            self._step = _native.now_ns()
            self._window = self._step // 1000 * 1000  # backends tell whole microseconds
            self._sources.mark()

    def end_of_step(self, number: int) -> None:
        """One step is over, the next begins."""
        now = _native.now_ns()
        record_span(f"ProfilerStep#{number}", "step", self._step, now, {"step": number}, work=number)
        self._step = now
        self._sources.mark()

    def finish(self, about: dict[str, Any], *, step: int | None) -> ProfilerResult:
        """The result. `step`: the number of the step that was cut short by the end, if steps were told at all."""
        if step:
            self.end_of_step(step)
        else:
            self._sources.mark()
        told = self._sources.pause()
        refused = _native.profiler_refused() - self._refused
        if refused:
            self._dropped.add("times that cannot be", refused)
        window = (self._window or 0, -(-_native.now_ns() // 1000) * 1000)
        trace = self._release()
        return ProfilerResult(self._shape(trace, window, {**about, **told}))

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
        from eventide.profiler._stacks import without_our_frames
        from eventide.trace import cut

        trace, clocks = settle(trace, window)
        warnings = [*trace.metadata["warnings"], *about.pop("warnings", [])]
        for backend, (count, distance) in outside(trace, window).items():
            self._dropped.add("outside the profile", count)
            warnings.append(
                f"{count} events of backend {backend!r} lie outside the profile, the nearest by "
                f"{distance / 1e9:.3g} s: its clock is not CLOCK_MONOTONIC; use adjust_timestamps=True"
            )
        for backend, model in clocks.items():
            if not model["consistent"]:
                warnings.append(f"no one offset fits the clock of backend {backend!r}: its times may all be wrong")
        if self._options.with_stack and not recording.stacks:
            warnings.append("a recording without stacks was running already: only operators and modules have stacks")
        if self._options.with_stack:
            trace = without_our_frames(trace)
        profiler = {"window": window, **about, "clocks": clocks}
        return cut(trace, *window).replace({"profiler": profiler, "warnings": warnings})

    def save(self, result: ProfilerResult, path: str | None) -> None:
        """Write the file that was asked for; it is there whole or not at all."""
        if path is not None and not path.lower().endswith(".eventide"):
            result.save(numbered(path, self._number))


def numbered(path: str, number: int) -> str:
    """t.json.gz for the first cycle, t.2.json.gz for the second."""
    if number == 0:
        return path
    file = Path(path)
    stem, dot, suffix = file.name.partition(".")
    return str(file.with_name(f"{stem}.{number + 1}{dot}{suffix}"))
