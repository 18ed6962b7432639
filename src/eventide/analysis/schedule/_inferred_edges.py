"""Edges that a trace does not hold and that its times show: waits of streams, a full device, a full launch queue.

Waits are inferred only where the recording has none, and a call that makes a stream wait lies before a launch. A device
is taken to be full where a kernel begins as another stream's large kernel runs out, and nothing else explains when it
began. The queue: see `_launch_queue`. What is inferred never contradicts the recorded times.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from eventide.analysis._host_calls import NEVER, knows_waits, launches_of, unseen_waits
from eventide.analysis._view import COMPUTE, Bools, Ints, View
from eventide.analysis.schedule._dependencies import (
    ASSUMED,
    FULL,
    INFERRED,
    QUEUE,
    WAIT,
    Groups,
    Network,
    joined,
    links,
    network_of,
)
from eventide.analysis.schedule._latencies import lags, latencies_of
from eventide.analysis.schedule._launch_queue import depths_of, queue_links

_WAITING = re.compile(r"StreamWaitEvent|waitOnEvent|WaitValue", re.IGNORECASE)
_EARLY = 1_000  # ns: by which work may begin before what it waits for has ended; clocks of streams are no finer
_LATE = 5_000  # ns: work that begins later than the model says by more is not explained
_NEAR = 50_000  # ns: from the end of what was waited for until the work began
_TAIL = 0.25  # of a large kernel: other kernels find room while its last blocks run
_LARGE = 10_000  # ns


def completed(view: View) -> Network:
    """The graph of the trace with all inferred edges."""
    return view.remember("completed network", lambda: _completed(view))


def _completed(view: View) -> Network:
    network = _with_late_waits(_with_waits(network_of(view)))
    network = _with_full_device(network)
    depths = depths_of(view)
    return with_queues(network, depths) if depths else network


def with_queues(network: Network, depths: dict[int, int]) -> Network:
    """The graph with launch queues of these depths, by stream track, instead of those it has."""
    kept = network.links.take(network.links.kind != QUEUE)
    groups = Groups(network.groups)
    more, nodes, cost = queue_links(network, depths, groups)
    at = network.at.copy()
    at[nodes] = np.maximum(at[nodes], network.until[nodes] - cost)
    return replace(network, at=at, links=joined([kept, more]), groups=groups.names)


def _with_waits(network: Network) -> Network:
    view = network.view
    if knows_waits(view) or view.count == 0:
        return network
    names = np.array([bool(_WAITING.search(name)) for name in view.names], dtype=bool)
    calls = np.flatnonzero(names[view.name] & view.on_kind("thread"))
    source, target = _awaited_by_streams(network, calls)
    if len(source) == 0:
        return network
    groups = Groups(network.groups)
    return network.with_links(links(WAIT, INFERRED, source, target, groups.number("wait")), groups.names)


def _awaited_by_streams(network: Network, calls: Ints) -> tuple[Ints, Ints]:
    """For each call the next launch of its thread, and the last work that was launched on another stream before it."""
    view = network.view
    launches = launches_of(view)
    rows = network.graph.rows
    rows = rows[launches.begin[rows] != NEVER]
    rows = rows[np.argsort(launches.begin[rows], kind="stable")]
    pairs = []
    for thread in np.unique(view.track[calls]).tolist():
        asked = view.start[calls[view.track[calls] == thread]]
        mine = rows[launches.thread[rows] == thread]
        place = np.searchsorted(launches.begin[mine], asked, side="left")
        asked, place = asked[place < len(mine)], place[place < len(mine)]
        if len(asked):
            pairs.append(_sources_on_other_streams(view, rows, mine[place], asked))
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    found = np.unique(np.concatenate(pairs, axis=1), axis=1)
    return network.node_of[found[0]], network.node_of[found[1]]


def _sources_on_other_streams(view: View, rows: Ints, target: Ints, asked: Ints) -> Ints:
    """The latest launched work on another stream that had ended when the target began; pairs of rows."""
    begin = launches_of(view).begin
    best = np.full(len(target), -1, np.int64)
    for track in np.unique(view.track[rows]).tolist():
        there = rows[view.track[rows] == track]
        place = np.searchsorted(begin[there], asked, side="left") - 1
        found = np.where(place >= 0, there[np.maximum(place, 0)], -1)
        good = (found >= 0) & (view.track[target] != track) & (view.end[found] <= view.start[target] + _EARLY)
        newer = good & ((best < 0) | (begin[found] > begin[np.maximum(best, 0)]))
        best = np.where(newer, found, best)
    return np.stack((best, target))[:, best >= 0]


def _with_late_waits(network: Network) -> Network:
    """Work that nothing explains, after a call that makes a stream wait: for what ended on another stream just before.

    It is not the last that was launched there, which ended later.
    """
    view = network.view
    late = unexplained(network)
    late = late[unseen_waits(view)[network.row[late]]]
    source = _just_ended(view, network.row[late]) if knows_wait_calls(view) else np.full(len(late), -1, np.int64)
    late, source = late[source >= 0], source[source >= 0]
    if len(late) == 0:
        return network
    groups = Groups(network.groups)
    return network.with_links(links(WAIT, INFERRED, network.node_of[source], late, groups.number("wait")), groups.names)


def knows_wait_calls(view: View) -> bool:
    """Whether the trace holds calls that make a stream wait."""
    return any(_WAITING.search(name) for name in view.names)


def _just_ended(view: View, rows: Ints) -> Ints:
    """For each the work of another stream of its device, launched before it, that ended last before it began; or -1."""
    found = np.full(len(rows), -1, np.int64)
    begin = launches_of(view).begin
    for track, work in view.work_by_track.items():
        there = work[np.argsort(view.end[work], kind="stable")]
        place = np.searchsorted(view.end[there], view.start[rows] + _EARLY, side="right") - 1
        one = there[np.maximum(place, 0)]
        good = (place >= 0) & (view.start[rows] - view.end[one] <= _NEAR) & (begin[one] < begin[rows])
        good &= _beside(view, rows, track)
        found = np.where(good & ((found < 0) | (view.end[one] > view.end[np.maximum(found, 0)])), one, found)
    return found


def _beside(view: View, rows: Ints, track: int) -> Bools:
    """Whether each is on another stream of the same device."""
    table = [
        view.track_kind[t] == "stream" and t != track and view.device(t) == view.device(track)
        for t in range(len(view.track_kind))
    ]
    beside: Bools = np.array(table, bool)[view.track[rows]]
    return beside


def _with_full_device(network: Network) -> Network:
    """Kernels that nothing explains and that begin in the last quarter, or at the end, of another stream's kernel."""
    view = network.view
    if len(view.stream_tracks) < 2:
        return network
    late = unexplained(network)
    kernels = network.row[late]
    late, kernels = late[view.bits[kernels] == COMPUTE], kernels[view.bits[kernels] == COMPUTE]
    source = _running_out(view, kernels)
    late, source = late[source >= 0], network.node_of[source[source >= 0]]
    if len(late) == 0:
        return network
    groups = Groups(network.groups)
    group = _by_source(network, source, groups)
    return network.with_links(links(FULL, ASSUMED, source, late, group), groups.names)


