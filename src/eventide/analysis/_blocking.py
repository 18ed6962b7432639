"""Host calls that block until a device has done something, and what that was.

Synchronizations say so. A copy from or to pageable memory does not: the driver's call returns when the copy is through
the stream, `Async` in its name or not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from eventide.analysis._launches import NEVER, launches_of
from eventide.analysis._view import Ints, View

_WHOLE_DEVICE = re.compile(r"(Device|Ctx|Context)Synchronize(_v\d+)?$")
_PAGEABLE = re.compile(r"pageable", re.IGNORECASE)
_COPY_CALL = re.compile(r"memcpy", re.IGNORECASE)


@dataclass(frozen=True)
class Blocking:
    """Rows of the calls by start, and for each the work that it waited for last; -1 where the trace does not tell."""

    rows: Ints
    source: Ints


def blocking_of(view: View) -> Blocking:
    return view.remember("blocking", lambda: _blocking(view))


def _blocking(view: View) -> Blocking:
    rows = np.flatnonzero(view.in_categories("sync") & view.on_kind("thread"))
    calls, copies = _pageable_copies(view)
    rows = np.concatenate((rows, calls))
    source = np.concatenate((_sources(view, rows[: len(rows) - len(calls)]), copies))
    order = np.argsort(view.start[rows], kind="stable")
    return Blocking(rows[order], source[order])


def _pageable_copies(view: View) -> tuple[Ints, Ints]:
    """Calls of the runtime that copied pageable memory, with their copies: those that were over before the call was."""
    pageable = np.array([bool(_PAGEABLE.search(name)) for name in view.names], dtype=bool)
    call_name = np.array([bool(_COPY_CALL.search(name)) for name in view.names], dtype=bool)
    copies = np.flatnonzero((view.bits > 0) & pageable[view.name]) if view.count else np.empty(0, np.int64)
    calls = launches_of(view).call[copies]
    real = (calls >= 0) & call_name[view.name[calls]] if len(calls) else np.zeros(0, bool)
    real &= (view.end[copies] <= view.end[calls]) & view.in_categories("runtime")[calls] if len(calls) else real
    return calls[real], copies[real]


def _sources(view: View, rows: Ints) -> Ints:
    """From the synchronize edges; a synchronization of a whole device waited for all that was launched before it."""
    latest = np.full(view.count, -1, np.int64)
    edges = view.edges("synchronize")
    known = (edges.to_span >= 0) & (edges.to_span < view.count) & (edges.from_span >= 0)
    source, target = edges.from_span[known], edges.to_span[known]
    order = np.argsort(view.end[source], kind="stable")
    latest[target[order]] = source[order]
    if len(view.devices) == 1:
        whole = np.array([bool(_WHOLE_DEVICE.search(name)) for name in view.names], dtype=bool)
        blind = rows[(latest[rows] < 0) & whole[view.name[rows]]]
        latest[blind] = _last_launched(view, view.start[blind], view.end[blind])
    return latest[rows]


def _last_launched(view: View, asked: Ints, until: Ints) -> Ints:
    """Of the work launched before `asked`, the one that ended last, if that was before `until`."""
    work = np.flatnonzero(view.bits)
    begin = launches_of(view).begin
    work = work[begin[work] != NEVER]
    work = work[np.argsort(begin[work], kind="stable")]
    if len(work) == 0:
        return np.full(len(asked), -1, np.int64)
    place = np.searchsorted(begin[work], asked, side="left") - 1
    # The index of the running maximum of ends: where a new maximum is set, that index; else the one before.
    ends = view.end[work]
    best = np.maximum.accumulate(np.where(ends >= np.maximum.accumulate(ends), np.arange(len(work)), 0))
    found = work[best[np.maximum(place, 0)]]
    return np.where((place >= 0) & (view.end[found] <= until), found, -1)
