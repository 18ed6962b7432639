"""The base class of devices written in Python, and their capabilities: the core assumes nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from eventide.errors import DeviceError, UsageTypeError

if TYPE_CHECKING:
    from eventide._native import DeviceWork

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The capabilities of one device, as ``Device.capabilities`` gives them."""

    deferred: bool
    """Work runs when the stream reaches it; else inside ``submit``."""
    timing: bool
    """Events with ``enable_timing=True`` have times."""
    join_timeout: bool
    """Waiting for a marker can be bounded; else the core polls."""
    gate: bool
    """The host can hold a stream: it may wait for events of other device types."""
    copy: bool
    """It has copies of its own; else ``Stream.copy`` goes through the host."""
    host_visible: bool
    """The host can read and write the device's memory."""
    concurrent: bool
    """Several streams run at the same time."""
    priorities: bool
    """``Stream(priority=...)`` has an effect."""
    default_stream_blocks: bool
    """The default stream orders all other streams of the device."""
    heals: bool
    """A stream can be used again after its error was raised."""
    clock: str
    """The clock of its event times."""


class MarkerState(IntEnum):
    """The result of ``DeviceBackend.poll``."""

    PENDING = 0
    DONE = 1
    FAILED = 2


def _default(method: F) -> F:
    """Mark a default method, so that the core need not call it."""
    method.__eventide_default__ = True  # type: ignore[attr-defined]
    return method


