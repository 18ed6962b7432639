"""Recorder: records this process into a .eventide file; its result is a Trace."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from eventide import _native
from eventide._util import process
from eventide._util.subscription import Subscription
from eventide.errors import TraceFileError, UsageError, UsageTypeError, UsageValueError
from eventide.recording._identity import identity
from eventide.runtime.access import recording_started, recording_stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

    from eventide.trace import Trace

BUFFER = 32 << 20
SMALLEST = 1 << 20

_before_stop: list[Callable[[], None]] = []

_OTHER_FORMATS = (".pftrace", ".perfetto-trace", ".json", ".json.gz", ".parquet", ".html", ".txt")


class Recorder:
    """Records all hooks, spans, instants and counters of all threads, from start() to stop().

    ``path`` is the .eventide file (None: a temporary one, deleted once it is read). ``ring`` keeps only the newest
    records, up to ``buffer`` bytes. ``durable`` puts the buffer on disk beside the file instead of into shared memory.
    ``stacks`` takes the Python stack with every span and hook. The signal ``dump_on`` copies what is recorded so far,
    while recording continues; so do ``hang_seconds`` without a record. ``t.eventide`` is copied to
    ``t-dump-1.eventide`` and so on, even if no Python can run, and a line on stderr reports it. A process that is
    killed leaves a file that ``eventide.open_trace`` reads. The file of a recorder inside another one is a copy of its
    time.
    """

    _takes_reports = True  # of backends that use eventide/profiler.h

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        ring: bool = False,
        durable: bool = False,
        stacks: bool = False,
        buffer: int = BUFFER,
        dump_on: int | None = None,
        hang_seconds: float | None = None,
    ) -> None:
        if path is not None and not isinstance(path, str | os.PathLike):
            raise UsageTypeError(f"Recorder takes the path of its file, not {type(path).__name__}")
        if path is not None and Path(path).name.lower().endswith(_OTHER_FORMATS):
            raise UsageValueError(
                f"a recorder writes .eventide files, not {os.fspath(path)!r}; record to a "
                f"file ending in .eventide and then call recorder.trace.save({os.fspath(path)!r}), or use et.profile"
            )
        if isinstance(buffer, bool) or not isinstance(buffer, int):
            raise UsageTypeError(f"buffer is a number of bytes, not {type(buffer).__name__}")
        if buffer < SMALLEST:
            raise UsageValueError(f"buffer={buffer} is too small; a recorder needs {SMALLEST} bytes or more")
        self._given = None if path is None else Path(path).absolute()
        self._options: dict[str, Any] = {
            "buffer": buffer,
            "ring": bool(ring),
            "durable": bool(durable),
            "stacks": bool(stacks),
            "dump_signal": _signal(dump_on),
            "hang_ns": _nanoseconds(hang_seconds),
        }
        if path is None and (dump_on is not None or hang_seconds is not None):
            raise UsageValueError("dump_on and hang_seconds make copies beside the file; give Recorder its path")
        self._path: Path | None = None
        self._outer: Path | None = None  # the recording that this one is a part of
        self._began = 0
        self._pid = 0
        self._trace: Trace | None = None

    @property
    def path(self) -> Path | None:
        """The file that is being written, or was."""
        return self._path or self._given

    @property
    def recording(self) -> bool:
        """True between start() and stop(), in the process that started it."""
        return self._path is not None and self._pid == os.getpid()

    @property
    def trace(self) -> Trace:
        """The result of the last stop()."""
        if self._trace is None:
            remedy = "stop() the recorder first" if self.recording else "start() the recorder, and stop() it"
            raise UsageError(f"there is no trace yet; {remedy}")
        return self._trace

    def start(self) -> Self:
        """Begin to record; UsageError if it is recording already."""
        if self.recording:
            raise UsageError(f"this recorder is recording to {self._path}; stop it first")
        path = self._given or _temporary()
        if self._given is not None and not self._given.parent.is_dir():
            message = f"cannot record to {str(path)!r}: there is no directory {str(path.parent)!r}; make it first"
            raise TraceFileError(message, errno.ENOENT, str(path))
        self._trace = None
        self._began = _native.now_ns()
        outer = _native.recorder_path()
        self._outer = Path(outer) if outer else None
        if outer and (self._options["dump_signal"] or self._options["hang_ns"]):
            raise UsageError(f"dump_on and hang_seconds belong to the recording that runs already, to {outer}")
        if self._outer is None:
            with _file_errors("record to", path):
                _native.recorder_start(str(path), about=json.dumps(_about()), **self._options)
            process.at_exit(self.close)
            if self._takes_reports:
                _native.profiler_record(True)
                _native.profiler_connect()
        self._path, self._pid = path, os.getpid()
        recording_started()
        return self

    def stop(self) -> Trace:
        """End the recording; returns the Trace in its file.

        The file is complete and read when this returns, so it may be deleted. The tables are derived on first use of
        the Trace.
        """
        path = self._end()
        from eventide.trace.formats.eventide import read_later

        try:
            self._trace = read_later(path)
        finally:
            if self._given is None:
                _remove(path)
        return self._trace

    def _end(self) -> Path:
        path = self._path
        if path is None or not self.recording:
            raise UsageError("this recorder is not recording; start it first")
        for callback in tuple(_before_stop):
            callback()
        self._path = None
        recording_stopped()
        if self._outer is not None:
            window = {"window": [self._began, _native.now_ns()]}
            _native.recorder_flush()  # also samples the clock: later timestamps would be estimated
            with _file_errors("record to", path):
                _native.copy_trace(str(self._outer), str(path), json.dumps(window))
        else:
            process.cancel_at_exit(self.close)
            _native.profiler_record(False)
            _native.recorder_stop()
        return path

    def dump(self, path: str | os.PathLike[str]) -> Path:
        """Write what is recorded so far to another .eventide file, and continue: for a recorder with ``ring``."""
        if not self.recording:
            raise UsageError("this recorder is not recording; there is nothing to dump")
        target = Path(path).absolute()
        note = {"window": [self._began, _native.now_ns()]} if self._outer is not None else {}
        _native.recorder_flush()  # as above
        with _file_errors("dump to", target):
            _native.copy_trace(str(self._outer or self._path), str(target), json.dumps(note))
        return target

    def close(self) -> None:
        """End the recording and keep its file; no effect if it has ended. Also called at exit."""
        if self.recording:
            path = self._end()
            if self._given is None:
                _remove(path)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.recording:
            self.stop()

    def __repr__(self) -> str:
        state = f"recording to {self._path}" if self.recording else "not recording"
        return f"<Recorder, {state}>"


def before_stop(callback: Callable[[], None]) -> Subscription:
    """Call callback() each time before a recording stops, until the Subscription is closed.

    For sources that record with a delay, such as profiles of a driver: here they record what is still missing.
    """
    _before_stop.append(callback)
    return Subscription("the stop of recordings", lambda: _before_stop.remove(callback))


def record_span(
    name: str,
    category: str,
    start_ns: int,
    end_ns: int,
    about: dict[str, Any] | None = None,
    *,
    stack: bool = False,
    work: int = 0,
) -> None:
    """Record a completed span of this thread, if anything is recording. Times are nanoseconds of CLOCK_MONOTONIC."""
    args = json.dumps(about, default=str) if about else None
    frames = _native.capture_stack() if stack else 0
    _native.record_span(None, name, category, start_ns, end_ns, args, frames, 0, 0, work)


def note(values: Mapping[str, Any]) -> None:
    """Keep these with the trace that is being recorded, in its metadata; no effect if none is."""
    _native.recorder_note(json.dumps(dict(values)))


def recover_trace(path: str | os.PathLike[str]) -> None:
    """Close the file of a process that was killed: the content of its buffer is moved into it.

    ``open_trace`` reads the buffer as well, and leaves both files as they are.
    """
    with _file_errors("recover", Path(path)):
        _native.recover_trace(os.fspath(path))


@contextmanager
def _file_errors(action: str, path: Path) -> Iterator[None]:
    """OSError of the core becomes TraceFileError."""
    try:
        yield
    except TraceFileError:
        raise
    except OSError as error:
        remedy = "give the .eventide file of a killed process" if action == "recover" else "name another file"
        message = f"cannot {action} {str(path)!r}: {error.strerror}; {remedy}"
        raise TraceFileError(message, error.errno or errno.EIO, str(path)) from error


def _signal(number: object) -> int:
    if number is None:
        return 0
    if isinstance(number, bool) or not isinstance(number, int):
        raise UsageTypeError(f"dump_on is a signal such as signal.SIGUSR2, not {type(number).__name__}")
    if number not in signal.valid_signals():
        raise UsageValueError(f"dump_on={number} is not a signal; give one such as signal.SIGUSR2")
    return int(number)


def _nanoseconds(seconds: object) -> int:
    if seconds is None:
        return 0
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise UsageTypeError(f"hang_seconds is a number, not {type(seconds).__name__}")
    if not 0.01 <= seconds <= 1e9:
        raise UsageValueError(f"hang_seconds={seconds} is not possible; it must be at least 0.01")
    return round(seconds * 1e9)


def _about() -> dict[str, Any]:
    return {
        "program": sys.argv[0] if sys.argv else "",
        "arguments": sys.argv[1:],
        "python": sys.version.split()[0],
        "process": identity(),
    }


def _temporary() -> Path:
    import tempfile

    handle, name = tempfile.mkstemp(".eventide", "eventide-")
    os.close(handle)
    return Path(name)


def _remove(path: Path) -> None:
    for left in (path, Path(f"{path}.buffer")):
        with suppress(OSError):
            left.unlink()


process.after_fork(lambda: _native.profiler_record(False))
