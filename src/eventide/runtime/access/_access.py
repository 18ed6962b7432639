"""From objects with memory to the addresses they cover: Buffers, arrays, tensors, and containers of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from eventide import _native
from eventide.errors import UsageTypeError, report_unknown_accesses
from eventide.runtime.access import lifetimes
from eventide.runtime.access._layout import Access, covered
from eventide.runtime.access._needed import accesses_are_declared

if TYPE_CHECKING:
    from eventide.runtime.access._types import Memory

Accesses = tuple[Access, ...]

_HOST_ACCESS = _native.HOOKS.index("host_access")
_SCALARS = (int, float, complex, str, bytes, type(None))
_reported: set[tuple[str, str]] = set()
_reported_lock = threading.Lock()  # guards _reported


def accesses_of(things: Memory | None) -> Accesses:
    """The memory of an object or of a list, tuple, set or dict of objects. None and numbers in containers have none."""
    out: list[Access] = []
    if things is not None:
        _collect(things, out, 0)
    return tuple(out)


def host_access(reads: Memory = (), writes: Memory = ()) -> None:
    """Declare that this thread reads and writes this memory now: Buffers, arrays, tensors, lists of them.

    Work declares its accesses with ``et.work``; this is for code outside of work, and has no effect inside. Without
    listeners it costs one check. An object without memory is logged once, and the program continues.
    """
    accesses_are_declared()
    if not _native.listening(_HOST_ACCESS):
        return
    try:
        read, written = accesses_of(reads), accesses_of(writes)
    except Exception as error:  # noqa: BLE001 - protocols of arrays raise anything
        report_once("host_access", "host_access()", error)
        return
    _native.host_access(read, written)


def report_once(hook: str, work: object, error: Exception) -> None:
    """Log that accesses are unknown; once for the same work and reason."""
    key = (f"{hook} {getattr(work, 'name', work)}", str(error))
    with _reported_lock:
        if key in _reported:
            return
        if len(_reported) > 1000:  # generated names: a repeated message is better than growth
            _reported.clear()
        _reported.add(key)
    report_unknown_accesses(hook, work, error)


def _collect(thing: Any, out: list[Access], depth: int) -> None:
    if isinstance(thing, _native.BufferBase):
        out.append((thing.ptr, thing.nbytes))
    elif isinstance(thing, list | tuple | dict | set | frozenset):
        if depth > 16:
            raise UsageTypeError("reads and writes are nested more than 16 deep; give the arrays themselves")
        for item in thing.values() if isinstance(thing, dict) else thing:
            if not isinstance(item, _SCALARS):
                _collect(item, out, depth + 1)
    else:
        pieces = _pieces_of(thing)
        out.extend(pieces)
        if pieces and lifetimes.active():
            low = min(piece[0] for piece in pieces)
            high = max(piece[0] + piece[1] for piece in pieces)
            lifetimes.note_access(thing, low, high - low)


def _pieces_of(thing: Any) -> list[Access]:
    interface = getattr(thing, "__array_interface__", None)
    if interface is None and hasattr(thing, "data_ptr") and hasattr(thing, "element_size"):  # a torch tensor
        size = thing.element_size()
        return covered(thing.data_ptr(), tuple(thing.shape), tuple(n * size for n in thing.stride()), size)
    if interface is None:
        interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is not None:
        size = getattr(thing, "itemsize", None)
        return covered(
            interface["data"][0],
            interface["shape"],
            interface.get("strides"),
            size if isinstance(size, int) else _itemsize(interface["typestr"]),
        )
    if hasattr(thing, "__dlpack__"):
        return covered(*_native.dlpack_layout(thing.__dlpack__()))
    try:
        view = memoryview(thing)
    except TypeError:
        raise UsageTypeError(
            f"reads and writes take Buffers, arrays and tensors, and lists of them, not {type(thing).__name__}"
        ) from None
    return covered(_native.buffer_address(view), view.shape or (), view.strides or (), view.itemsize)


def _itemsize(typestr: str) -> int:
    """Of '<f4': 4. A character of 'U' takes four bytes; '<M8[ns]' ends with its unit."""
    digits = typestr[2:].partition("[")[0]
    return int(digits) * (4 if typestr[1] == "U" else 1)
