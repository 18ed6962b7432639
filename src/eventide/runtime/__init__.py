"""The runtime: devices, streams, events, futures, pools, buffers, the current stream.

    _device.py    devices by name            _future.py    the result of work
    _stream.py    ordered queues of work     _work.py      work that declares what it touches
    _event.py     points in streams          _buffer.py    memory of a device
    _pool.py      events for reuse           _current.py   the stream of this thread
    _clock.py     device times on one axis   _copy.py      copies on immediate devices
    _wrap.py      existing streams           _native_call.py   addresses of native functions
    _wait.py      waiting in asyncio         _process.py       exit and fork
    access/       which memory work and the host access

The semantics are native (native/core); these classes add names, types and messages.
"""

from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide._util.public_names import lazy_names
from eventide.runtime import _process
from eventide.runtime._buffer import Buffer, empty
from eventide.runtime._current import current_stream, default_stream, set_stream, synchronize
from eventide.runtime._device import Device, devices
from eventide.runtime._event import Event
from eventide.runtime._pool import EventPool, PoolStats, event_pool
from eventide.runtime._stream import Stream, wrap_submitted
from eventide.runtime._work import Work, work
from eventide.runtime.access import host_access

__all__ = [
    "Buffer",
    "Clock",
    "Device",
    "Event",
    "EventPool",
    "Future",
    "HostClock",
    "PoolStats",
    "Stream",
    "Work",
    "current_stream",
    "default_stream",
    "device_clocks",
    "devices",
    "empty",
    "event_pool",
    "host_access",
    "set_stream",
    "synchronize",
    "work",
    "wrap_submitted",
]

if TYPE_CHECKING:
    from eventide.runtime._clock import Clock, HostClock, device_clocks
    from eventide.runtime._future import Future

# Their dataclasses and concurrent.futures take longer to import than the rest.
_ON_USE = {"Clock": "_clock", "Future": "_future", "HostClock": "_clock", "device_clocks": "_clock"}


def _load_future() -> Any:
    """The class, for the core."""
    from eventide.runtime._future import Future

    return Future


__getattr__, __dir__ = lazy_names(__name__, __all__, _ON_USE)


for _name in __all__:
    if _name not in _ON_USE:
        globals()[_name].__module__ = "eventide"

_native.set_classes(_load_future, Event, Work)
for _class in (Stream, Event, EventPool):
    _native.adopt_methods(_class)
_process.install()
