"""Who launched each piece of device work, and what it had to wait for."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import Bools, Ints, View

NEVER = np.iinfo(np.int64).min
_WAIT_CALL = re.compile(r"StreamWaitEvent|waitOnEvent|WaitValue|GraphLaunch", re.IGNORECASE)


@dataclass(frozen=True)
class Launches:
    """For each span: its launching call. NEVER and -1 where it is not known."""

    begin: Ints  # when the host asked: the start of the call
    end: Ints  # when the call was over
    call: Ints  # row of the call
    thread: Ints  # track of the host thread


@dataclass(frozen=True)
class Waits:
    """For each span: the recorded wait in front of it that ended last. NEVER and -1 where there is none."""

    end: Ints  # when what it waited for was done
    source: Ints  # row of the work it waited for
    source_track: Ints
    event: Ints


def launches_of(view: View) -> Launches:
    """From the launch edges; else from the submit column, which names no thread."""
    return view.remember("launches", lambda: _launches(view))


def _launches(view: View) -> Launches:
    begin = view.submit.copy()
    end = begin.copy()
    call = np.full(view.count, -1, np.int64)
    thread = np.full(view.count, -1, np.int64)
    edges = view.edges("launch")
    known = np.flatnonzero((edges.to_span >= 0) & (edges.to_span < view.count))
    target, source = edges.to_span[known], edges.from_span[known]
    has_call = (source >= 0) & (source < view.count)
    row = np.where(has_call, source, 0)
    begin[target] = np.where(has_call, view.start[row], edges.from_time[known]) if view.count else begin[target]
    end[target] = np.where(has_call, view.end[row], edges.from_time[known]) if view.count else end[target]
    call[target] = np.where(has_call, source, -1)
    thread[target] = edges.from_track[known]
    return Launches(begin, end, call, thread)


def waits_of(view: View) -> Waits:
    """From the wait edges that end at a piece of work."""
    return view.remember("waits", lambda: _waits(view))


def _waits(view: View) -> Waits:
    end = np.full(view.count, NEVER, np.int64)
    source = np.full(view.count, -1, np.int64)
    track = np.full(view.count, -1, np.int64)
    event = np.full(view.count, -1, np.int64)
    edges = view.edges("wait")
    rows = np.flatnonzero((edges.to_span >= 0) & (edges.to_span < view.count))
    if len(rows):
        origin = edges.from_span[rows]
        known = (origin >= 0) & (origin < view.count)
        done = np.where(known, view.end[np.where(known, origin, 0)], edges.from_time[rows])
        order = np.argsort(done, kind="stable")  # of several waits the last one to end stays
        rows, origin, known, done = rows[order], origin[order], known[order], done[order]
        target = edges.to_span[rows]
        end[target], source[target] = done, np.where(known, origin, -1)
        track[target], event[target] = edges.from_track[rows], edges.event[rows]
    return Waits(end, source, track, event)


def unseen_waits(view: View) -> Bools:
    """For each span, whether a stream wait that the trace does not hold may stand in front of it.

    A wait delays this work and not the one before it on the stream only if the host asked for it between their two
    launches. Where waits are recorded, or where nobody called one in between, there is none. A trace that holds
    launching calls and no others says nothing about who called what.
    """
    return view.remember("unseen waits", lambda: _unseen_waits(view))


def _unseen_waits(view: View) -> Bools:
    unsure = np.zeros(view.count, bool)
    if knows_waits(view):
        return unsure
    called = view.in_categories("runtime", "sync") & view.on_kind("thread")
    launching = launches_of(view).call
    called[launching[launching >= 0]] = False
    if not called.any():
        return view.bits > 0
    matches = np.array([bool(_WAIT_CALL.search(name)) for name in view.names], dtype=bool)
    calls = np.sort(view.start[matches[view.name] & view.on_kind("thread")]) if view.count else np.empty(0, np.int64)
    begin = launches_of(view).begin
    for rows in view.work_by_track.values():
        mine = begin[rows]
        before = np.append(NEVER, mine[:-1])
        asked = np.searchsorted(calls, mine, side="right") > np.searchsorted(calls, before, side="left")
        unsure[rows] = asked | (mine == NEVER)
    return unsure


def knows_waits(view: View) -> bool:
    """Whether stream waits are recorded: our own traces, and others that hold at least one."""
    return len(view.edges("wait")) > 0 or view.trace.operations.num_rows > 0
