"""Edges that a Kineto trace states by ids: launches, waits of streams, synchronizations. Nothing is guessed.

A launch ties a call of the runtime to the work of the same correlation id. A wait is in a trace only where it was
recorded with `enable_cuda_sync_events` and its row names the record that it waited for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from eventide.trace.linking._categories import NUMBER
from eventide.trace.linking._columns import NONE, Ids, Ints, Mask
from eventide.trace.linking._event_names import ALL_STREAMS
from eventide.trace.linking._tracks import Tracks

KINDS = ["launch", "wait", "synchronize", "fwdbwd", "flow"]
COLUMNS = ("from_track", "from_time", "from_span", "to_track", "to_time", "to_span", "event", "version", "correlation")
WORK = ("kernel", "copy", "communication", "work")


@dataclass
class Rows:
    """The columns of spans from which edges follow."""

    track: Ids
    start: Ints
    duration: Ints
    correlation: Ints  # NONE: none
    stream: Ints  # as given in the row; NONE: not given
    category: npt.NDArray[np.int8]
    on_device: Mask
    submit: Ints = field(init=False)  # when the host submitted it; NONE: unknown
    caller: Ints = field(init=False)  # the row of the call that submitted it; -1: unknown

    def __post_init__(self) -> None:
        self.submit = np.full(len(self.start), NONE)
        self.caller = np.full(len(self.start), -1)

    def end(self, rows: Ints) -> Ints:
        """The end of each span; its start if it did not end."""
        duration = self.duration[rows]
        return self.start[rows] + np.where(duration == NONE, 0, duration)

    def is_in(self, *categories: str) -> Mask:
        """Rows of these categories."""
        wanted = np.zeros(len(NUMBER), np.bool_)
        wanted[[NUMBER[name] for name in categories]] = True
        return wanted[self.category]


class Edges:
    """Collects edges; absent ids are NONE."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, dict[str, Any]]] = []

    def add(self, kind: str, rows: Rows, from_span: Ints, to_span: Ints, **columns: Any) -> None:
        """Edges between spans; the times, unless given, are the end of the one and the start of the other."""
        given = {
            "from_track": rows.track[from_span],
            "from_time": rows.end(from_span),
            "from_span": from_span,
            "to_track": rows.track[to_span],
            "to_time": rows.start[to_span],
            "to_span": to_span,
            **columns,
        }
        self.parts.append((KINDS.index(kind), given))

    def column(self, name: str) -> Ints:
        """One column over all parts."""
        values = [
            np.asarray(part[name], np.int64) if name in part else np.full(len(part["from_time"]), NONE)
            for _, part in self.parts
        ]
        return np.concatenate(values) if values else np.empty(0, np.int64)

    def kinds(self) -> npt.NDArray[np.int8]:
        """The kind of each edge, as a number of KINDS."""
        values = [np.full(len(part["from_time"]), kind, np.int8) for kind, part in self.parts]
        return np.concatenate(values) if values else np.empty(0, np.int8)


def find_callers(rows: Rows) -> None:
    """For each row of a device, the call with its correlation id: the last that began before it, else the first."""
    tied = np.flatnonzero((rows.correlation != NONE) & (rows.correlation != 0))
    device = rows.on_device[tied]
    order = np.lexsort((device, rows.start[tied], rows.correlation[tied]))
    tied, device = tied[order], device[order]
    ids = rows.correlation[tied]
    fresh = np.concatenate([[True], ids[1:] != ids[:-1]])[: len(ids)]
    group = np.cumsum(fresh) - 1
    positions = np.arange(len(tied))
    last = np.maximum.accumulate(np.where(device, -1, positions)) if len(tied) else positions
    first_position = positions[fresh]
    inside = last >= first_position[group] if len(tied) else np.empty(0, np.bool_)
    first_call = np.full(len(first_position), -1)
    hosts = np.flatnonzero(~device)[::-1]
    first_call[group[hosts]] = hosts
    chosen = np.where(inside, last, first_call[group] if len(tied) else last)
    wanted = device & (chosen >= 0)
    rows.caller[tied[wanted]] = tied[chosen[wanted]]
    rows.submit[tied[wanted]] = rows.start[rows.caller[tied[wanted]]]


def add_launches(edges: Edges, rows: Rows) -> None:
    """From each call to the work that it launched."""
    work = np.flatnonzero((rows.caller >= 0) & rows.is_in(*WORK))
    calls = rows.caller[work]
    edges.add("launch", rows, calls, work, from_time=rows.start[calls], correlation=rows.correlation[work])


