"""The feed: an adapter tells our hooks about streams, events, work and memory of a framework that is not ours.

Everything is told on the thread that did it, in the order in which it did it. Ids come from the counters of the
runtime, so that none is given twice. Nobody listening costs a call and a look.
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
_FIRST_ADDRESS = 1 << 61  # no host pointer lies here, nor a buffer of ours
_PAGE = 4096
_lock = threading.Lock()  # guards _memory


class _Memory:
    """Where the next one goes."""

    def __init__(self) -> None:
        self._next = _FIRST_ADDRESS

    def take(self, nbytes: int) -> int:
        address = self._next
        self._next += -(-max(1, nbytes) // _PAGE) * _PAGE
        return address


_memory = _Memory()


def listening() -> bool:
    """True while anybody hears work or memory: without, an adapter need not say anything."""
    return _native.listening(_SUBMISSION) or _native.listening(_COMPLETION)


def new_memory(nbytes: int) -> int:
    """An address for memory that has none which the host could see. Ranges never overlap."""
    with _lock:
        return _memory.take(nbytes)


class ForeignStream:
    """A stream of another framework. `device` is a name such as "opencl:PoCL:0", `name` what people call the stream."""

    __slots__ = ("device", "id", "name")

    def __init__(self, device: str, name: str) -> None:
        self.device = _native.feed_device(device)
        self.id = _native.feed_stream()
        self.name = name
        self.tell()

    def tell(self) -> None:
        """That it is there. Again for listeners that came later: nobody minds hearing it twice."""
        _native.feed(HOOK_NUMBERS["stream_creation"], self.device, self.id, name=self.name)

    def submit(self, name: str, reads: Accesses | None = None, writes: Accesses | None = None) -> int:
        """Work is enqueued; gives its id. None: nobody knows what it touches."""
        work = _native.feed_work()
        _native.feed(_SUBMISSION, self.device, self.id, work=work, name=name, reads=reads, writes=writes)
        return work

    def complete(self, work: int, start_ns: int, end_ns: int, *, ok: bool = True) -> None:
        """Work is over; times are CLOCK_MONOTONIC."""
        outcome = _OK if ok else _FAILED
        _native.feed(_COMPLETION, self.device, self.id, work=work, start_ns=start_ns, end_ns=end_ns, outcome=outcome)

    def record(self, event: int) -> None:
        """The event, which is new, stands behind all that was enqueued."""
        _native.feed(_RECORD, self.device, self.id, event, 1)

    def wait(self, event: int) -> None:
        """What is enqueued from now on comes after the event."""
        _native.feed(_WAIT, self.device, self.id, event, 1)

    def delete(self) -> None:
        """It is gone; what it has still runs."""
        _native.feed(HOOK_NUMBERS["stream_deletion"], self.device, self.id)


def new_event() -> int:
    """The id of an event; each is recorded once."""
    return _native.feed_event()


def event_gone(event: int) -> None:
    """Nobody can wait for it any more."""
    _native.feed(HOOK_NUMBERS["event_deletion"], event=event)


def learnt(stream: ForeignStream, event: int) -> None:
    """The host knows now that the event is over, without having asked to wait."""
    _native.feed(HOOK_NUMBERS["host_wait"], stream.device, stream.id, event, 1)


class Sync:
    """The host waits for an event, or a stream: ``begin`` before, ``end`` after."""

    __slots__ = ("_event", "_handle", "_hook", "_stream")

    def __init__(self, stream: ForeignStream, event: int = 0) -> None:
        self._hook = HOOK_NUMBERS["event_synchronization" if event else "stream_synchronization"]
        self._stream, self._event = stream, event
        self._handle = _native.new_token()
        self._tell(end=False)

    def end(self, *, gave_up: bool = False) -> None:
        """It is over, or the wait failed."""
        self._tell(end=True, name="gave up" if gave_up else "")

    def _tell(self, *, end: bool, name: str = "") -> None:
        stream, event = self._stream, self._event
        _native.feed(
            self._hook, stream.device, stream.id, event, 1 if event else 0, handle=self._handle, end=end, name=name
        )


def allocated(device: str, address: int, nbytes: int) -> None:
    """Memory is there."""
    _native.feed(HOOK_NUMBERS["memory_allocation"], _native.feed_device(device), handle=address, bytes=nbytes)


def freed(device: str, address: int, nbytes: int) -> None:
    """The last reference to memory went; the framework keeps it until work that has it is over."""
    _native.feed(
        HOOK_NUMBERS["memory_deallocation"], _native.feed_device(device), handle=address, bytes=nbytes, name="dropped"
    )
