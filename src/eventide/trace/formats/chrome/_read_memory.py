"""Memory events of torch's profiler as counters: what is allocated and reserved on each device, over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eventide._native import torch_device_types
from eventide.trace.linking._columns import NONE
from eventide.trace.linking._tracks import Tracks

DEVICE_TYPES = torch_device_types()  # the number is part of torch's files
SERIES = (("allocated", "allocated bytes"), ("reserved", "reserved bytes"))


def memory_counters(columns: dict[str, Any], tracks: Tracks) -> dict[str, Any]:
    """Rows of the table of counters, on one track a device."""
    memory, instants = columns["memory"], columns["instants"]
    track = np.empty(0, np.int32)
    if len(memory["instant"]):
        near = int(instants["track"][memory["instant"][0]])
        devices = np.stack([memory["device_type"], memory["device"]])
        kinds, inverse = np.unique(devices, axis=1, return_inverse=True)
        numbers = [tracks.counter(near, f"memory {name}", name) for name in map(_device, *kinds.tolist())]
        track = np.array(numbers, np.int32)[inverse.reshape(-1)]
    time = instants["time"][memory["instant"]]
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


def _device(kind: int, index: int) -> str:
    name = DEVICE_TYPES[kind] if 0 <= kind < len(DEVICE_TYPES) else "device"
    return f"{name}:{max(index, 0)}"
