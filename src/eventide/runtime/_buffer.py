"""Memory of a device."""

from __future__ import annotations

import operator
import sys
from typing import Any, NoReturn, overload

from eventide import _native
from eventide.errors import UsageTypeError, UsageValueError
from eventide.runtime._device import Device, as_device
from eventide.runtime.access import accesses_are_declared, host_access


class Buffer(_native.BufferBase):
    """Bytes on a device, created by ``eventide.empty``.

    If the host can access them, it has the buffer protocol and DLPack: ``memoryview(buf)``, ``numpy.frombuffer(buf)``,
    ``numpy.from_dlpack(buf)``.
    """

    def __init__(self, nbytes: int, device: str | Device | None = None) -> None:
        where = as_device(device)
        if not isinstance(nbytes, int) or isinstance(nbytes, bool):
            raise UsageTypeError(f"nbytes must be an int, not {type(nbytes).__name__}")
        if nbytes < 0:
            raise UsageValueError(f"nbytes must not be negative; got {nbytes}")
        if nbytes > sys.maxsize:
            raise MemoryError(f"cannot allocate {nbytes} bytes on {where}")
        accesses_are_declared()  # the host's are reported from now on
        super().__init__(where.type, where.index or 0, nbytes)

    # These access the memory at once, so hooks can report it. Accesses through a memoryview or an array over the memory
    # cannot be detected: declare them with et.host_access.

    def __bytes__(self) -> bytes:
        return self[:]

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> bytes: ...
    def __getitem__(self, index: int | slice) -> int | bytes:
        """Bytes, copied to the host."""
        with memoryview(self) as view, view[_as_slice(index, self.nbytes)] as part:
            host_access(reads=part)
            copied = bytes(part)
        return copied if isinstance(index, slice) else copied[0]

    def __setitem__(self, index: int | slice, value: int | bytes) -> None:
        """Write from the host."""
        with memoryview(self) as view, view[_as_slice(index, self.nbytes)] as part:
            host_access(writes=part)
            part[:] = bytes((value,)) if isinstance(value, int) else value

    @property
    def device(self) -> Device:
        """Its device."""
        return Device(*self._device)

    @property
    def native(self) -> Any:
        """The driver's own object, such as a ``pyopencl.Buffer``, or the address."""
        from eventide.backends.registry import BACKENDS

        kind, index = self._device
        backend = BACKENDS.get(kind)
        return self.ptr if backend is None else backend.native_memory(index, self.ptr)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError(
                "DLPack shares a Buffer on its own device and does not copy it; copy it with Stream.copy or numpy.array"
            )
        return self._dlpack(max_version is not None and max_version[0] >= 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Buffer cannot be pickled: its memory exists in this process only; copy it to bytes()")

    def __repr__(self) -> str:
        kind, index = self._device
        return f"<Buffer of {self.nbytes} bytes on {kind}:{index}{', freed' if self.freed else ''}>"


def _as_slice(index: int | slice, length: int) -> slice:
    if isinstance(index, slice):
        return index
    at = operator.index(index)
    if not -length <= at < length:
        raise IndexError(f"byte {at} is outside of a Buffer of {length} bytes")
    at %= length
    return slice(at, at + 1)


def empty(nbytes: int, device: str | Device | None = None) -> Buffer:
    """Allocate memory on a device; its content is undefined."""
    return Buffer(nbytes, device)
