"""Allocations and frees, in the order of time, as changes of what a device holds."""

from __future__ import annotations

from collections.abc import Iterable


def memory_changes(told: Iterable[tuple[str | None, int | str | None, int, int]]) -> list[tuple[int, int, int]]:
    """(row, bytes more or less, bytes held from then on), from (hook, device, address, bytes) of each operation.

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
