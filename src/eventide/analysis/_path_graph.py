"""What each stretch of host time and each piece of device work was waiting for, as arrays.

Nodes are the host's segments and, after them, the work of devices (what lasts no time is left out). The constraint that
was lifted last binds; `pred` is the node it came from. All of them together are the edges of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eventide.analysis._host_calls import NEVER, Launches, blocking_of, launches_of, waits_of
from eventide.analysis._host_lines import HostLines, host_lines
from eventide.analysis._nesting import nest, nests_of
from eventide.analysis._view import Bools, Ints, View


@dataclass(frozen=True)
class Lines:
    """The segments of all lines, one line after the other."""

    start: Ints
    end: Ints
    owner: Ints
    track: Ints  # of the owner; of a hole the line's first thread
    handed: Bools  # whether it follows one of another thread, and only an inference ties the two
    first: dict[int, int]  # line -> its first segment
    last: dict[int, int]
    line_of: dict[int, int]  # thread track -> line
    main: int  # the line that launches the most, else the one with the most recorded time; -1 without lines

    def ending_at(self, line: int, at: Ints) -> Ints:
        """The segments of a line that end at these times, at which it was cut."""
        low, high = self.first[line], self.last[line] + 1
        return low + np.minimum(np.searchsorted(self.end[low:high], at, side="left"), high - low - 1)


def lines_of(view: View, launches: Launches, cuts: dict[int, Ints]) -> Lines:
    """Cut each line where it launched something, and at the times in `cuts` (by thread)."""
    window = view.window
    lines = host_lines(view)
    groups = lines.threads
    starts, ends, owners, tracks, handed = [], [], [], [], []
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    count = 0
    for line, threads in groups.items():
        times, owner = _segments(view, threads)
        points = [np.array(window), times, *(cuts[thread] for thread in threads if thread in cuts)]
        edges = np.sort(np.clip(np.concatenate(points), *window))
        edges = edges[np.append(True, edges[1:] > edges[:-1])]
        edges = edges if len(edges) > 1 else np.array(window)
        place = np.searchsorted(times, edges[:-1], side="right") - 1
        inside = (place >= 0) & (place < len(owner))
        mine = np.where(inside, owner[np.clip(place, 0, max(len(owner) - 1, 0))], -1) if len(owner) else place * 0 - 1
        first[line], count = count, count + len(mine)
        last[line] = count - 1
        starts.append(edges[:-1])
        ends.append(edges[1:])
        owners.append(mine)
        tracks.append(np.where(mine >= 0, view.track[mine], threads[0]) if view.count else mine)
        handed.append(_handed_over(lines, threads, mine, tracks[-1]))
    arrays = [np.concatenate(parts) if parts else np.empty(0, np.int64) for parts in (starts, ends, owners, tracks)]
    inferred = np.concatenate(handed) if handed else np.empty(0, bool)
    main = _main(view, launches, groups)
    return Lines(arrays[0], arrays[1], arrays[2], arrays[3], inferred, first, last, lines.line_of, main)


def _handed_over(lines: HostLines, threads: list[int], owner: Ints, track: Ints) -> Bools:
    """Which segments of a line follow, after a hole or none, one of a thread that only an inference ties to theirs."""
    found = np.zeros(len(owner), bool)
    if not any(lines.inferred(threads[0], thread) for thread in threads):
        return found
    known = np.flatnonzero(owner >= 0)
    root = np.array([lines.recorded[thread] for thread in track[known].tolist()], np.int64)
    found[known[1:]] = root[1:] != root[:-1]
    return found


def _segments(view: View, threads: list[int]) -> tuple[Ints, Ints]:
    """Times and owning rows; of several threads the span that started last is innermost."""
    nests = nests_of(view)
    if len(threads) == 1:
        found = nests.get(threads[0])
    else:
        rows = np.concatenate([np.empty(0, np.int64), *(nests[thread].rows for thread in threads if thread in nests)])
        rows = rows[np.lexsort((-view.end[rows], view.start[rows]))]
        found = nest(rows, view.start[rows], view.end[rows])
    if found is None or len(found.owner) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return found.times, np.where(found.owner >= 0, found.rows[found.owner], -1)


def _main(view: View, launches: Launches, groups: dict[int, list[int]]) -> int:
    threads, counts = np.unique(launches.thread[launches.begin != NEVER], return_counts=True)
    launched = dict(zip(threads.tolist(), counts.tolist(), strict=True))
    nests = nests_of(view)

    def weight(line: int) -> tuple[int, int]:
        recorded = sum(int(nests[thread].self_time.sum()) for thread in groups[line] if thread in nests)
        return sum(launched.get(thread, 0) for thread in groups[line]), recorded

    return max(groups, key=weight, default=-1)


NONE, STREAM, LAUNCH, WAIT, HOST, SYNC = range(6)
LINK_WORDS = ("unknown", "queued", "launch", "stream wait", "host", "sync return")


@dataclass(frozen=True)
class Edge:
    """Edges of one kind: the node at `source` was ready at `time`, and `target` began no earlier.

    `inferred` marks those that the trace does not hold: hand-overs between threads, and what a call had waited for.
    """

    link: int
    source: Ints
    target: Ints
    time: Ints
    inferred: Bools


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
    inferred: Bools  # whether the edge from the predecessor is inferred
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
    inferred = np.zeros(len(start), bool)
    inferred[:hosts] = np.where(host_link == SYNC, _guessed(view, lines), lines.handed)
    inside = np.flatnonzero(host_link == SYNC)
    along = np.flatnonzero(host_link == HOST)
    edges.append(Edge(HOST, host[along], along, lines.start[along], inferred[along]))
    done = np.where(blocked[inside] > 0, lines.end[inside], lines.start[inside])
    edges.append(Edge(SYNC, host[inside], inside, done, inferred[inside]))
    everywhere = np.concatenate((blocked, np.zeros(len(rows), np.int64)))
    low = np.where(everywhere > 0, end, start)
    return Graph(lines, rows, start, end, pred, link, ready, inferred, everywhere, low, edges)


def _guessed(view: View, lines: Lines) -> Bools:
    """Segments inside calls of which it is inferred what they waited for."""
    blocking = blocking_of(view)
    found = np.zeros(view.count, bool)
    found[blocking.rows[blocking.inferred]] = True
    return np.where(lines.owner >= 0, found[np.maximum(lines.owner, 0)], False) if view.count else lines.handed


def _blocking(view: View) -> tuple[Ints, Ints, Ints]:
    """Calls that a device kept waiting: their rows, what they waited for, and until when."""
    known = blocking_of(view).source >= 0
    rows, source = blocking_of(view).rows[known], blocking_of(view).source[known]
    until = np.minimum(view.end[source], view.end[rows])
    real = (until > view.start[rows]) & (view.start[source] < until) & (view.bits[source] > 0)
    return rows[real], source[real], until[real]


def _cuts(view: View, rows: Ints, blocks: tuple[Ints, Ints, Ints]) -> dict[int, Ints]:
    """Where the lines need a boundary: at launches, and when what a call waited for began (its own) and was done."""
    launches = launches_of(view)
    known = rows[(launches.begin[rows] != NEVER) & (launches.thread[rows] >= 0)]
    own = launches.call[blocks[1]] == blocks[0]  # a copy that its own call waits for: before it, the call prepares it
    tracks = np.concatenate((launches.thread[known], view.track[blocks[0]], view.track[blocks[0][own]]))
    times = np.concatenate(
        (np.minimum(launches.begin[known], view.start[known]), blocks[2], view.start[blocks[1][own]])
    )
    return {int(track): times[tracks == track] for track in np.unique(tracks)}


_OVERLAP = 1_000  # ns: work of one stream that overlaps by less follows each other; the device's clock is no finer


def _on_stream(view: View, node_of: Ints) -> Edge:
    """Work begins after the last on its stream that had ended by then, or whose end it overlaps by a trifle."""
    source, target = [], []
    for rows in view.work_by_track.values():
        mine = rows[node_of[rows] >= 0]
        by_end = mine[np.argsort(view.end[mine], kind="stable")]
        place = np.searchsorted(view.end[by_end], view.start[mine], side="right") - 1
        has = place >= 0
        before = np.where(has, by_end[np.maximum(place, 0)], -1)
        before[1:] = np.where(_barely_overlap(view, mine), mine[:-1], before[1:])
        source.append(before[before >= 0])
        target.append(mine[before >= 0])
    before = np.concatenate(source) if source else np.empty(0, np.int64)
    after = np.concatenate(target) if target else np.empty(0, np.int64)
    time = np.minimum(view.end[before], view.start[after])
    return Edge(STREAM, node_of[before], node_of[after], time, np.zeros(len(time), bool))


def _barely_overlap(view: View, rows: Ints) -> Bools:
    """Whether each row but the first begins before the end of the one before it, by less than half of either."""
    one, other = rows[:-1], rows[1:]
    overlap = view.end[one] - view.start[other]
    least = np.minimum(view.duration[one], view.duration[other])
    return (overlap > 0) & (overlap < _OVERLAP) & (overlap * 2 < least) & (view.start[one] < view.start[other])


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
    return Edge(LAUNCH, source, node_of[known], time, np.zeros(len(time), bool))


def _waited(view: View, rows: Ints, node_of: Ints) -> Edge:
    """Work begins after the work that its stream waited for."""
    waits = waits_of(view)
    source = waits.source[rows]
    real = (source >= 0) & (waits.end[rows] <= view.start[rows])
    real &= node_of[np.maximum(source, 0)] >= 0
    time = waits.end[rows][real]
    return Edge(WAIT, node_of[source[real]], node_of[rows[real]], time, np.zeros(len(time), bool))


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