class DeviceBackend:
    """A device in Python: subclass it, then ``eventide.Device.register(MyDevice)``.

    A stream is whatever ``open_stream`` returns, a marker whatever ``make_marker`` returns. The core calls from any
    thread, and for one stream in its order. ``submit``, ``make_marker``, ``wait`` and ``gate`` only queue; ``flush``,
    ``poll`` and ``join`` may run work; ``completed_at``, ``error`` and ``release`` do neither and never block. An
    exception of a method becomes a DeviceError of the call that led to it; KeyboardInterrupt and SystemExit are raised
    as they are.

    A device without the capability 'deferred' is immediate: ``submit`` runs the work at once, on the caller's thread
    and with the stream current, and the work enqueues on ``eventide.current_stream().native``.
    """

    type: ClassVar[str]
    """The name of the device type, as in 'sim:0'."""

    def count(self) -> int:
        """How many devices of this type there are."""
        return 1

    def capabilities(self, index: int) -> Capabilities:
        """The capabilities of a device."""
        raise NotImplementedError(f"{type(self).__name__}.capabilities({index}) is missing")

    def name(self, index: int) -> str:  # noqa: ARG002 - for devices that differ
        """A description for people."""
        return (type(self).__doc__ or type(self).__name__).strip().splitlines()[0]

    def priority_range(self, index: int) -> tuple[int, int] | None:  # noqa: ARG002 - for devices that have one
        """The least and the most urgent priority of a stream; None: any, which may have no effect."""
        return None

    def open_stream(self, index: int, priority: int) -> object:
        """Make a stream."""
        raise NotImplementedError(f"{type(self).__name__}.open_stream({index}, {priority}) is missing")

    @_default
    def close_stream(self, stream: Any) -> None:
        """End a stream; everything queued has ended."""

    def submit(self, stream: Any, work: DeviceWork) -> None:
        """Queue work: call ``work.run()`` once, when everything before it in the stream has ended; immediate: now."""
        if self.capabilities(0).deferred:
            raise NotImplementedError(f"{type(self).__name__}.submit({stream}, {work}) is missing")
        work.run()

    def make_marker(self, stream: Any, timing: bool) -> object:
        """Queue a marker: done when everything before it in the stream has ended. Any object but None."""
        raise NotImplementedError(f"{type(self).__name__}.make_marker({stream}, {timing}) is missing")

    def wait(self, stream: Any, marker: Any) -> Any:
        """Make what is queued later in the stream wait for a marker of any stream of this device type.

        ``NotImplemented`` for a marker of another driver: the host then waits, and holds the stream with a gate.
        """
        raise NotImplementedError(f"{type(self).__name__}.wait({stream}, {marker}) is missing")

    @_default
    def flush(self, stream: Any) -> None:
        """Something was queued: start it here. No lock is held."""

    def poll(self, marker: Any) -> int:
        """Return whether a marker is pending, done or failed. Must not block."""
        raise NotImplementedError(f"{type(self).__name__}.poll({marker}) is missing")

    @_default
    def error(self, marker: Any) -> BaseException | None:  # noqa: ARG002 - devices that cannot fail have none
        """Return the error of a failed marker, if there is one."""
        return None

    @_default
    def join(self, marker: Any, timeout: float) -> None:
        """Block until a marker has ended, up to so many seconds. Without it the core polls."""

    def completed_at(self, marker: Any) -> int:
        """When the device passed a marker: ns on its clock."""
        raise NotImplementedError(f"{type(self).__name__}.completed_at({marker}) is missing")

    @_default
    def release(self, marker: Any) -> None:
        """Free a marker: the core does not use it again."""

    def gate(self, stream: Any) -> object:
        """Hold a stream at this point until ``open``; only with the capability of that name."""
        raise DeviceError(f"{type(self).__name__} cannot hold {stream}: it lacks the capability 'gate'")

    def open(self, token: Any) -> None:
        """Release a stream that ``gate`` holds."""
        raise DeviceError(f"{type(self).__name__} cannot open {token}: it lacks the capability 'gate'")

    @_default
    def allocate(self, index: int, nbytes: int) -> int:
        """Allocate memory and return its address. Without it a device uses the host's."""
        raise DeviceError(f"{type(self).__name__} cannot allocate {nbytes} bytes on {index}")

    @_default
    def free(self, index: int, address: int, nbytes: int) -> None:
        """Free memory of ``allocate``."""

    def copy(self, stream: Any, dst: Any, src: Any) -> None:
        """Enqueue a copy between Buffers of the device and host memory; immediate devices with the capability only.

        Both are ``native_memory`` of a Buffer or a memoryview of bytes, of equal size; both live until it has ended.
        """
        raise DeviceError(f"{type(self).__name__} cannot copy {src} to {dst} on {stream}: it lacks 'copy'")

    @_default
    def now(self, index: int) -> int:  # noqa: ARG002 - for devices with a clock each
        """The time of the device: ns on its clock."""
        return time.monotonic_ns()

    @_default
    def read_clock(self, index: int) -> tuple[int, int, int] | None:  # noqa: ARG002 - likewise
        """Read the clock between two readings of ``time.monotonic_ns``: (before, clock, after). Must not block.

        Called about every second unless the clock is "CLOCK_MONOTONIC" or "virtual". None: not available now. Without
        this method the core puts ``now`` between two readings.
        """
        return None

    def native(self, stream: Any) -> object:
        """The driver's own object for the stream, on which users enqueue."""
        return stream

    def native_device(self, index: int) -> object:  # noqa: ARG002 - for drivers that have one
        """The driver's own object for a device, such as the context that programs are built in; else None."""
        return None

    def native_memory(self, index: int, address: int) -> object:  # noqa: ARG002 - for devices with such objects
        """The driver's own object for memory of ``allocate``; else its address."""
        return address

    @_default
    def native_handle(self, stream: Any) -> int:  # noqa: ARG002 - for drivers that have one
        """The driver's own handle of a stream, as a number."""
        return 0

    def index_of(self, existing: Any) -> int:
        """The index of the device of a driver's stream; raise for a stream that cannot be wrapped."""
        raise UsageTypeError(f"{type(self).__name__} cannot wrap a {type(existing).__name__}")

    def adopt_stream(self, index: int, existing: Any) -> object:
        """Make a stream from an existing one of the driver; called by ``Stream.wrap``."""
        raise DeviceError(f"{type(self).__name__} cannot adopt {existing!r} on {index}: it wraps no streams")


Capabilities.__module__ = "eventide"
