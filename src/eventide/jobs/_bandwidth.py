"""Bytes in a second of transfer, by group, kind and size; collectives that were much slower than their like.

The transfer is that of the rank that waited least, which is the last one or as good as it, on its own clock: the
errors between the clocks of the ranks do not matter, only the resolution of each.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from eventide.jobs._job import Job
from eventide.jobs._waiting import Waiting, WaitRow

_SLOW = 0.5  # of the median


@dataclass(frozen=True)
class BandwidthRow:
    """Collectives of one group, kind and size (a power of two). Bandwidth: bytes of a message in a second."""

    group: str | None
    kind: str | None
    size: int  # from this many bytes up to twice as many
    count: int
    resolved: int  # whose transfer is longer than the resolution of the clocks; the others are left out below
    median: float | None
    slowest: float | None
    slow: tuple[str, ...]  # keys of those below half of the median, slowest first


def bandwidth(job: Job, waits: Waiting) -> tuple[BandwidthRow, ...]:
    """By group, kind and size."""
    resolution = max((each.resolution for each in job.ranks), default=1)
    found: dict[tuple[str, str, int], list[WaitRow]] = defaultdict(list)
    for row in waits.rows:
        if row.bytes:
            found[row.group or "", row.kind or "", 1 << (row.bytes.bit_length() - 1)].append(row)
    return tuple(_row(about, rows, resolution) for about, rows in sorted(found.items()))


def _row(about: tuple[str, str, int], rows: list[WaitRow], resolution: int) -> BandwidthRow:
    group, kind, size = about
    speeds = {row.key: (row.bytes or 0) / row.shortest * 1e9 for row in rows if row.shortest > resolution}
    median = float(np.median(list(speeds.values()))) if speeds else None
    slow = [key for key, speed in speeds.items() if median is not None and speed < _SLOW * median]
    return BandwidthRow(
        group or None,
        kind or None,
        size,
        len(rows),
        len(speeds),
        median,
        min(speeds.values(), default=None),
        tuple(sorted(slow, key=speeds.__getitem__)),
    )
