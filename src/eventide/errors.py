"""Every exception of Eventide, and the logging of errors that no caller can receive.

    EventideError
    ├── UsageError                 the call was invalid and had no effect
    │   ├── UsageTypeError         … and it is a TypeError
    │   └── UsageValueError        … and it is a ValueError
    ├── DeviceError                the device, its driver or its native work failed
    ├── StreamError                the stream is closed, failed, or of another process
    ├── EventError                 the event is pending, unknown to its pool, or of another process
    ├── DeadlockError              a blocking call inside work would never return
    ├── TraceFileError             a file cannot be read or written; an OSError
    │   ├── TraceFileNotFoundError     … and it is a FileNotFoundError
    │   └── TraceFilePermissionError   … and it is a PermissionError
    ├── TraceFormatError           a trace file is invalid
    ├── SanitizerError             the sanitizer found an error, in mode "raise"
    └── InternalError              a bug in Eventide: please report it

A wait that takes too long is the builtin TimeoutError.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from logging import Logger

__all__ = [
    "DeadlockError",
    "DeviceError",
    "EventError",
    "EventideError",
    "InternalError",
    "SanitizerError",
    "StreamError",
    "TraceFileError",
    "TraceFileNotFoundError",
    "TraceFilePermissionError",
    "TraceFormatError",
    "UsageError",
    "UsageTypeError",
    "UsageValueError",
]


class EventideError(Exception):
    """The base of all errors of Eventide."""


class UsageError(EventideError):
    """The call is invalid; it had no effect."""


class UsageTypeError(UsageError, TypeError):
    """An argument has the wrong type."""


class UsageValueError(UsageError, ValueError):
    """An argument has the right type and an invalid value."""


class DeviceError(EventideError, RuntimeError):
    """The device, its driver or its native work failed, or the device lacks a capability."""


class StreamError(EventideError, RuntimeError):
    """The stream cannot be used: closed, of a parent process, or earlier work on it failed (see ``__cause__``)."""


class EventError(EventideError, RuntimeError):
    """The event cannot be used: still pending, unknown to its pool, or of a parent process."""


class DeadlockError(EventideError, RuntimeError):
    """A blocking call made inside work would wait for that very work."""


class TraceFileError(EventideError, OSError):
    """A file or its directory is missing, or cannot be read or written.

    ``errno``, ``strerror`` and ``filename`` are set. As with OSError, the number selects the subclass.
    """

    def __new__(cls, _message: str, number: int, path: str) -> Self:
        """An instance of the subclass for this errno."""
        kind = _FILE_ERRORS.get(number, cls) if cls is TraceFileError else cls
        return cast("Self", super().__new__(kind, number, os.strerror(number), path))

    def __init__(self, message: str, number: int, path: str) -> None:
        super().__init__(number, os.strerror(number), path)
        self._message = message

    def __str__(self) -> str:
        return self._message

    def __reduce__(self) -> tuple[type[TraceFileError], tuple[str, int, str]]:
        return type(self), (self._message, self.errno or 0, str(self.filename))


class TraceFileNotFoundError(TraceFileError, FileNotFoundError):
    """The file or its directory does not exist."""


class TraceFilePermissionError(TraceFileError, PermissionError):
    """The file or its directory may not be read or written."""


_FILE_ERRORS = {
    errno.ENOENT: TraceFileNotFoundError,
    errno.EACCES: TraceFilePermissionError,
    errno.EPERM: TraceFilePermissionError,
}


class TraceFormatError(EventideError):
    """A trace file is invalid."""

    def __init__(self, message: str, path: str, offset: int) -> None:
        super().__init__(f"{message} ({path}, byte {offset})")
        self.path = path
        self.offset = offset


class SanitizerError(EventideError):
    """The sanitizer found an error, in mode "raise"."""

    def __init__(self, message: str, findings: Sequence[object]) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class InternalError(EventideError):
    """A bug in Eventide."""

    def __str__(self) -> str:
        return f"{super().__str__()} (a bug in Eventide: please report it)"


def _logger(name: str) -> Logger:
    import logging  # only needed after an error

    return logging.getLogger(name)


def report_callback_error(what: str, callback: Callable[..., object], error: Exception) -> None:
    """Log an exception that a callback raised. `what` is the hook's name, or notify, Future, await."""
    _logger("eventide.hooks" if "_" in what else "eventide").error(
        "a %s callback raised, the program continues: %r", what, callback, exc_info=error
    )


def report_unknown_accesses(what: str, work: object, error: Exception) -> None:
    """Log that the accesses of declared work cannot be determined; hooks report none."""
    _logger("eventide.hooks").error("%s: what %r reads and writes is unknown: %s", what, work, error)


def report_unseen(error: BaseException, where: str) -> None:
    """Log the error of a stream that was destroyed before the error was raised to a caller."""
    _logger("eventide").error("%s was destroyed with an unhandled error", where, exc_info=error)


for _name in __all__:
    globals()[_name].__module__ = "eventide"
