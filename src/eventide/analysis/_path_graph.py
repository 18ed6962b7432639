"""What each stretch of host time and each piece of device work was waiting for, as arrays.

Nodes are the host's segments and, after them, the work of devices (what lasts no time is left out). The constraint that
was lifted last binds; `pred` is the node it came from. All of them together are the edges of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._blocking import blocking_of
from eventide.analysis._launches import NEVER, launches_of, waits_of
from eventide.analysis._path_lines import Lines, lines_of
from eventide.analysis._view import Ints, View

NONE, STREAM, LAUNCH, WAIT, HOST, SYNC = range(6)
LINK_WORDS = ("unknown", "queued", "launch", "stream wait", "host", "sync return")


@dataclass(frozen=True)
class Edge:
    """Edges of one kind: the node at `source` was ready at `time`, and `target` began no earlier."""

    link: int
    source: Ints
    target: Ints
    time: Ints


@dataclass(frozen=True)
class Graph:
    """Nodes in arrays. `blocked` is 1 for host segments inside a synchronization: the device's time.

    `low` is where a node's own time begins: its start, but the end of a segment that is blocked.
    """

    lines: Lines
    rows: Ints  # of the device nodes
    start: Ints
    end: Ints
    pred: Ints
    link: Ints  # how the predecessor binds
    ready: Ints  # when it had done its part
    blocked: Ints
    low: Ints
    edges: list[Edge]

    @property
    def hosts(self) -> int:
        """How many of the nodes are host segments."""
        return len(self.lines.start)


def graph_of(view: View) -> Graph:
    """Build the graph of a trace."""
    launches = launches_of(view)
    rows = np.flatnonzero((view.bits > 0) & (view.end > view.start))
    blocks = _blocking(view)
    lines = lines_of(view, launches, _cuts(view, rows, blocks))
    hosts = len(lines.start)
    node_of = np.full(view.count, -1, np.int64)
    node_of[rows] = hosts + np.arange(len(rows))
    start = np.concatenate((lines.start, view.start[rows]))
    end = np.concatenate((lines.end, view.end[rows]))
    edges = [_on_stream(view, node_of), _launched(view, lines, rows, node_of), _waited(view, rows, node_of)]
    pred, link, ready = _bind(len(start), edges)
    host, host_link, blocked = _host_preds(lines, blocks, node_of)
    pred[:hosts], link[:hosts], ready[:hosts] = host, host_link, lines.start
    inside = np.flatnonzero(host_link == SYNC)
    along = np.flatnonzero(host_link == HOST)
    edges.append(Edge(HOST, host[along], along, lines.start[along]))
    edges.append(
        Edge(SYNC, host[inside], inside, np.where(blocked[inside] > 0, lines.end[inside], lines.start[inside]))
    )
    everywhere = np.concatenate((blocked, np.zeros(len(rows), np.int64)))
    low = np.where(everywhere > 0, end, start)
    return Graph(lines, rows, start, end, pred, link, ready, everywhere, low, edges)


def _blocking(view: View) -> tuple[Ints, Ints, Ints]:
    """Calls that a device kept waiting: their rows, what they waited for, and until when."""
    known = blocking_of(view).source >= 0
    rows, source = blocking_of(view).rows[known], blocking_of(view).source[known]
    until = np.minimum(view.end[source], view.end[rows])
    real = (until > view.start[rows]) & (view.start[source] < until) & (view.bits[source] > 0)
    return rows[real], source[real], until[real]


def _cuts(view: View, rows: Ints, blocks: tuple[Ints, Ints, Ints]) -> dict[int, Ints]:
    """Where the lines need a boundary: at launches, and when what a synchronization waited for was done."""
    launches = launches_of(view)
    known = rows[(launches.begin[rows] != NEVER) & (launches.thread[rows] >= 0)]
    tracks = np.concatenate((launches.thread[known], view.track[blocks[0]]))
    times = np.concatenate((np.minimum(launches.begin[known], view.start[known]), blocks[2]))
    return {int(track): times[tracks == track] for track in np.unique(tracks)}


def _on_stream(view: View, node_of: Ints) -> Edge:
    """Work begins after the last on its stream that had ended by then."""
    source, target = [], []
    for rows in view.work_by_track.values():
        mine = rows[node_of[rows] >= 0]
        by_end = mine[np.argsort(view.end[mine], kind="stable")]
        place = np.searchsorted(view.end[by_end], view.start[mine], side="right") - 1
        has = place >= 0
        source.append(by_end[place[has]])
        target.append(mine[has])
    before = np.concatenate(source) if source else np.empty(0, np.int64)
    after = np.concatenate(target) if target else np.empty(0, np.int64)
    return Edge(STREAM, node_of[before], node_of[after], view.end[before])


def _launched(view: View, lines: Lines, rows: Ints, node_of: Ints) -> Edge:
    """Work begins after the host's call began; clocks that disagree are cut at the work's start."""
    launches = launches_of(view)
    known = rows[(launches.begin[rows] != NEVER) & (launches.thread[rows] >= 0)]
    time = np.minimum(launches.begin[known], view.start[known])
    source = np.full(len(known), -1, np.int64)
    for thread in np.unique(launches.thread[known]).tolist():
        mine = launches.thread[known] == thread
        source[mine] = lines.ending_at(lines.line_of[thread], time[mine])
    # What is launched as the trace begins has no segment before it.
    source = np.where(lines.end[source] == time, source, -1) if len(source) else source
    return Edge(LAUNCH, source, node_of[known], time)


def _waited(view: View, rows: Ints, node_of: Ints) -> Edge:
    """Work begins after the work that its stream waited for."""
    waits = waits_of(view)
    source = waits.source[rows]
    real = (source >= 0) & (waits.end[rows] <= view.start[rows])
    real &= node_of[np.maximum(source, 0)] >= 0
    return Edge(WAIT, node_of[source[real]], node_of[rows[real]], waits.end[rows][real])


def _bind(count: int, edges: list[Edge]) -> tuple[Ints, Ints, Ints]:
    """For each node the edge that was ready last; of equals the wait, then the stream, then the launch."""
    pred = np.full(count, -1, np.int64)
    link = np.zeros(count, np.int64)
    ready = np.full(count, NEVER, np.int64)
    for edge in sorted(edges, key=lambda each: (LAUNCH, STREAM, WAIT).index(each.link)):
        later = edge.time >= ready[edge.target]
        target = edge.target[later]
        pred[target], link[target], ready[target] = edge.source[later], edge.link, edge.time[later]
    return pred, link, ready


def _host_preds(lines: Lines, blocks: tuple[Ints, Ints, Ints], node_of: Ints) -> tuple[Ints, Ints, Ints]:
    """A segment follows the one before it, unless it lies in a synchronization: then the work that was waited for."""
    count = len(lines.start)
    pred = np.arange(count) - 1
    pred[list(lines.first.values())] = -1
    link = np.where(pred >= 0, HOST, NONE)
    blocked = np.zeros(count, np.int64)
    rows, source, until = blocks
    if len(rows) == 0 or count == 0:
        return pred, link, blocked
    size = int(max(rows.max(), lines.owner.max())) + 1
    which = np.full(size, -1, np.int64)
    which[rows] = np.arange(len(rows))
    mine = np.where(lines.owner >= 0, which[np.maximum(lines.owner, 0)], -1)
    inside = np.flatnonzero(mine >= 0)
    done = until[mine[inside]]
    after = inside[lines.start[inside] == done]  # from the work's end until the call returned
    during = inside[lines.end[inside] == done]  # the call returned as the work ended
    for some in (after, during):
        pred[some] = node_of[source[mine[some]]]
        link[some] = SYNC
    blocked[during] = 1
    return pred, link, blocked