class Streams:
    """Work by stream in the order of submission; work whose submission is unknown is not in it."""

    def __init__(self, rows: Rows) -> None:
        known = np.flatnonzero((rows.submit != NONE) & rows.is_in(*WORK))
        order = known[np.lexsort((rows.start[known], rows.submit[known], rows.track[known]))]
        tracks, first = np.unique(rows.track[order], return_index=True)
        self.rows = rows
        self.by_track = dict(zip(tracks.tolist(), np.split(order, first[1:]), strict=False))

    def last_before(self, track: int | None, time: int) -> int | None:
        """The last work submitted to this stream before this time."""
        return self._at(track, time, -1)

    def first_after(self, track: int | None, time: int) -> int | None:
        """The first work submitted to this stream at this time or later."""
        return self._at(track, time, 0)

    def _at(self, track: int | None, time: int, step: int) -> int | None:
        order = self.by_track.get(-1 if track is None else track)
        if order is None:
            return None
        position = int(np.searchsorted(self.rows.submit[order], time)) + step
        return int(order[position]) if 0 <= position < len(order) else None


def add_waits(edges: Edges, rows: Rows, tracks: Tracks, waits: dict[str, Ints]) -> dict[str, int]:
    """Waits of streams and synchronizations, from the rows that name the record. Counts those without a match."""
    streams = Streams(rows)
    calls = _calls_by_correlation(rows, waits["record"])
    untied = {"waits without the id of a record": 0, "waits for a stream without work": 0}
    for span, stream, record, event in zip(*(waits[name].tolist() for name in waits), strict=True):
        call = calls.get(record)
        if not rows.on_device[span]:
            continue
        if call is None or stream == NONE:
            untied["waits without the id of a record"] += 1
            continue
        device = tracks.rows[rows.track[span]].device
        source = streams.last_before(tracks.of_stream(device, stream), int(rows.start[call]))
        if source is None:
            untied["waits for a stream without work"] += 1
        elif rows.category[span] == NUMBER["wait"]:
            _add_wait(edges, rows, streams, span, source, event=event, version=record)
        elif rows.caller[span] >= 0 and rows.category[rows.caller[span]] == NUMBER["sync"]:
            _add_synchronization(edges, rows, span, source, event=event, version=record)
    _add_plain_synchronizations(edges, rows, tracks, streams, set(waits["span"].tolist()))
    return {what: count for what, count in untied.items() if count}


def _add_wait(edges: Edges, rows: Rows, streams: Streams, span: int, source: int, **ids: int) -> None:
    asked = int(rows.submit[span]) if rows.submit[span] != NONE else int(rows.start[span])
    target = streams.first_after(int(rows.track[span]), asked)
    one = np.array([source])
    extra: dict[str, Any] = {name: [value] for name, value in ids.items()}
    extra["correlation"] = rows.correlation[[span]]
    if target is not None:
        edges.add("wait", rows, one, np.array([target]), **extra)
    else:  # nothing came after it
        edges.add("wait", rows, one, np.array([span]), **extra)


def _add_synchronization(edges: Edges, rows: Rows, span: int, source: int, **ids: int) -> None:
    call = rows.caller[[span]]
    extra: dict[str, Any] = {name: [value] for name, value in ids.items()}
    edges.add(
        "synchronize",
        rows,
        np.array([source]),
        call,
        to_time=rows.end(call),
        correlation=rows.correlation[[span]],
        **extra,
    )


def _add_plain_synchronizations(edges: Edges, rows: Rows, tracks: Tracks, streams: Streams, done: set[int]) -> None:
    """Synchronizations with a stream or a device: everything submitted there before the call is complete after it."""
    candidates = np.flatnonzero(rows.on_device & rows.is_in("sync") & (rows.caller >= 0))
    by_device: dict[str | None, list[int]] = {}
    for track in streams.by_track:
        by_device.setdefault(tracks.rows[track].device, []).append(track)
    for span in candidates.tolist():
        call = int(rows.caller[span])
        if span in done or rows.category[call] != NUMBER["sync"]:
            continue
        device, stream = tracks.rows[rows.track[span]].device, int(rows.stream[span])
        one = tracks.of_stream(device, stream) if stream not in ALL_STREAMS else None
        for track in by_device.get(device, []) if one is None and stream in ALL_STREAMS else [one]:
            source = streams.last_before(track, int(rows.start[call]))
            if source is not None:
                _add_synchronization(edges, rows, span, source)


def _calls_by_correlation(rows: Rows, wanted: Ints) -> dict[int, int]:
    calls = np.flatnonzero(~rows.on_device & np.isin(rows.correlation, wanted[(wanted != NONE) & (wanted > 0)]))
    return dict(zip(rows.correlation[calls].tolist(), calls.tolist(), strict=True))
