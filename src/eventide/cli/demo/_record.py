"""The recorded run of the demo: its files and their content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import eventide as et

if TYPE_CHECKING:  # imports numpy, which the demo's program must import first: it sets one BLAS thread
    from eventide.analysis import NameRow, StreamRow

T = TypeVar("T")


@dataclass(frozen=True)
class Recorded:
    """A recording: as .eventide, for Perfetto, and its report as a page."""

    files: tuple[str, ...]
    work: tuple[NameRow, ...]  # by name
    streams: tuple[StreamRow, ...]
    sync_count: int
    sync_time: int  # ns
    records: int
    dropped: int


def record(run: Callable[[], T], folder: Path) -> tuple[T, Recorded]:
    """Run once while recording."""
    from eventide.analysis import View, summary

    native, view, page = (folder / f"demo.{suffix}" for suffix in ("eventide", "pftrace", "html"))
    with et.Recorder(native, stacks=True) as recorder:
        result = run()
    trace = recorder.trace
    trace.save(view)
    trace.report(page, title="demo")
    found = summary(View(trace))
    account = trace.metadata["account"]
    return result, Recorded(
        files=(str(native), str(view), str(page)),
        work=found.device,
        streams=tuple(row for row in found.streams if row.count),
        sync_count=found.sync_count,
        sync_time=found.sync_time,
        records=_total(account["recorded"]),
        dropped=_total(account["dropped"]),
    )


def _total(counts: object) -> int:
    """Of a count, or of counts by kind."""
    return sum(map(_total, counts.values())) if isinstance(counts, dict) else int(str(counts))
