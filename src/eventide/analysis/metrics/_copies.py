"""Copies and fills of memory by kind: bytes, time, bandwidth, and which are small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._intervals import union
from eventide.analysis._view import COPY, Ints, View, view_of
from eventide.analysis.metrics._args import Floats, arg_numbers
from eventide.trace import Trace

SMALL = 65_536  # bytes: below that a copy costs its launch, not its bytes


@dataclass(frozen=True)
class CopyRow:
    """All copies of one kind on one device; times are nanoseconds. Bandwidths are bytes a second."""

    device: str
    kind: str  # as the source names it: "Memcpy HtoD (Pageable -> Device)"
    count: int
    total: int
    bytes: int | None  # None: not recorded
    bandwidth: float | None  # of the copies whose bytes are recorded: their bytes by their time
    best: float | None  # of the fastest copy of at least 64 KiB
    small: int  # copies of less than 64 KiB


@dataclass(frozen=True, repr=False)
class Copies(show.Result):
    """By time, largest first."""

    start: int
    wall: int
    count: int
    time: int  # with at least one copy running, summed over devices
    rows: tuple[CopyRow, ...]
    absent: str | None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "device": show.text,
        "kind": show.text,
        "count": show.number,
        "total": show.time,
        "bytes": show.size,
        "bandwidth": show.bandwidth,
        "best": show.bandwidth,
        "small": show.number,
    }
    _row: ClassVar[type] = CopyRow

    def _rows(self) -> tuple[CopyRow, ...]:
        return self.rows

    def _heading(self) -> str:
        if not self.rows:
            return "the trace has no copies and no fills of device memory"
        moved = sum(row.bytes or 0 for row in self.rows)
        text = f"{self.count:,} copies and fills, {f.time(self.time)}"
        return f"{text}; {self.absent}" if self.absent else f"{text}, {f.size(moved)}"


_ABSENT = "their bytes are not recorded, so the bandwidth is not known"


def copies(trace: Trace | View) -> Copies:
    """Add up copies by device and kind."""
    view = view_of(trace)
    start, end = view.window
    rows: list[CopyRow] = []
    count = time = 0
    for device, tracks in view.devices.items():
        mine = np.concatenate([view.work_by_track[track] for track in tracks])
        mine = mine[view.bits[mine] == COPY]
        mine = mine[np.argsort(view.start[mine], kind="stable")]
        low, high, _ = union(view.start[mine], view.end[mine])
        count, time = count + len(mine), time + int((high - low).sum())
        bytes_of = _bytes(view, mine)
        rows += [
            _row(view, device, mine[view.name[mine] == name], bytes_of[view.name[mine] == name])
            for name in np.unique(view.name[mine]).tolist()
        ]
    rows.sort(key=lambda row: (-row.total, row.kind))
    unknown = bool(rows) and all(row.bytes is None for row in rows)
    return Copies(start, end - start, count, time, tuple(rows), _ABSENT if unknown else None)


def _bytes(view: View, rows: Ints) -> Floats:
    """The bytes of each copy; in a file of ROCm or MTIA they may have another name."""
    found = arg_numbers(view, rows, "bytes")
    return np.where(np.isnan(found), arg_numbers(view, rows, "size"), found)


def _row(view: View, device: str, rows: Ints, sizes: Floats) -> CopyRow:
    length = view.duration[rows]
    known = ~np.isnan(sizes)
    timed = known & (length > 0)
    large = timed & (sizes >= SMALL)
    return CopyRow(
        device,
        view.word(int(rows[0])),
        len(rows),
        int(length.sum()),
        int(sizes[known].sum()) if known.any() else None,
        float(sizes[timed].sum() * 1e9 / length[timed].sum()) if timed.any() else None,
        float((sizes[large] * 1e9 / length[large]).max()) if large.any() else None,
        int((sizes[known] < SMALL).sum()),
    )
