"""Buffers of pyopencl, with addresses that Eventide assigns, and what kernels access of them.

A kernel accesses at most the whole of each buffer argument: that is an upper bound, and reported as such. A pointer to
const is read, any other may be read and written. The qualifiers come from the kernel's argument information if it was
built with it, else from its source.
"""

from __future__ import annotations

import functools
import re
from contextlib import suppress
from typing import Any

import pyopencl as cl

from eventide.hooks import feed
from eventide.hooks.feed import Access, Accesses
from eventide.integrations.pyopencl._queues import device_name
from eventide.runtime.access import lifetimes

host_copies = 0  # how often a queue copied from or to an array of the host, whose own accesses are not traced
_memory: dict[int, Block] = {}  # by cl_mem
Arguments = tuple[tuple[int, Access], ...] | None
"""(position, whole buffer) of each that is a buffer; None: one of them has unknown accesses."""


class Block:
    """Memory of a buffer; pyopencl's object of the buffer owns it."""

    __slots__ = ("address", "device", "key", "nbytes")

    def __init__(self, memory: Any) -> None:
        self.key = int(memory.int_ptr)
        self.nbytes = int(memory.size)
        self.address = feed.new_memory(self.nbytes)
        devices = memory.context.devices
        self.device = device_name(devices[0])
        _memory[self.key] = self
        feed.allocated(self.device, self.address, self.nbytes)

    def free(self) -> None:
        """Report that it is freed, once."""
        if _memory.get(self.key) is self:
            del _memory[self.key]
            feed.freed(self.device, self.address, self.nbytes)


class _Owner:
    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the process, modules may be torn down
            self.block.free()


def created(memory: Any) -> Block:
    """A buffer was created: an earlier one with its handle is freed."""
    before = _memory.get(int(memory.int_ptr))
    if before is not None:
        before.free()
    block = Block(memory)
    memory._eventide = _Owner(block)  # noqa: SLF001 - ours
    return block


def released(memory: Any) -> None:
    """The program released it explicitly."""
    kept = getattr(memory, "_eventide", None)
    if isinstance(kept, _Owner):
        kept.block.free()


def sub_buffer_created(memory: Any, of: Any) -> None:
    """A sub-buffer keeps the memory of its buffer, whose own object may be destroyed first."""
    kept = getattr(of, "_eventide", None)
    if isinstance(kept, _Owner):
        memory._eventide_of = kept  # noqa: SLF001 - ours; only a reference


def whole(memory: Any) -> Access | None:
    """All of a buffer; None for an image, a pipe and other objects without addressable bytes."""
    if memory.type != cl.mem_object_type.BUFFER:
        return None
    block = _memory.get(int(memory.int_ptr))
    if block is None:
        parent = memory.associated_memobject
        if parent is not None and int(parent.int_ptr) != int(memory.int_ptr):
            outer = whole(parent)
            return None if outer is None else (outer[0] + int(memory.offset), int(memory.size))
        block = created(memory)
    return (block.address, block.nbytes)


def part(memory: Any, offset: int, nbytes: int) -> Accesses | None:
    """Some bytes of a buffer."""
    all_ = whole(memory)
    return None if all_ is None else ((all_[0] + int(offset), int(nbytes)),)


def host(array: Any) -> Accesses:
    """The bytes of a contiguous array of the host; they are checked against other copies."""
    about = getattr(array, "__array_interface__", None)
    if about is None or not getattr(array, "nbytes", 0) or not array.flags.forc:
        return ()
    global host_copies  # noqa: PLW0603 - one count for the process
    host_copies += 1
    address, nbytes = int(about["data"][0]), int(array.nbytes)
    lifetimes.note_access(array, address, nbytes)
    return ((address, nbytes),)


def arguments(args: tuple[Any, ...]) -> Arguments:
    """The buffers among the arguments of a kernel."""
    found: list[tuple[int, Access]] = []
    for position, argument in enumerate(args):
        if isinstance(argument, cl.MemoryObjectHolder):
            access = whole(argument)
            if access is None:
                return None
            found.append((position, access))
        elif isinstance(argument, cl.SVMPointer):
            return None
    return tuple(found)


def touched(kernel: Any, given: Arguments) -> tuple[Accesses, Accesses] | tuple[None, None]:
    """What a kernel with these arguments may read and write."""
    if given is None:
        return None, None
    constant = getattr(kernel, "_eventide_const", None)
    if constant is None:
        constant = kernel._eventide_const = constant_arguments(kernel)  # noqa: SLF001 - ours
    bounds = [(position in constant, (access[0], access[1], 0, 0, True)) for position, access in given]
    return tuple(one for _, one in bounds), tuple(one for const, one in bounds if not const)


def constant_arguments(kernel: Any) -> frozenset[int]:
    """The positions of pointers to const."""
    try:
        what, const = cl.kernel_arg_info, int(cl.kernel_arg_type_qualifier.CONST)
        qualifiers = [int(kernel.get_arg_info(n, what.TYPE_QUALIFIER)) for n in range(kernel.num_args)]
        return frozenset(n for n, one in enumerate(qualifiers) if one & const)
    except cl.Error:
        pass  # built without
    try:
        source = str(kernel.get_info(cl.kernel_info.PROGRAM).get_info(cl.program_info.SOURCE))
    except cl.Error:
        return frozenset()
    return _constant_in(source, str(kernel.function_name))


@functools.lru_cache(256)
def _constant_in(source: str, name: str) -> frozenset[int]:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
    found = re.search(rf"\bkernel\s+void\s+{re.escape(name)}\s*\(([^()]*)\)", plain.replace("__kernel", "kernel"))
    if found is None:
        return frozenset()
    parameters = [one.partition("*") for one in found[1].split(",")]
    words = [re.findall(r"\w+", before) if star else [] for before, star, _ in parameters]
    return frozenset(n for n, one in enumerate(words) if {"const", "__constant", "constant"} & set(one))
