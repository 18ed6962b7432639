"""Results as tables of rich, each fit for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from eventide.analysis import Breakdown, CriticalPath, DeviceBreakdown, NameRow, Part, Summary
from eventide.report import format as f
from eventide.report._table import Fitted, table

_PARTS = ("wall", "compute", "comm", "copy", "overlap", "idle")


def breakdown_table(result: Breakdown, most: int | None = None, devices: int | None = None) -> Fitted:
    """One line a device and step; `most` keeps the slowest steps, `devices` the idlest; others are counted."""
    rows = []
    shown = sorted(result.devices, key=lambda device: -device.whole.idle)[:devices]
    for device in (each for each in result.devices if each in shown):
        rows.append([device.device, *_part(device.whole)])
        steps, left = _steps(device, most)
        rows += [[f"  {part.scope}", *_part(part)] for part in steps if part.wall]
        if left:
            rows.append([f"  {left} faster {'step' if left == 1 else 'steps'}"])
    if len(shown) < len(result.devices):
        rows.append([f"{len(result.devices) - len(shown)} busier devices"])
    return table("Where the time went", _PARTS, rows)


def _steps(device: DeviceBreakdown, most: int | None) -> tuple[list[Part], int]:
    steps = list(device.steps)
    if most is None or len(steps) <= most + 1:
        return steps, 0
    slowest = sorted(steps[:-1], key=lambda part: -part.wall)[:most]
    kept = [part for part in steps[:-1] if part in slowest]
    return kept, len(steps) - 1 - len(kept)


def _part(part: Part) -> list[str]:
    times = (part.compute, part.communication, part.copy, sum(part.overlap.values()), part.idle)
    return [f.time(part.wall), *(f.percent(time, part.wall) for time in times)]


def name_table(rows: Sequence[NameRow], most: int) -> Fitted:
    """Device work by name; shares are of the time of all work, which may run at once."""
    whole = sum(row.total for row in rows)
    cells = [
        [
            f.name(row.name, 70),
            row.category,
            f.time(row.total),
            f.percent(row.total, whole),
            f"{row.count:,}",
            f.time(row.min),
            f.time(row.median),
            f.time(row.max),
        ]
        for row in rows[:most]
    ]
    if rest := rows[most:]:
        time = sum(row.total for row in rest)
        cells.append([_more(rest), "", f.time(time), f.percent(time, whole), f"{sum(row.count for row in rest):,}"])
    return table("Device work", ("kind", "total", "share", "count", "min", "median", "max"), cells, 2)


def host_table(result: Summary, most: int) -> Fitted:
    """Host code by self time."""
    rows = [
        [
            f.name(row.name, 70),
            row.category,
            f.time(row.self_time),
            f.time(row.total),
            f"{row.count:,}",
            f.time(row.min),
            f.time(row.median),
            f.time(row.max),
        ]
        for row in result.host[:most]
    ]
    if rest := result.host[most:]:
        time = sum(row.self_time for row in rest)
        rows.append([_more(rest), "", f.time(time), "", f"{sum(row.count for row in rest):,}"])
    return table("Host code", ("kind", "self", "total", "count", "min", "median", "max"), rows, 2)


def path_table(path: CriticalPath, most: int) -> Fitted:
    """The critical path by name."""
    rows = [
        [
            f.name(row.name, 70) or "-",
            row.kind,
            f.name(row.where, 24),
            f.time(row.time),
            f.percent(row.time, path.wall),
            f"{row.count:,}",
        ]
        for row in path.rows[:most]
    ]
    if rest := path.rows[most:]:
        time = sum(row.time for row in rest)
        pieces = f"{sum(row.count for row in rest):,}"
        rows.append([_more(rest), "", "", f.time(time), f.percent(time, path.wall), pieces])
    return table("Critical path", ("kind", "where", "time", "share", "pieces"), rows, 3)


def _more(rest: Sequence[object]) -> str:
    return f"{len(rest):,} more {'name' if len(rest) == 1 else 'names'}"
