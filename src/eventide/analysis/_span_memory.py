"""Memory that the spans of host threads allocated and freed, as torch.profiler attributes it.

An allocation or a free belongs to the innermost span of its thread at that time (self), and to all around it (total).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide.analysis._nesting import nests_of
from eventide.analysis._view import Ints, View, codes, integers, json_of

_TORCHS = "[memory]"  # torch's name of an instant for each allocation and free
_CPU = 0  # its number of the device type
_SIGNS = {"memory_allocation": 1, "memory_deallocation": -1}


@dataclass(frozen=True)
class SpanMemory:
    """Bytes of each span, less what it freed; by [host, devices]. `outside` is what no span of the thread allocated."""

    own: tuple[Ints, Ints]
    total: tuple[Ints, Ints]  # of the outermost span of its name: inside of it, 0
    outside: tuple[int, int]
    outside_count: int


@dataclass(frozen=True)
class _Changes:
    """Allocations and frees: the track of the thread (-1: it has none), whether a device holds it, the bytes."""

    track: Ints
    time: Ints
    on_device: Ints
    bytes: Ints


def span_memory(view: View) -> SpanMemory | None:
    """None: the trace has no allocations."""
    changes = _changes(view)
    if len(changes.bytes) == 0:
        return None
    own = (np.zeros(view.count, np.int64), np.zeros(view.count, np.int64))
    total = (np.zeros(view.count, np.int64), np.zeros(view.count, np.int64))
    owned = np.zeros(len(changes.bytes), bool)
    for track, nest in nests_of(view).items():
        mine = np.flatnonzero(changes.track == track)
        owner = nest.owner_at(changes.time[mine])
        mine, owner = mine[owner >= 0], owner[owner >= 0]
        owned[mine] = True
        for where in (0, 1):
            here = changes.on_device[mine] == where
            np.add.at(own[where], owner[here], changes.bytes[mine[here]])
            _add_to_outer(view, nest.rows, nest.parent, own[where], total[where])
    rest = [int(changes.bytes[~owned & (changes.on_device == where)].sum()) for where in (0, 1)]
    return SpanMemory(own, total, (rest[0], rest[1]), int((~owned).sum()))


def _add_to_outer(view: View, rows: Ints, parent: Ints, own: Ints, total: Ints) -> None:
    """Add the bytes of each span to all around it; of spans of one name inside each other, to the outermost."""
    for index in np.flatnonzero(own[rows]).tolist():
        size = int(own[rows[index]])
        outermost: dict[tuple[int, int], int] = {}
        while index >= 0:
            row = int(rows[index])
            outermost[int(view.name[row]), int(view.category[row])] = row
            index = int(parent[index])  # noqa: PLW2901  (the walk to the root)
        for row in outermost.values():
            total[row] += size


def _changes(view: View) -> _Changes:
    parts = [_instants(view), _operations(view)]
    names = ("track", "time", "on_device", "bytes")
    return _Changes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _instants(view: View) -> _Changes:
    """Those that torch and backends reported."""
    table = view.trace.instants
    chosen = pc.fill_null(pc.equal(table.column("name").cast(pa.string()), _TORCHS), fill_value=False)
    table = table.filter(chosen)
    about = [json_of(text) for text in table.column("args").to_pylist()]
    devices = [_is_device(one.get("Device"), one.get("Device Type")) for one in about]
    sizes = [one.get("Bytes") for one in about]
    return _Changes(
        integers(table.column("track")),
        integers(table.column("time"), 0),
        np.array(devices, np.int64),
        np.array([size if isinstance(size, int) else 0 for size in sizes], np.int64),
    )


def _operations(view: View) -> _Changes:
    """Those of our own runtime and of integrations."""
    table = view.trace.operations
    hook, words = codes(table.column("hook"))
    sign = np.array([_SIGNS.get(word or "", 0) for word in words] or [0])[hook]
    rows = np.flatnonzero(sign)
    table, sign = table.take(rows), sign[rows]
    tracks = {tid: track for track, tid in enumerate(view.track_tid) if view.track_kind[track] == "thread"}
    threads = [tracks.get(thread, -1) for thread in table.column("thread").to_pylist()]
    devices = [_is_device(device, None) for device in table.column("device").cast(pa.string()).to_pylist()]
    return _Changes(
        np.array(threads, np.int64),
        integers(table.column("time"), 0),
        np.array(devices, np.int64),
        sign * integers(table.column("bytes").cast(pa.int64()), 0),
    )


def _is_device(name: object, number: object) -> int:
    """1 for memory that is not the host's."""
    if isinstance(name, str):
        return int(name.partition(":")[0] != "cpu")
    return int(number != _CPU)
