"""Memory in Chrome's JSON: torch.profiler writes each allocation and free as an instant `[memory]`.

Reading makes counters of allocated and reserved bytes of them, on one track a device. Writing appends such instants for
the allocations and frees among the operations of a trace. Our reader leaves those out again, since the operations
themselves are in the file; other readers get torch's numbers.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eventide import _native
from eventide.trace._schema import INSTANTS
from eventide.trace._trace import Trace
from eventide.trace.linking._columns import NONE
from eventide.trace.linking._tracks import Tracks

NAME = "[memory]"  # torch's
_HOOKS = pa.array(["memory_allocation", "memory_deallocation"])
DEVICE_TYPES = _native.torch_device_types()  # the number is part of torch's files
SERIES = (("allocated", "allocated bytes"), ("reserved", "reserved bytes"))


def memory_counters(columns: dict[str, Any], tracks: Tracks) -> dict[str, Any]:
    """Rows of the table of counters, on one track a device."""
    memory, instants = columns["memory"], columns["instants"]
    track = np.empty(0, np.int32)
    if len(memory["instant"]):
        near = int(instants["track"][memory["instant"][0]])
        devices = np.stack([memory["device_type"], memory["device"]])
        kinds, inverse = np.unique(devices, axis=1, return_inverse=True)
        found = _as_work_is_named([_device(*pair) for pair in kinds.T.tolist()], tracks)
        numbers = [tracks.counter(near, f"memory {name}", name) for name in found]
        track = np.array(numbers, np.int32)[inverse.reshape(-1)]
    time = instants["time"][memory["instant"]]
    memory = {**memory, "allocated": _summed(memory, track, time)}
    parts: dict[str, list[Any]] = {"track": [], "time": [], "value": [], "name": []}
    for column, name in SERIES:
        known = memory[column] != NONE
        parts["track"].append(track[known])
        parts["time"].append(time[known])
        parts["value"].append(memory[column][known].astype(np.float64))
        parts["name"].append(pa.array([name] * int(known.sum()), pa.string()))
    return {
        "name": pa.concat_arrays(parts.pop("name")),
        **{column: np.concatenate(values) for column, values in parts.items()},
    }


def _as_work_is_named(devices: list[str], tracks: Tracks) -> list[str]:
    """The names of devices under which their work is in the trace.

    ROCm counts its devices from the agents of the machine, the processors among them, and torch counts from 0 and calls
    them cuda: one GPU has two names. Where both have the same number of devices, they are the same in order.
    """
    working = sorted({row.device for row in tracks.rows if row.kind == "stream" and row.device}, key=_index)
    holding = sorted({device for device in devices if device.partition(":")[0] in {"cuda", "hip"}}, key=_index)
    if len(working) != len(holding) or not all(device.startswith("hip:") for device in working):
        return devices
    same = dict(zip(holding, working, strict=True))
    return [same.get(device, device) for device in devices]


def _index(device: str) -> int:
    return int(device.rpartition(":")[2])


def _summed(memory: dict[str, Any], track: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The column `allocated`. Old files hold only the bytes of each row: their sums, from the least held before.

    Freed blocks that were allocated before the recording would make the sum negative.
    """
    allocated: np.ndarray = memory["allocated"].copy()
    for device in np.unique(track).tolist():
        mine = np.flatnonzero(track == device)
        if (allocated[mine] != NONE).any():
            continue
        mine = mine[np.lexsort((mine, time[mine]))]
        sums = np.cumsum(np.where(memory["bytes"][mine] != NONE, memory["bytes"][mine], 0))
        allocated[mine] = sums - min(int(sums.min()), 0)
    return allocated


def _device(kind: int, index: int) -> str:
    name = DEVICE_TYPES[kind] if 0 <= kind < len(DEVICE_TYPES) else "device"
    return f"{name}:{max(index, 0)}"


def memory_instants(trace: Trace) -> pa.Table:
    """Rows of instants, except for devices that already have instants of this name."""
    operations = trace.operations.filter(pc.is_in(trace.operations.column("hook").cast(pa.string()), _HOOKS))
    if not operations.num_rows or not trace.tracks.num_rows:
        return INSTANTS.empty_table()
    present = _devices_with_instants(trace)
    given = operations.sort_by("time").to_pylist()
    rows = [row for row in given if row["device"] and _native.torch_device(row["device"]) not in present]
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


def memory_changes(hooks: Iterable[tuple[str | None, int | str | None, int, int]]) -> list[tuple[int, int, int]]:
    """Allocations and frees, in the order of time, as changes of the allocated bytes of a device.

    (row, bytes more or less, bytes held from then on), from (hook, device, address, bytes) of each operation.

    What was allocated before the recording counts from the start if it was freed within it.
    """
    changes: list[tuple[int, int | str | None, int]] = []
    held: dict[int | str | None, int] = {}
    live: dict[tuple[int | str | None, int], int] = {}
    for row, (hook, device, address, size) in enumerate(hooks):
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


def _devices_with_instants(trace: Trace) -> set[tuple[int, int]]:
    """Devices that have such instants."""
    named = trace.instants.filter(pc.equal(trace.instants.column("name").cast(pa.string()), NAME))
    devices = set()
    for text in named.column("args").to_pylist():
        with contextlib.suppress(ValueError, AttributeError):
            args = json.loads(text or "{}")
            devices.add((args.get("Device Type"), args.get("Device Id")))
    return devices
