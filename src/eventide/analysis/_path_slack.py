"""How much later each piece of work could have ended without the trace ending later."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide._native import relax_edges
from eventide.analysis._path_graph import Graph
from eventide.analysis._view import Ints, View


@dataclass(frozen=True)
class Next:
    """Work beside the path: `slack` is how much the path must shrink before this is on it."""

    name: str
    where: str
    count: int
    total: int
    slack: int


def slack_of(view: View, graph: Graph) -> Ints:
    """For each span of a device: the least of (time until its successor needed it + that one's slack). -1: no device.

    A predecessor that bound its successor had no room; another had what lay between. Edges go back in time, so one pass
    over them from the latest suffices.
    """
    count = len(graph.start)
    end = view.window[1]
    ends = graph.end.copy()
    slack = end - ends
    if graph.hosts:
        # A thread that does nothing until the end holds nobody up.
        slack[: graph.hosts] = np.maximum(slack[: graph.hosts], 0)
    source = np.concatenate([edge.source for edge in graph.edges])
    target = np.concatenate([edge.target for edge in graph.edges])
    time = np.concatenate([edge.time for edge in graph.edges])
    link = np.concatenate([np.full(len(edge.source), edge.link) for edge in graph.edges])
    real = source >= 0
    source, target, time, link = source[real], target[real], time[real], link[real]
    room = np.where((graph.pred[target] == source) & (graph.link[target] == link), 0, graph.start[target] - time)
    order = np.lexsort((-ends[target], -ends[source]))  # a segment that ends with the work inside it comes before it
    relax_edges(source[order], target[order], np.maximum(room, 0)[order], slack)
    found = np.full(view.count, -1, np.int64)
    if count > graph.hosts:
        found[graph.rows] = slack[graph.hosts :]
    return found


def next_critical(view: View, slack: Ints, on_path: np.ndarray, begin: int, end: int) -> tuple[Next, ...]:
    """Work beside the path, by name and stream, least slack first; names under 1 % of the window are left out."""
    rows = np.flatnonzero((slack >= 0) & ~on_path & (view.start >= begin) & (view.end <= end))
    if len(rows) == 0:
        return ()
    key = view.name[rows] * (len(view.track_kind) + 1) + view.track[rows]
    rows = rows[np.argsort(key, kind="stable")]
    key = np.sort(key)
    head = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    total = np.add.reduceat(view.duration[rows], head)
    least = np.minimum.reduceat(slack[rows], head)
    count = np.diff(np.append(head, len(rows)))
    found = []
    for index in np.argsort(least, kind="stable").tolist():
        if total[index] * 100 < end - begin:
            continue
        row = int(rows[head[index]])
        track = int(view.track[row])
        where = f"{view.device(track)} stream {view.stream(track)}"
        found.append(Next(view.word(row), where, int(count[index]), int(total[index]), int(least[index])))
    return tuple(found)
