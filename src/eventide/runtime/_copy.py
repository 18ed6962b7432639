"""Copies on immediate devices: checked here, enqueued by the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eventide.errors import DeviceError, UsageTypeError, UsageValueError
from eventide.runtime._buffer import Buffer
from eventide.runtime._work import Work

if TYPE_CHECKING:
    from eventide.backends import DeviceBackend
    from eventide.runtime._future import Future
    from eventide.runtime._stream import Stream


def device_copy(stream: Stream, backend: DeviceBackend | None, dst: Any, src: Any) -> Future[None]:
    """Submit a copy; the Future keeps both objects alive until it ended."""
    if backend is None or not stream.device.capabilities.copy:
        raise DeviceError(f"device type {stream.device_type!r} lacks the capability 'copy'")
    to, to_size = _end(stream, backend, dst, "dst")
    source, size = _end(stream, backend, src, "src")
    if isinstance(to, memoryview) and to.readonly:
        raise UsageValueError(f"copy() cannot write to dst: this {type(dst).__name__} is read-only")
    if to_size != size:
        raise UsageValueError(f"copy() needs equal sizes: dst has {to_size} bytes, src has {size}")

    queue = stream._device_stream  # noqa: SLF001 - of our own base class

    def copy(_dst: object, _src: object) -> None:  # arguments, so that both live as long as the work
        if size:
            backend.copy(queue, to, source)

    return stream.submit(Work(copy, "copy", [src], [dst], None), dst, src)


def _end(stream: Stream, backend: DeviceBackend, thing: Any, name: str) -> tuple[Any, int]:
    """What the device receives, and its size."""
    if isinstance(thing, Buffer) and thing.device.type == stream.device_type:
        return backend.native_memory(thing.device.index or 0, thing.ptr), thing.nbytes
    try:
        view = memoryview(thing)
    except TypeError:
        raise UsageTypeError(
            f"copy() needs a Buffer or an array of the host as {name}, not {type(thing).__name__}"
        ) from None
    if not view.c_contiguous:
        raise UsageValueError(f"copy() needs C-contiguous memory, but {name} is strided; copy a contiguous part of it")
    return view.cast("B") if view.nbytes else view, view.nbytes
