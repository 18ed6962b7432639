"""The launch queue of a stream: a launching call returns when no more works than its depth are outstanding.

`_outstanding` finds the depth, where calls waited for room. An edit may set another.
"""

from __future__ import annotations

import numpy as np

from eventide.analysis._host_calls import blocking_of, launches_of
from eventide.analysis._view import Bools, Ints, View
from eventide.analysis.metrics._outstanding import Outstanding, full_queues, outstanding_of
from eventide.analysis.schedule import _dependencies as deps


def depths_of(view: View) -> dict[int, int]:
    """The depth of the queue of each stream (by track) that was full."""
    return {track: queue.limit for track, queue in full_queues(view).items()}


def queue_links(network: deps.Network, depths: dict[int, int], groups: deps.Groups) -> tuple[deps.Links, Ints, Ints]:
    """A call returns after the work `depth` before its own has ended. Also: segments of blocked calls, their cost."""
    view, graph = network.view, network.graph
    parts, nodes, costs = [], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    full = full_queues(view)
    for track, depth in depths.items():
        stream = outstanding_of(view)[track]
        call = launches_of(view).call[stream.rows]
        own = ~np.isin(call, blocking_of(view).rows) | (call < 0)
        after = np.flatnonzero(own & (np.arange(len(call)) >= depth))
        ends = np.where(
            call[after] >= 0,
            deps.segments_ending(graph, view, np.maximum(call[after], 0)),
            deps.segments_after_launch(network)[network.node_of[stream.rows[after]]],
        )
        source = network.node_of[stream.rows[after - depth]]
        good = (ends >= 0) & (source >= 0)
        group = groups.number(f"queue {track}")
        parts.append(deps.links(deps.QUEUE, deps.INFERRED, source[good], ends[good], group))
        if track in full:
            own &= call >= 0
            blocked = np.flatnonzero(full[track].blocked & own & _long(stream, full[track].blocked, view, call))
            held = deps.segments_ending(graph, view, call[blocked])
            nodes.append(held[held >= 0])
            costs.append(np.full(int((held >= 0).sum()), _usual(view, call[own & ~full[track].blocked])))
    none = np.empty(0, np.int64)
    found = deps.joined([deps.links(deps.QUEUE, deps.INFERRED, none, none), *parts])
    return found, np.concatenate(nodes), np.concatenate(costs)


def _long(stream: Outstanding, blocked: Bools, view: View, call: Ints) -> Bools:
    """Whether a blocked call is longer than the others are."""
    usual = _usual(view, call[(call >= 0) & ~blocked])
    return (stream.returned - stream.called) > usual


def _usual(view: View, calls: Ints) -> int:
    return int(np.median(view.duration[calls])) if len(calls) else 0
