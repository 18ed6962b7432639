"""The allocations and frees that a trace holds as operations, as torch.profiler writes them: instants `[memory]`.

They stand behind the trace's own instants and only in Chrome's JSON. Our reader leaves them out again, since the
operations themselves are in the file; other readers have torch's numbers to go by.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eventide import _native
from eventide.trace._schema import INSTANTS
from eventide.trace._trace import Trace

NAME = "[memory]"  # torch's
_HOOKS = pa.array(["memory_allocation", "memory_deallocation"])


def memory_instants(trace: Trace) -> pa.Table:
    """Rows of instants. None of a device whose memory somebody has told in instants of this name already."""
    operations = trace.operations.filter(pc.is_in(trace.operations.column("hook").cast(pa.string()), _HOOKS))
    if not operations.num_rows or not trace.tracks.num_rows:
        return INSTANTS.empty_table()
    told = _told(trace)
    given = operations.sort_by("time").to_pylist()
    rows = [row for row in given if row["device"] and _native.torch_device(row["device"]) not in told]
    threads = {
        track["tid"]: number for number, track in enumerate(trace.tracks.to_pylist()) if track["kind"] == "thread"
    }
    columns: dict[str, list[Any]] = {name: [] for name in INSTANTS.names}
    changes = memory_changes((row["hook"], row["device"], row["handle"] or 0, row["bytes"] or 0) for row in rows)
    for number, change, total in changes:
        row = rows[number]
        kind, index = _native.torch_device(row["device"])
        args = {"Addr": row["handle"] or 0, "Bytes": change, "Total Allocated": total, "Total Reserved": total}
        columns["track"].append(threads.get(row["thread"], 0))
        columns["name"].append(NAME)
        columns["category"].append("runtime")
        columns["time"].append(row["time"])
        columns["stack"].append(row["stack"])
        columns["args"].append(json.dumps({**args, "Device Type": kind, "Device Id": index}))
    return Trace({"instants": columns}).instants


def memory_changes(told: Iterable[tuple[str | None, int | str | None, int, int]]) -> list[tuple[int, int, int]]:
    """Allocations and frees, in the order of time, as changes of what a device holds.

    (row, bytes more or less, bytes held from then on), from (hook, device, address, bytes) of each operation.

    What was allocated before the recording counts from the start if it was freed within it.
    """
    changes: list[tuple[int, int | str | None, int]] = []
    held: dict[int | str | None, int] = {}
    live: dict[tuple[int | str | None, int], int] = {}
    for row, (hook, device, address, size) in enumerate(told):
        if not device or hook not in {"memory_allocation", "memory_deallocation"}:
            continue
        if hook == "memory_allocation":
            live[device, address] = size
            changes.append((row, device, size))
            continue
        freed = live.pop((device, address), None)
        if freed is None:
            freed = max(0, size)
            held[device] = held.get(device, 0) + freed
        changes.append((row, device, -freed))
    found = []
    for row, device, change in changes:
        held[device] = held.get(device, 0) + change
        found.append((row, change, held[device]))
    return found


def _told(trace: Trace) -> set[tuple[int, int]]:
    """Devices of which there are such instants."""
    named = trace.instants.filter(pc.equal(trace.instants.column("name").cast(pa.string()), NAME))
    devices = set()
    for text in named.column("args").to_pylist():
        with contextlib.suppress(ValueError, AttributeError):
            args = json.loads(text or "{}")
            devices.add((args.get("Device Type"), args.get("Device Id")))
    return devices
