"""What follows from the operations and shows best as something else: memory as counters, failures as instants."""

from __future__ import annotations

from typing import Any

from eventide.store._eventide_columns import Names
from eventide.store._memory_changes import memory_changes

Row = dict[str, Any]
_PROCESS = 0  # the row of its track


def memory_levels(hooks: dict[str, Any], hook_names: list[str], names: Names) -> list[Row]:
    """How many bytes are allocated on each device, from one change to the next; a counter of the process."""
    columns = [hooks[name].tolist() for name in ("hook", "time", "device", "handle", "bytes")]
    kinds = dict(enumerate(hook_names))
    told = [
        (kinds.get(hook), time, device, handle, size) for hook, time, device, handle, size in zip(*columns, strict=True)
    ]
    return [
        {"track": _PROCESS, "name": f"memory of {names[told[row][2]]}", "time": told[row][1], "value": total}
        for row, _, total in memory_changes((kind, device, handle, size) for kind, _, device, handle, size in told)
    ]


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
