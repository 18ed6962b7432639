"""Which operator of a framework launched each piece of work: the innermost one around the launching call."""

from __future__ import annotations

import numpy as np

from eventide.analysis._host_calls import NEVER, launches_of
from eventide.analysis._nesting import Nest, nests_of
from eventide.analysis._view import Bools, Ints, View
from eventide.analysis.metrics._args import arg_numbers

_ID = "External id"


def operator_of(view: View) -> Ints:
    """For each span of a device the row of the operator that launched it, -1 where none is recorded.

    By Kineto's external id where an operator of the launching thread has it and was running, else by time.
    """
    return view.remember("launching operators", lambda: _operators(view))


def _operators(view: View) -> Ints:
    launches = launches_of(view)
    found = np.full(view.count, -1, np.int64)
    work = np.flatnonzero((view.bits > 0) & (launches.begin != NEVER) & (launches.thread >= 0))
    wanted = view.in_categories("op")
    for thread, nest in nests_of(view).items():
        mine = work[launches.thread[work] == thread]
        if len(mine):
            found[mine] = enclosing(view, nest, launches.begin[mine], wanted)
    _by_id(view, work, found)
    return found


def enclosing(view: View, nest: Nest, at: Ints, wanted: Bools) -> Ints:
    """The innermost span around each time that is `wanted` (a mask over spans), or -1."""
    inner = nest.owner_at(at)
    place = np.full(view.count + 1, -1, np.int64)
    place[nest.rows] = np.arange(len(nest.rows))
    node = place[inner]
    while True:  # one round a level of nesting
        up = (node >= 0) & ~wanted[nest.rows[node]]
        if not up.any():
            return np.where(node >= 0, nest.rows[node], -1)
        node[up] = nest.parent[node[up]]


def _by_id(view: View, work: Ints, found: Ints) -> None:
    launches = launches_of(view)
    ops = np.flatnonzero(view.in_categories("op") & view.on_kind("thread"))
    theirs, ids = arg_numbers(view, ops, _ID), arg_numbers(view, work, _ID)
    if not np.isfinite(ids).any():
        ids = arg_numbers(view, work, "external id")
    ops, theirs = ops[np.isfinite(theirs)], theirs[np.isfinite(theirs)]
    if len(ops) == 0:
        return
    order = np.argsort(theirs, kind="stable")
    ops, theirs = ops[order], theirs[order]
    place = np.minimum(np.searchsorted(theirs, ids), len(ops) - 1)
    op, at = ops[place], launches.begin[work]
    real = (theirs[place] == ids) & (view.track[op] == launches.thread[work])
    real &= (view.start[op] <= at) & (at <= view.end[op])
    found[work[real]] = op[real]
