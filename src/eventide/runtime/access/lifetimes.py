"""When memory of the host goes: arrays and tensors that work touches are allocations, as far as the hooks can know.

An array's address is used again by another array after it. Whoever keeps a history by address must hear of that; so,
while somebody asks for it, the owner of each piece of host memory that is touched is watched with a weak reference.
Python's own callbacks do not hear of these allocations: they are not the program's.
"""

from __future__ import annotations

import weakref
from typing import Any

from eventide import _native

_watched: dict[int, weakref.ref[Any]] = {}  # by id of the owner; the GIL guards it
_users = 0


def start() -> None:
    """Watch, until as many ``stop()``."""
    global _users  # noqa: PLW0603 - one switch for the process
    _users += 1
    if _users == 1:
        _native.set_copy_watcher(_note_copy)


def stop() -> None:
    """Watch no more."""
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
    except TypeError:  # bytes and the like: no way to know
        return
    _native.host_memory(address, nbytes, True)


def _note_copy(thing: Any) -> None:
    """One end of a copy: whatever has the buffer protocol."""
    if not isinstance(thing, _native.BufferBase):
        with memoryview(thing) as view:
            note_access(thing, _native.buffer_address(view), view.nbytes)


def _owner_of(thing: Any) -> Any:
    """The object that the memory lives and dies with; None for memory of a Buffer, which tells by itself."""
    below: Any
    while True:
        if isinstance(thing, memoryview):
            below = thing.obj
        elif hasattr(thing, "untyped_storage"):
            return thing.untyped_storage()  # of a torch tensor: the same object as long as any tensor has it
        else:
            below = getattr(thing, "base", None) if hasattr(thing, "__array_interface__") else None
        if below is None:
            return None if isinstance(thing, _native.BufferBase) else thing
        thing = below


def _range_of(owner: Any, address: int, nbytes: int) -> tuple[int, int]:
    """All of the owner's memory where it can say so, else what is touched."""
    interface = getattr(owner, "__array_interface__", None)
    if interface is not None:
        return interface["data"][0], owner.nbytes
    if hasattr(owner, "data_ptr") and hasattr(owner, "nbytes"):
        return owner.data_ptr(), owner.nbytes()
    return address, nbytes
