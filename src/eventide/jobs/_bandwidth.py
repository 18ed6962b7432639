"""Bytes in a second of transfer, by group, kind and size; collectives that were much slower than their like."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from eventide.jobs._waiting import Waiting, WaitRow

_SLOW = 0.5  # of the median


@dataclass(frozen=True)
class BandwidthRow:
    """Collectives of one group, kind and size (a power of two). Bandwidth: bytes of a message in a second."""

    group: str | None
    kind: str | None
    size: int  # from this many bytes up to twice as many
    count: int
    resolved: int  # whose transfer is longer than the error of the clocks; the others are left out below
    median: float | None
    slowest: float | None
    slow: tuple[str, ...]  # keys of those below half of the median


def bandwidth(waits: Waiting) -> tuple[BandwidthRow, ...]:
    """By group, kind and size."""
    found: dict[tuple[str, str, int], list[WaitRow]] = defaultdict(list)
    for row in waits.rows:
        if row.bytes:
            found[row.group or "", row.kind or "", 1 << (row.bytes.bit_length() - 1)].append(row)
    return tuple(_row(group, kind, size, rows) for (group, kind, size), rows in sorted(found.items()))


def _row(group: str, kind: str, size: int, rows: list[WaitRow]) -> BandwidthRow:
    speeds = {row.key: (row.bytes or 0) / row.transfer * 1e9 for row in rows if row.transfer > row.error}
    median = float(np.median(list(speeds.values()))) if speeds else None
    slow = tuple(key for key, speed in speeds.items() if median is not None and speed < _SLOW * median)
    return BandwidthRow(
        group or None, kind or None, size, len(rows), len(speeds), median, min(speeds.values(), default=None), slow
    )
