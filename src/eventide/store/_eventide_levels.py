"""What follows from the operations and shows best as something else: memory as counters, failures as instants."""

from __future__ import annotations

from typing import Any

from eventide.store._eventide_columns import Names

Row = dict[str, Any]
_PROCESS = 0  # the row of its track


def memory_levels(hooks: dict[str, Any], hook_names: list[str], names: Names) -> list[Row]:
    """How many bytes are allocated on each device, from one change to the next; a counter of the process.

    What was allocated before the recording counts from the start if it was freed within it.
    """
    changes: list[tuple[int, int, int]] = []  # time, device, bytes
    before: dict[int, int] = {}
    live: dict[tuple[int, int], int] = {}
    kinds = {number: name for number, name in enumerate(hook_names) if name.startswith("memory_")}
    columns = [hooks[name].tolist() for name in ("hook", "time", "device", "handle", "bytes")]
    for hook, time, device, handle, size in zip(*columns, strict=True):
        kind = kinds.get(hook)
        if not device or kind not in {"memory_allocation", "memory_deallocation"}:
            continue
        if kind == "memory_allocation":
            live[device, handle] = size
            changes.append((time, device, size))
        else:
            held = live.pop((device, handle), None)
            if held is None:
                held = max(0, size)
                before[device] = before.get(device, 0) + held
            changes.append((time, device, -held))
    rows = []
    for time, device, size in changes:
        before[device] = before.get(device, 0) + size
        rows.append({"track": _PROCESS, "name": f"memory of {names[device]}", "time": time, "value": before[device]})
    return rows


def failures(spans: list[Row]) -> list[Row]:
    """Work that raised, at the time when it did."""
    return [
        {
            "track": span["track"],
            "name": f"failed: {span['name']}",
            "category": "work",
            "time": span["start"] + (span.get("duration") or 0),
            "stack": span.get("stack", 0),
        }
        for span in spans
        if span.get("outcome") == "failed"
    ]
