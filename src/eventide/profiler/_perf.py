"""The kernel's counters of this process, by perf_event_open: cycles, instructions, page faults and so on.

Read when a profile begins and ends and at each step, over all threads that the process has then or starts later. Where
the kernel refuses one, there is one warning, and that counter is not in the trace.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import platform
import struct
from pathlib import Path
from typing import NoReturn

from eventide import _native

_log = logging.getLogger("eventide.profiler")
HARDWARE, SOFTWARE = 0, 1
# name: (type, config), numbers of linux/perf_event.h
COUNTERS = {
    "cycles": (HARDWARE, 0),
    "instructions": (HARDWARE, 1),
    "cache-references": (HARDWARE, 2),
    "cache-misses": (HARDWARE, 3),
    "branches": (HARDWARE, 4),
    "branch-misses": (HARDWARE, 5),
    "cpu-clock": (SOFTWARE, 0),
    "task-clock": (SOFTWARE, 1),
    "page-faults": (SOFTWARE, 2),
    "context-switches": (SOFTWARE, 3),
    "cpu-migrations": (SOFTWARE, 4),
}
_SYSTEM_CALL = {"x86_64": 298, "aarch64": 241}
_SIZE = 128  # of struct perf_event_attr, PERF_ATTR_SIZE_VER7
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
_TRACK = '{"kind": "counter", "name": "perf counters"}'


class PerfCounters:
    """Open until closed. `warnings` lists what could not be opened and why."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.warnings: list[str] = []
        self._open: dict[str, list[int]] = {}
        self._first: dict[str, int] = {}
        refused: dict[str, list[str]] = {}
        for name in names:
            try:
                self._open[name] = _open_all(name)
            except OSError as error:
                refused.setdefault(_reason(error), []).append(name)
        for reason, which in refused.items():
            line = f"perf counters {', '.join(which)} are not recorded: {reason}"
            self.warnings.append(line)
            _log.warning("%s", line)

    def read(self) -> dict[str, int]:
        """The values so far, since they were opened."""
        return {
            name: sum(struct.unpack("Q", os.read(file, 8))[0] for file in files) for name, files in self._open.items()
        }

    def mark(self) -> None:
        """Record the values, counted from the first mark."""
        values = self.read()
        self._first = self._first or values
        for name, value in values.items():
            _native.record_counter(_TRACK, name, float(value - self._first[name]))

    def totals(self) -> dict[str, int]:
        """The values since the first mark."""
        return {name: value - self._first.get(name, 0) for name, value in self.read().items()}

    def close(self) -> None:
        """Count no more."""
        for files in self._open.values():
            for file in files:
                os.close(file)
        self._open = {}


def _open_all(name: str) -> list[int]:
    """One file for each thread there is; each counts the threads that its own starts later too."""
    if name not in COUNTERS:
        raise OSError(errno.EINVAL, f"there is no such counter; there are {', '.join(COUNTERS)}")
    number = _SYSTEM_CALL.get(platform.machine())
    if number is None or not os.path.exists("/proc/self/task"):  # noqa: PTH110  (a fixed path)
        raise OSError(errno.ENOSYS, "perf_event_open is not supported on this system")
    kind, config = COUNTERS[name]
    flags = _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV
    attributes = struct.pack("IIQQQQQ", kind, _SIZE, config, 0, 0, 0, flags).ljust(_SIZE, b"\0")
    library = ctypes.CDLL(None, use_errno=True)
    files: list[int] = []
    try:
        for thread in sorted(int(entry.name) for entry in Path("/proc/self/task").iterdir()):
            file = library.syscall(number, attributes, thread, -1, -1, 8)  # 8: PERF_FLAG_FD_CLOEXEC
            if file >= 0:
                files.append(file)
            elif ctypes.get_errno() != errno.ESRCH:  # a thread that ended meanwhile
                _refuse(ctypes.get_errno())
    except BaseException:
        for file in files:
            os.close(file)
        raise
    return files


def _refuse(number: int) -> NoReturn:
    raise OSError(number, os.strerror(number))


def _reason(error: OSError) -> str:
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"the kernel does not allow it ({error.strerror}); see /proc/sys/kernel/perf_event_paranoid"
    if error.errno in {errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP}:
        return f"this machine does not have them ({error.strerror}); a virtual machine often has none"
    return str(error.strerror)
