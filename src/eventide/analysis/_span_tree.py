"""Every span with its parent, and time by stack: for views of a trace that name single spans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from eventide.analysis._nesting import nests_of
from eventide.analysis._view import frame_text, integers, view_of
from eventide.trace import Trace


@dataclass(frozen=True)
class SpanNode:
    """A span; times are nanoseconds since the first span. `parent` is a row of ``trace.spans``, or None."""

    row: int
    name: str
    category: str
    start: int
    end: int
    thread: int | None  # of the operating system; None on a device
    device: str | None  # None on the host
    parent: int | None
    stack: tuple[str, ...]  # innermost frame first


def span_nodes(trace: Trace) -> list[SpanNode]:
    """All spans in the order of their starts, outer before inner."""
    view = view_of(trace)
    parent = np.full(view.count, -1, np.int64)
    for nest in nests_of(view).values():
        inner = nest.parent >= 0
        parent[nest.rows[inner]] = nest.rows[nest.parent[inner]]
    stacks = stack_frames(trace)
    first, nodes = view.window[0], []
    columns = (view.start - first, view.end - first, view.track, parent, integers(trace.spans["stack"]))
    values = list(zip(*(column.tolist() for column in columns), strict=True))
    for row in np.lexsort((-view.end, view.start)).tolist():
        start, end, track, above, stack = values[row]
        on_thread = view.track_kind[track] == "thread"
        device = None if on_thread else view.track_device[track] or view.track_name[track]
        thread = view.track_tid[track] if on_thread else None
        frames = stacks[stack] if 0 <= stack < len(stacks) else ()
        what = (view.word(row), view.category_of(row), start, end, thread, device)
        nodes.append(SpanNode(row, *what, above if above >= 0 else None, frames))
    return nodes


def stack_frames(trace: Trace) -> list[tuple[str, ...]]:
    """The frames of each stack as torch.profiler writes them, innermost first."""
    return [tuple(frame_text(one) for one in frames or ()) for frames in trace.stacks.column("frames").to_pylist()]


def self_time_by_stack(trace: Trace, *, on_device: bool = False) -> dict[tuple[str, ...], int]:
    """Self time of host spans, or time of device work, by stack; spans without a stack are left out."""
    view = view_of(trace)
    stack, stacks = integers(trace.spans["stack"]), stack_frames(trace)
    times: Counter[tuple[str, ...]] = Counter()
    found = [(nest.rows, nest.self_time) for nest in nests_of(view).values()]
    if on_device:
        rows = np.flatnonzero(view.bits)
        found = [(rows, view.duration[rows])]
    for rows, nanoseconds in found:
        for row, time in zip(rows.tolist(), nanoseconds.tolist(), strict=True):
            if stack[row] >= 0:
                times[stacks[int(stack[row])]] += time
    return dict(times)
