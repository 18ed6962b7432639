"""Lifetimes of host memory: arrays and tensors that work accesses are reported to native listeners as allocations.

The address of an array is reused by a later array, which a history by address must not mix up. So between ``start()``
and ``stop()`` a weak reference observes the owner of each accessed piece of host memory. Python callbacks do not
receive these allocations: the program did not make them.
"""

from __future__ import annotations

import weakref
from typing import Any

from eventide import _native

_watched: dict[int, weakref.ref[Any]] = {}  # by id of the owner; the GIL guards it
_users = 0


def start() -> None:
    """Observe lifetimes until ``stop()`` was called as often."""
    global _users  # noqa: PLW0603 - one switch for the process
    _users += 1
    if _users == 1:
        _native.set_copy_watcher(_note_copy)


def stop() -> None:
    """Stop observing."""
    global _users  # noqa: PLW0603 - one switch for the process
    _users -= 1
    if _users == 0:
        _native.set_copy_watcher(None)
        _watched.clear()


def active() -> bool:
    """True between ``start()`` and ``stop()``."""
    return _users > 0


def note_access(thing: Any, address: int, nbytes: int) -> None:
    """Work or the host accesses host memory of `thing`; nothing happens unless started."""
    owner = _owner_of(thing) if _users else None
    if owner is None or id(owner) in _watched:
        return
    address, nbytes = _range_of(owner, address, nbytes)
    key = id(owner)

    def gone(reference: weakref.ref[Any]) -> None:
        if _watched.get(key) is reference:
            del _watched[key]
            _native.host_memory(address, nbytes, False)

    try:
        _watched[key] = weakref.ref(owner, gone)
    except TypeError:  # bytes and the like have no weak references
        return
    _native.host_memory(address, nbytes, True)


def _note_copy(thing: Any) -> None:
    """Source or destination of a copy: an object with the buffer protocol."""
    if not isinstance(thing, _native.BufferBase):
        with memoryview(thing) as view:
            note_access(thing, _native.buffer_address(view), view.nbytes)


def _owner_of(thing: Any) -> Any:
    """The object that owns the memory; None for memory of a Buffer, which reports itself."""
    below: Any
    while True:
        if isinstance(thing, memoryview):
            below = thing.obj
        elif hasattr(thing, "untyped_storage"):
            return thing.untyped_storage()  # of a torch tensor: the same object while any tensor uses it
        else:
            below = getattr(thing, "base", None) if hasattr(thing, "__array_interface__") else None
        if below is None:
            return None if isinstance(thing, _native.BufferBase) else thing
        thing = below


def _range_of(owner: Any, address: int, nbytes: int) -> tuple[int, int]:
    """All memory of the owner if that is available, else the accessed range."""
    interface = getattr(owner, "__array_interface__", None)
    if interface is not None:
        return interface["data"][0], owner.nbytes
    if hasattr(owner, "data_ptr") and hasattr(owner, "nbytes"):
        return owner.data_ptr(), owner.nbytes()
    return address, nbytes
