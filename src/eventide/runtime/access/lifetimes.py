"""Lifetimes of host memory: arrays and tensors that work accesses are reported to native listeners as allocations.

The address of an array is reused by a later array, which a history by address must not mix up. So between ``start()``
and ``stop()`` a weak reference observes the owner of each accessed piece of host memory. Memory may have several
owners, as of ``torch.from_numpy(array)``: it is freed with the last of them. Python callbacks do not receive these
allocations: the program did not make them.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right
from collections import deque
from typing import Any

from eventide import _native
from eventide._util import process

_lock = threading.Lock()  # guards the next two; a reference may die at any moment, then _gone has it until _settle()
_watched: dict[int, weakref.ref[Any]] = {}  # by id of the owner
_gone: deque[tuple[int, weakref.ref[Any]]] = deque()
_users = 0


class _Memory:
    """Memory that is alive, in blocks: overlapping pieces with all their owners."""

    def __init__(self) -> None:
        self.starts: list[int] = []  # of the blocks, ascending
        self.blocks: list[_Block] = []  # they do not overlap
        self.of_owner: dict[int, _Block] = {}

    def add(self, owner: int, start: int, end: int) -> None:
        """Report what no other owner has."""
        first = bisect_right(self.starts, start)
        if first and self.blocks[first - 1].end > start:
            first -= 1
        last = first
        block = _Block(start, end)
        while last < len(self.blocks) and self.blocks[last].start < end:
            block.absorb(self.blocks[last])
            last += 1
        self.starts[first:last], self.blocks[first:last] = [block.start], [block]
        block.owners.add(owner)
        for one in block.owners:
            self.of_owner[one] = block
        for low, high in block.fill(start, end):
            _native.host_memory(low, high - low, True)

    def drop(self, owner: int) -> None:
        """The owner is gone; if it was the last one, so is the memory."""
        block = self.of_owner.pop(owner)
        block.owners.discard(owner)
        if not block.owners:
            place = bisect_right(self.starts, block.start) - 1
            del self.starts[place], self.blocks[place]
            for low, high in block.pieces:
                _native.host_memory(low, high - low, False)


class _Block:
    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end
        self.owners: set[int] = set()
        self.pieces: list[tuple[int, int]] = []  # as they were reported, ascending

    def absorb(self, other: _Block) -> None:
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        self.owners |= other.owners
        self.pieces += other.pieces

    def fill(self, start: int, end: int) -> list[tuple[int, int]]:
        """The gaps between the pieces from start to end, which become pieces."""
        gaps = []
        for low, high in self.pieces:
            if low >= end:
                break
            if start < low:
                gaps.append((start, low))
            start = max(start, high)
        if start < end:
            gaps.append((start, end))
        self.pieces = sorted(self.pieces + gaps)
        return gaps


_memory = _Memory()


def start() -> None:
    """Observe lifetimes until ``stop()`` was called as often."""
    global _users  # noqa: PLW0603 - one switch for the process
    _users += 1
    if _users == 1:
        _native.set_copy_watcher(_note_copy)


def stop() -> None:
    """Stop observing."""
    global _users, _memory  # noqa: PLW0603 - one switch for the process
    _users -= 1
    if _users == 0:
        _native.set_copy_watcher(None)
        with _lock:
            _watched.clear()
            _gone.clear()
            _memory = _Memory()


def active() -> bool:
    """True between ``start()`` and ``stop()``."""
    return _users > 0


def note_access(thing: Any, address: int, nbytes: int) -> None:
    """Work or the host accesses host memory of `thing`; nothing happens unless started."""
    owner = _owner_of(thing) if _users else None
    if owner is None:
        return
    key = id(owner)
    known = _watched.get(key)
    if known is not None and known() is owner:
        return
    address, nbytes = _range_of(owner, address, nbytes)
    if not nbytes:
        return
    try:
        reference = weakref.ref(owner, lambda gone: _settle((key, gone)))
    except TypeError:  # bytes and the like have no weak references
        return
    with _lock:
        _drop_gone()
        if _watched.setdefault(key, reference) is reference:
            _memory.add(key, address, address + nbytes)
    _settle()


def _settle(*gone: tuple[int, weakref.ref[Any]]) -> None:
    """Called where a reference dies too, which may be in the middle of anything: then who has the lock does it."""
    _gone.extend(gone)
    while _gone and _lock.acquire(blocking=False):
        try:
            _drop_gone()
        finally:
            _lock.release()


def _drop_gone() -> None:
    while _gone:
        key, reference = _gone.popleft()
        if _watched.get(key) is reference:
            del _watched[key]
            _memory.drop(key)


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - a thread of the parent may hold it
    _lock = threading.Lock()


process.after_fork(_after_fork)


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
        elif hasattr(thing, "_b_base_"):
            below = thing._b_base_  # of ctypes: the array or structure that contains it
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
