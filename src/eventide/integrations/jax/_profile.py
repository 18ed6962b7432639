"""JAX's profiles become part of the recording: those that the program takes, and one that Eventide takes on request.

`start_trace` and `stop_trace` of jax.profiler are wrapped. When the program's profile has stopped, and its file is
written, the file is read and its events are recorded on tracks of their own, on the trace's clock. JAX has one profile
at a time: ours ends when the program begins one.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eventide import _native
from eventide.integrations._patch import Installation, guarded
from eventide.runtime import HostClock

_log = logging.getLogger("eventide.integrations")
_lock = threading.Lock()  # guards _running and _ours
_running: _Running | None = None  # the program's profile
_ours: _Ours | None = None
_COLUMNS = ("track", "name", "category", "start", "duration", "args", "work", "correlation")
_FLUSH = 10_000  # spans between two flushes of the recorder


class _Running:
    """A profile that is written to a directory."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.clock = HostClock("CLOCK_REALTIME")


def install(profiler: Any, installation: Installation) -> None:
    """Wrap the functions of jax.profiler in both modules in which programs and JAX look them up."""
    for module in (profiler, sys.modules[profiler.start_trace.__module__]):  # `jax.profiler.trace` uses the second
        installation.wrap(module, "start_trace", _traced_start)
        installation.wrap(module, "stop_trace", _traced_stop)


def _traced_start(original: Callable[..., Any]) -> Callable[..., Any]:
    def start_trace(log_dir: Any, *args: Any, **kwargs: Any) -> Any:
        _end_ours()
        result = original(log_dir, *args, **kwargs)
        _started(str(log_dir))
        return result

    return start_trace


def _traced_stop(original: Callable[..., Any]) -> Callable[..., Any]:
    def stop_trace(*args: Any, **kwargs: Any) -> Any:
        _end_ours()
        result = original(*args, **kwargs)
        _stopped()
        return result

    return stop_trace


@guarded
def _started(directory: str) -> None:
    global _running  # noqa: PLW0603  (JAX has one)
    with _lock:
        _running = _Running(directory)


@guarded
def _stopped() -> None:
    global _running
    with _lock:
        running, _running = _running, None
    if running is not None:
        _import(running)


@guarded
def _end_ours() -> None:
    ours = _ours
    if ours is not None:
        ours.stop()


def _import(running: _Running) -> None:
    """Record what is in the newest file of the directory."""
    from eventide.trace.formats import xplane

    if not _native.recorder_path():
        return
    began = time.monotonic_ns()
    files = xplane.profiles_in(Path(running.directory))
    if not files:
        _log.warning("the profile of JAX in %r is not in the trace: no file of it can be read here", running.directory)
        return
    file = max(files, key=lambda one: one.stat().st_mtime_ns)
    trace = xplane.read(file)
    running.clock.sample()
    spans = record_profile(trace, running.clock)
    summary = {"file": file.name, "spans": spans, "clock_error_ns": running.clock.error_ns(time.time_ns())}
    _native.record_span(None, "read JAX's profile", "span", began, time.monotonic_ns(), json.dumps(summary))


def record_profile(trace: Any, clock: HostClock) -> int:
    """Add a profile to the recording; returns the number of spans."""
    tracks = [_track(row) for row in trace.tracks.to_pylist()]
    at = clock.to_trace
    number = 0
    columns = [trace.spans.column(name).to_pylist() for name in _COLUMNS]
    for number, (track, name, category, start, duration, args, work, correlation) in enumerate(
        zip(*columns, strict=True), 1
    ):
        began = at(start)
        _native.record_span(
            tracks[track],
            name,
            "span" if category == "compile" else category,  # jax.monitoring has reported the compiles
            began,
            max(began, at(start + duration)),
            args,
            work=max(0, work or 0),
            correlation=max(0, correlation or 0),
        )
        if number % _FLUSH == 0:
            _native.recorder_flush()
    for edge in trace.edges.to_pylist():
        if edge["kind"] != "launch":  # those follow from the correlation ids, when the recording is read
            ends = (tracks[edge["from_track"]], at(edge["from_time"]), tracks[edge["to_track"]], at(edge["to_time"]))
            _native.record_edge(edge["kind"], *ends)
    _native.recorder_flush()
    return number


def _track(row: dict[str, Any]) -> str:
    kept = {name: row[name] for name in ("kind", "tid", "device", "stream") if row[name] is not None}
    return json.dumps({**kept, "name": f"JAX {row['name']}"})


class _Ours:
    """A profile that Eventide takes: without JAX's Python tracer, which is the largest part of the cost."""

    def __init__(self, profiler: Any) -> None:
        self._stop = _original(profiler.stop_trace)
        self._folder = tempfile.TemporaryDirectory(prefix="eventide-jax-")
        options = profiler.ProfileOptions()
        options.python_tracer_level = 0
        try:
            _original(profiler.start_trace)(self._folder.name, profiler_options=options)
        except BaseException:
            self._folder.cleanup()
            raise
        self._running = _Running(self._folder.name)

    def stop(self) -> None:
        """End it once, and record its events."""
        global _ours  # noqa: PLW0603  (JAX has one)
        with _lock:
            if _ours is not self:
                return
            _ours = None
        try:
            self._stop()
            _import(self._running)
        finally:
            self._folder.cleanup()


def _original(function: Callable[..., Any]) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(function, "__wrapped__", function)
    return found


@contextmanager
def profile() -> Iterator[None]:
    """Take a profile of JAX in this block, and record its events: operations, dispatches, devices' streams.

    It costs what a profile of JAX costs, its Python tracer apart. Inside a profile of the program it does nothing: that
    one is recorded when it stops.
    """
    global _ours  # noqa: PLW0603  (JAX has one)
    from jax import profiler

    ours: _Ours | None = None
    try:
        ours = _Ours(profiler)
    except RuntimeError as error:  # a profile is running
        _log.warning("no profile of JAX is taken here: %s", error)
    with _lock:
        _ours = ours or _ours
    try:
        yield
    finally:
        if ours is not None:
            guarded(ours.stop)()
