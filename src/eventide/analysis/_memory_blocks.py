"""Allocations paired with the frees that end them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import Bools, Ints, View, codes, integers


@dataclass(frozen=True)
class Blocks:
    """One block of memory a row. Not born: it was allocated before the recording. Not died: it outlived it."""

    device: Ints
    devices: list[str]
    begin: Ints
    end: Ints
    bytes: Ints
    born: Bools
    died: Bools
    thread: Ints
    stack: Ints
    names: list[str] | None


def blocks_of(view: View) -> Blocks:
    """Pair by device and address, in order of time."""
    table = view.trace.operations
    hook, words = codes(table.column("hook"))
    kinds = np.array([{"memory_allocation": 1, "memory_deallocation": -1}.get(word, 0) for word in words])
    kind = kinds[hook] if len(hook) else np.empty(0, np.int64)
    rows = np.flatnonzero(kind)
    device, devices = codes(table.column("device"))
    handle = table.column("handle").fill_null(0).to_numpy().astype(np.uint64)
    time = integers(table.column("time"), 0)
    rows = rows[np.lexsort((rows, time[rows], handle[rows], device[rows]))]
    same = np.append((device[rows][1:] == device[rows][:-1]) & (handle[rows][1:] == handle[rows][:-1]), False)
    size = table.column("bytes").fill_null(0).to_numpy().astype(np.int64)
    birth = np.flatnonzero(kind[rows] > 0)
    # The next operation on the same address ends a block: its free, or another allocation when the free was not seen.
    follower = np.minimum(birth + 1, max(len(rows) - 1, 0))
    ends = same[birth]
    taken = np.zeros(len(rows), bool)
    taken[follower[ends & (kind[rows][follower] < 0)]] = True
    orphan = np.flatnonzero((kind[rows] < 0) & ~taken)
    far = np.iinfo(np.int64).max
    first, last = rows[birth], rows[follower]
    lost = rows[orphan]
    early = np.full(len(lost), np.iinfo(np.int64).min)
    every = np.concatenate((first, lost))
    name, texts = codes(table.column("name"))
    return Blocks(
        device[every],
        [word or "device" for word in devices],
        np.concatenate((time[first], early)),
        np.concatenate((np.where(ends, time[last], far), time[lost])),
        size[every],
        np.repeat([True, False], [len(first), len(lost)]),
        np.concatenate((ends, np.ones(len(lost), bool))),
        integers(table.column("thread"))[every],
        integers(table.column("stack"))[every],
        [texts[number] for number in name[every].tolist()],
    )
