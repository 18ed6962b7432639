"""The current stream of each thread, and waiting for a whole device."""

from __future__ import annotations

from eventide import _native
from eventide.runtime._device import Device, as_device
from eventide.runtime._stream import Stream


def current_stream(device: str | Device | None = None) -> Stream:
    """The stream of this thread when none is given: of ``with``, of ``set_stream``, or the default stream."""
    where = as_device(device)
    return _native.current_stream(where.type, where.index or 0)


def default_stream(device: str | Device | None = None) -> Stream:
    """The default stream of a device."""
    where = as_device(device)
    return _native.default_stream(where.type, where.index or 0)


def set_stream(stream: Stream) -> None:
    """Make a stream the current one of this thread, for its device, until another is set."""
    _native.set_stream(stream)


def synchronize(device: str | Device | None = None, timeout: float | None = None) -> None:
    """Block until every stream of a device is idle; raise the first error of the first stream that has one."""
    where = as_device(device)
    _native.synchronize_device(where.type, where.index or 0, timeout)


def _make_default(kind: str, index: int) -> Stream:
    stream = Stream.__new__(Stream)
    _native.StreamBase.__init__(stream, kind, index, 0, 0, "default", None, True)
    return stream


def _rewrap(capsule: object) -> Stream:
    stream = Stream.__new__(Stream)
    stream._adopt(capsule)  # noqa: SLF001 - the other half of the same object
    return stream


_native.set_stream_factories(_make_default, _rewrap)
