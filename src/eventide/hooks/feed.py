"""The feed: an adapter reports streams, events, work and memory of another framework to our hooks.

Everything is reported on the thread that did it, in that order. Ids come from the counters of the runtime, so they are
unique. Without listeners a report costs one call and one check.
"""

from __future__ import annotations

import threading
from typing import TypeAlias

from eventide import _native
from eventide.hooks._subscribe import HOOK_NUMBERS

Access: TypeAlias = tuple[int, int] | tuple[int, int, int, int, bool]
"""(address, bytes), or (address, bytes, run, stride, possible) as native/core/hooks/hub.hpp has it."""
Accesses: TypeAlias = tuple[Access, ...]

_OK, _FAILED = 1, 2  # Outcome in native/core/hooks/hub.hpp
_SUBMISSION = HOOK_NUMBERS["work_submission"]
_COMPLETION = HOOK_NUMBERS["work_completion"]
_RECORD = HOOK_NUMBERS["event_record"]
_WAIT = HOOK_NUMBERS["event_wait"]
_FIRST_ADDRESS = 1 << 61  # outside of host pointers and of our buffers
_PAGE = 4096
_lock = threading.Lock()  # guards _memory


class _Memory:
    """Allocates addresses."""

    def __init__(self) -> None:
        self._next = _FIRST_ADDRESS

    def take(self, nbytes: int) -> int:
        address = self._next
        self._next += -(-max(1, nbytes) // _PAGE) * _PAGE
        return address


_memory = _Memory()


def listening() -> bool:
    """True while work has listeners: otherwise an adapter need not report anything."""
    return _native.listening(_SUBMISSION) or _native.listening(_COMPLETION)


def new_memory(nbytes: int) -> int:
    """An address for memory without an address on the host. Ranges never overlap."""
    with _lock:
        return _memory.take(nbytes)


class ForeignStream:
    """A stream of another framework. `device` is a name such as "opencl:PoCL:0", `name` is for people."""

    __slots__ = ("device", "id", "name")

    def __init__(self, device: str, name: str) -> None:
        self.device = _native.feed_device(device)
        self.id = _native.feed_stream()
        self.name = name
        self.announce()

    def announce(self) -> None:
        """Report its creation. May be repeated for listeners that were added later."""
        _native.feed(HOOK_NUMBERS["stream_creation"], self.device, self.id, name=self.name)

    def submit(
        self, name: str, reads: Accesses | None = None, writes: Accesses | None = None, *, category: str = "work"
    ) -> int:
        """Report that work was enqueued; returns its id. None: its accesses are unknown.

        `category` is that of the span in a trace, such as "work" or "copy".
        """
        work = _native.feed_work()
        _native.feed(
            _SUBMISSION, self.device, self.id, work=work, name=name, group=category, reads=reads, writes=writes
        )
        return work

    def complete(self, work: int, start_ns: int, end_ns: int, *, ok: bool = True) -> None:
        """Report that work ended; times are CLOCK_MONOTONIC."""
        outcome = _OK if ok else _FAILED
        _native.feed(_COMPLETION, self.device, self.id, work=work, start_ns=start_ns, end_ns=end_ns, outcome=outcome)

    def record(self, event: int) -> None:
        """Report that a new event was recorded, after all that was enqueued."""
        _native.feed(_RECORD, self.device, self.id, event, 1)

    def wait(self, event: int) -> None:
        """Report that what is enqueued later waits for the event."""
        _native.feed(_WAIT, self.device, self.id, event, 1)

    def delete(self) -> None:
        """Report its deletion; queued work still runs."""
        _native.feed(HOOK_NUMBERS["stream_deletion"], self.device, self.id)


def new_event() -> int:
    """The id of an event; each is recorded once."""
    return _native.feed_event()


def event_deleted(event: int) -> None:
    """Report that an event was deleted."""
    _native.feed(HOOK_NUMBERS["event_deletion"], event=event)


def host_observed_completion(stream: ForeignStream, event: int) -> None:
    """Report that the host observed the completion of an event without waiting for it."""
    _native.feed(HOOK_NUMBERS["host_wait"], stream.device, stream.id, event, 1)


class Sync:
    """The host waits for an event or a stream, from the creation of this object to ``end``."""

    __slots__ = ("_event", "_handle", "_hook", "_stream")

    def __init__(self, stream: ForeignStream, event: int = 0) -> None:
        self._hook = HOOK_NUMBERS["event_synchronization" if event else "stream_synchronization"]
        self._stream, self._event = stream, event
        self._handle = _native.new_token()
        self._report(end=False)

    def end(self, *, gave_up: bool = False) -> None:
        """The wait ended, or failed."""
        self._report(end=True, name="gave up" if gave_up else "")

    def _report(self, *, end: bool, name: str = "") -> None:
        stream, event = self._stream, self._event
        _native.feed(
            self._hook, stream.device, stream.id, event, 1 if event else 0, handle=self._handle, end=end, name=name
        )


def allocated(device: str, address: int, nbytes: int) -> None:
    """Report that memory was allocated."""
    _native.feed(HOOK_NUMBERS["memory_allocation"], _native.feed_device(device), handle=address, bytes=nbytes)


def freed(device: str, address: int, nbytes: int) -> None:
    """Report that the last reference was dropped; the framework frees it when work that uses it has ended."""
    _native.feed(
        HOOK_NUMBERS["memory_deallocation"], _native.feed_device(device), handle=address, bytes=nbytes, name="dropped"
    )
