"""The description of each command: one function for each name of pyopencl._cl, with the parameters of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyopencl as cl

from eventide.hooks.feed import Accesses
from eventide.integrations.pyopencl import _memory as memory


class Description(NamedTuple):
    """A command. Without a name it is not work but a marker or a barrier. Accesses of None are unknown.

    `category` is that of its span: all named commands but kernels move or fill memory, which is "copy".
    """

    queue: Any
    name: str
    reads: Accesses | None = None
    writes: Accesses | None = None
    wait_for: Any = None
    blocking: bool = False
    category: str = "copy"


def _kernel(queue: Any, kernel: Any, *args: Any, wait_for: Any = None, **_: Any) -> Description:
    given = getattr(kernel, "_eventide_args", None)  # (sizes..., global_offset, wait_for)
    reads, writes = memory.touched(kernel, given)
    wait_for = args[3] if len(args) > 3 else wait_for
    return Description(queue, str(kernel.function_name), reads, writes, wait_for, category="work")


def _read(  # noqa: PLR0917 - pyopencl's own
    queue: Any, mem: Any, hostbuf: Any, src_offset: int = 0, wait_for: Any = None, is_blocking: bool = True
) -> Description:
    reads = memory.part(mem, src_offset, memoryview(hostbuf).nbytes)
    return Description(queue, "read buffer", reads, memory.host(hostbuf), wait_for, bool(is_blocking))


def _write(  # noqa: PLR0917 - pyopencl's own
    queue: Any, mem: Any, hostbuf: Any, dst_offset: int = 0, wait_for: Any = None, is_blocking: bool = True
) -> Description:
    writes = memory.part(mem, dst_offset, memoryview(hostbuf).nbytes)
    return Description(queue, "write buffer", memory.host(hostbuf), writes, wait_for, bool(is_blocking))


def _copy(  # noqa: PLR0917 - pyopencl's own
    queue: Any,
    src: Any,
    dst: Any,
    byte_count: int = -1,
    src_offset: int = 0,
    dst_offset: int = 0,
    wait_for: Any = None,
) -> Description:
    if byte_count is None or byte_count < 0:
        byte_count = min(int(src.size) - src_offset, int(dst.size) - dst_offset)
    reads, writes = memory.part(src, src_offset, byte_count), memory.part(dst, dst_offset, byte_count)
    return Description(queue, "copy buffer", reads, writes, wait_for)


def _fill(queue: Any, mem: Any, pattern: Any, offset: int, size: int, wait_for: Any = None) -> Description:  # noqa: ARG001, PLR0917
    return Description(queue, "fill buffer", (), memory.part(mem, offset, size), wait_for)


def _map(  # noqa: PLR0917 - pyopencl's own
    queue: Any, buf: Any, flags: Any, offset: int, shape: Any, dtype: Any, *args: Any, **kwargs: Any
) -> Description:
    import numpy as np

    shape = shape if isinstance(shape, tuple | list) else (shape,)
    nbytes = int(np.dtype(dtype).itemsize * np.prod(shape, dtype=np.int64))
    reads = memory.part(buf, offset, nbytes)
    read_only = int(flags) == int(cl.map_flags.READ)
    wait_for = args[2] if len(args) > 2 else kwargs.get("wait_for")
    blocking = args[3] if len(args) > 3 else kwargs.get("is_blocking", True)
    return Description(queue, "map buffer", reads, () if read_only else reads, wait_for, bool(blocking))


def _order(queue: Any, wait_for: Any = None) -> Description:
    return Description(queue, "", wait_for=wait_for, category="work")


def _unknown(name: str, wait_at: int, block_at: int = -1, *, blocks: bool = False) -> Callable[..., Description]:
    """A command with unknown accesses. `wait_at` and `block_at` are indices of positional arguments."""

    def describe(*args: Any, **kwargs: Any) -> Description:
        wait_for = args[wait_at] if len(args) > wait_at else kwargs.get("wait_for")
        blocking = kwargs.get("is_blocking", blocks)
        if 0 <= block_at < len(args):
            blocking = args[block_at]
        return Description(args[0] if args else kwargs["queue"], name, wait_for=wait_for, blocking=bool(blocking))

    return describe


COMMANDS: dict[str, Callable[..., Description]] = {
    "enqueue_nd_range_kernel": _kernel,
    "_enqueue_read_buffer": _read,
    "_enqueue_write_buffer": _write,
    "_enqueue_copy_buffer": _copy,
    "_enqueue_fill_buffer": _fill,
    "enqueue_map_buffer": _map,
    "_enqueue_marker_with_wait_list": _order,
    "_enqueue_barrier_with_wait_list": _order,
    "_enqueue_marker": _order,
    "_enqueue_barrier": _order,
    "_enqueue_wait_for_events": _order,
    "_enqueue_read_buffer_rect": _unknown("read rectangle", 8, 9, blocks=True),
    "_enqueue_write_buffer_rect": _unknown("write rectangle", 8, 9, blocks=True),
    "_enqueue_copy_buffer_rect": _unknown("copy rectangle", 8),
    "_enqueue_read_image": _unknown("read image", 7, 8, blocks=True),
    "_enqueue_write_image": _unknown("write image", 7, 8, blocks=True),
    "_enqueue_copy_image": _unknown("copy image", 6),
    "_enqueue_copy_image_to_buffer": _unknown("copy image to buffer", 6),
    "_enqueue_copy_buffer_to_image": _unknown("copy buffer to image", 6),
    "enqueue_fill_image": _unknown("fill image", 5),
    "enqueue_migrate_mem_objects": _unknown("migrate memory", 3),
    "_enqueue_svm_memcpy": _unknown("copy SVM", 4, 1),
    "_enqueue_svm_memfill": _unknown("fill SVM", 4),
    "_enqueue_svm_map": _unknown("map SVM", 4, 1),
    "_enqueue_svm_unmap": _unknown("unmap SVM", 2),
    "_enqueue_svm_migrate_mem": _unknown("migrate SVM", 3),
}