def _by_source(network: Network, source: Ints, groups: Groups) -> Ints:
    """The last blocks of a kernel leave room at always the same time; kernels that are seen once share a class."""
    names = network.view.name[network.row[source]]
    used, place, count = np.unique(names, return_inverse=True, return_counts=True)
    words = [
        f"device full {network.view.names[name]}" if many > 1 else "device full"
        for name, many in zip(used.tolist(), count.tolist(), strict=True)
    ]
    return np.array([groups.number(word) for word in words], np.int64)[place]


def unexplained(network: Network) -> Ints:
    """Nodes of work that begin later than each of their edges says."""
    delta = network.at[network.links.target] - network.until[network.links.source]
    slack = delta - lags(network.links, latencies_of(network).lag)
    least = np.full(len(network.at), np.iinfo(np.int64).max)
    np.minimum.at(least, network.links.target, slack)
    works = np.arange(network.hosts, network.origin)
    return works[(least[works] > _LATE) & (least[works] < np.iinfo(np.int64).max)]


def _running_out(view: View, rows: Ints) -> Ints:
    """For each the large kernel of another stream of its device that was running out as it began; -1: none."""
    found = np.full(len(rows), -1, np.int64)
    start = view.start[rows]
    for track, there in view.work_by_track.items():
        large = there[(view.duration[there] >= _LARGE) & (view.bits[there] == COMPUTE)]
        if len(large) == 0:
            continue
        place = np.searchsorted(view.start[large], start, side="left") - 1
        one = large[np.maximum(place, 0)]
        near = start >= view.end[one] - (view.duration[one] * _TAIL).astype(np.int64)
        near &= start <= view.end[one] + _LATE
        good = (place >= 0) & near & _beside(view, rows, track)
        found = np.where(good & ((found < 0) | (view.end[one] > view.end[np.maximum(found, 0)])), one, found)
    return found


def explained_share(network: Network) -> float:
    """The share of the work whose beginning the graph explains."""
    works = network.origin - network.hosts
    return 1.0 - len(unexplained(network)) / works if works else 1.0


__all__ = ["completed", "explained_share", "unexplained", "with_queues"]
