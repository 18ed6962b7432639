"""The critical path: from the end of the trace back to its start, each moment on what was being waited for.

The pieces lie end to end, so the path is exactly as long as the trace. Shortening what is on it shortens the run, until
something with little slack takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from eventide._native import follow_nodes, relax_edges
from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._host_calls import blocking_of, launches_of, unseen_waits
from eventide.analysis._path_graph import LAUNCH, LINK_WORDS, SYNC, Graph, graph_of
from eventide.analysis._view import COMMUNICATION, COMPUTE, COPY, Bools, Ints, View, steps_of, view_of
from eventide.errors import UsageValueError
from eventide.trace import Trace


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
        # A thread that does nothing until the end delays nothing.
        slack[: graph.hosts] = np.maximum(slack[: graph.hosts], 0)
    source = np.concatenate([edge.source for edge in graph.edges])
    target = np.concatenate([edge.target for edge in graph.edges])
    time = np.concatenate([edge.time for edge in graph.edges])
    link = np.concatenate([np.full(len(edge.source), edge.link) for edge in graph.edges])
    real = source >= 0
    source, target, time, link = source[real], target[real], time[real], link[real]
    room = np.where((graph.pred[target] == source) & (graph.link[target] == link), 0, graph.start[target] - time)
    # By when the source had done its part: with skew its end may be later. A segment that ends with the work inside it
    # comes before it.
    order = np.lexsort((-ends[target], -time))
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


_BLOCKED = 10  # its place among the words of pieces
_DEVICE_WORDS = {COMPUTE: "compute", COMMUNICATION: "communication", COPY: "copy"}
KINDS = {
    "compute": "computation on a device",
    "communication": "a collective",
    "copy": "a copy",
    "host": "host code",
    "blocked": "in a blocking call; what it waited for is not recorded",
    "unrecorded host": "a host thread, in nothing that was recorded",
    "launch": "from the launching call until the device began",
    "queued": "between two pieces of work of one stream",
    "stream wait": "from the event until the waiting stream began",
    "sync return": "from the end of the work until the synchronization returned",
    "unknown": "not recorded what was waited for",
}


@dataclass(frozen=True)
class PathRow:
    """All pieces of one name and kind."""

    name: str
    kind: str
    where: str
    count: int
    time: int
    share: float  # of the whole path


@dataclass(frozen=True, repr=False)
class CriticalPath(show.Result):
    """`table` has one row a piece, by time: start, duration, kind, span (row or null), track, name, where, inferred.

    A piece is inferred where the trace does not hold why the path goes on from it to the piece before.
    """

    start: int
    wall: int
    kinds: dict[str, int]  # sums to wall
    rows: tuple[PathRow, ...]
    next: tuple[Next, ...]
    nodes: int  # of the graph that was walked
    inferred: int  # edges on the path that the trace does not hold: hand-overs between threads, what a call waited for
    table: pa.Table = field(repr=False, compare=False)
    slack: Ints = field(repr=False, compare=False)  # of each span of a device; -1 elsewhere

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "kind": show.text,
        "where": show.text,
        "time": show.time,
        "count": show.number,
    }

    def _rows(self) -> pa.Table:
        return self.table

    def _printed(self) -> tuple[PathRow, ...]:
        return self.rows

    def _heading(self) -> str:
        kinds = ", ".join(f"{f.percent(time, self.wall)} {kind}" for kind, time in self.kinds.items())
        return f"{f.time(self.wall)}{': ' if kinds else ''}{kinds}"


def critical_path(trace: Trace | View, step: str | None = None) -> CriticalPath:
    """Walk back over the whole trace, or over one of its steps."""
    view = view_of(trace)
    begin, end = _window(view, step)
    if end == begin:
        none = np.empty(0, np.int64)
        empty = _table(view, none, none, (none, none, none), none > 0)
        return CriticalPath(begin, 0, {}, (), (), 0, 0, empty, np.full(view.count, -1, np.int64))
    graph = view.remember("graph", lambda: graph_of(view))
    nodes = _walk(graph, _last(view, graph, end, step), begin)
    table = _pieces(view, graph, nodes, begin, end)
    slack = slack_of(view, graph)
    on_path = np.zeros(view.count, bool)
    spans = table.column("span").drop_null().to_numpy()
    on_path[spans] = True
    rows = _rows(table, end - begin)
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row.kind] = kinds.get(row.kind, 0) + row.time
    ordered = dict(sorted(kinds.items(), key=lambda item: -item[1]))
    following = next_critical(view, slack, on_path, begin, end)
    inferred = int(graph.inferred[nodes].sum())
    return CriticalPath(begin, end - begin, ordered, rows, following, len(graph.start), inferred, table, slack)


def _window(view: View, step: str | None) -> tuple[int, int]:
    if step is None:
        return view.window
    steps = steps_of(view)
    for each in steps:
        if step in {each.name, each.name.rpartition("#")[2]}:
            return each.start, each.end
    names = ", ".join(each.name for each in steps) or "none"
    raise UsageValueError(f"the trace has no step {step!r}; it has {names}")


def _last(view: View, graph: Graph, end: int, step: str | None) -> int:
    """The node to start from: the end of the main line, or of the device's last work where that came later."""
    lines = graph.lines
    work = graph.end[graph.hosts :]
    before = np.flatnonzero(work <= end) if step is None else np.empty(0, np.int64)
    latest = int(before[work[before].argmax()]) if len(before) else -1
    if lines.main >= 0:
        threads = [thread for thread, line in lines.line_of.items() if line == lines.main]
        here = np.isin(view.track, threads) & (view.host | view.in_categories("step")) & (view.end > view.start)
        seen = int(view.end[here].max()) if here.any() else int(view.window[0])
        if latest < 0 or seen >= work[latest]:
            return int(lines.ending_at(lines.main, np.array([end]))[0])
    return graph.hosts + latest


def _walk(graph: Graph, node: int, begin: int) -> Ints:
    """Follow the predecessors until the window's start."""
    nodes = np.empty(len(graph.pred), np.int64)
    return nodes[: follow_nodes(graph.pred, graph.low, node, begin, nodes)].copy()


def _pieces(view: View, graph: Graph, nodes: Ints, begin: int, end: int) -> pa.Table:
    """A piece for each node, and one for how long its predecessor's effect took; those of no length are dropped."""
    if len(nodes) == 0:
        whole, nothing = np.array([begin, end]), np.array([-1])
        return _table(view, whole[:1], whole[1:], (np.array([0]), nothing, nothing), nothing > 0)
    link = graph.link[nodes]
    low, high = graph.low[nodes], graph.end[nodes]
    host = nodes < graph.hosts
    owner = np.where(host, graph.lines.owner[np.minimum(nodes, max(graph.hosts - 1, 0))] if graph.hosts else -1, -1)
    row = np.where(host, owner, graph.rows[np.maximum(nodes - graph.hosts, 0)] if len(graph.rows) else -1)
    track = np.where(
        row >= 0,
        view.track[np.maximum(row, 0)],
        graph.lines.track[np.minimum(nodes, graph.hosts - 1)] if graph.hosts else -1,
    )
    own = np.where(row >= 0, np.where(_blocked(view)[np.maximum(row, 0)], _BLOCKED, 4), 6) if view.count else row
    kind = np.where(host, np.where(link == SYNC, 5, own), 7)
    # The next node (earlier) ends where this one's wait began; the path's own end and start are the window's.
    reach = np.append(high[1:], begin)
    top = np.append(end, np.minimum(low[:-1], high[1:]))
    piece_low = np.maximum(low, begin)
    piece_high = np.minimum(high, top)
    gap_low, gap_high = np.maximum(reach, begin), np.maximum(np.minimum(low, piece_high), begin)
    bound = np.append(graph.pred[nodes[:-1]] >= 0, graph.ready[nodes[-1:]] == begin)
    gap_kind = np.where(bound, link, 0)
    if view.count:
        work = np.maximum(row, 0)
        unseen = unseen_waits(view)[work] | ((gap_kind == LAUNCH) & _before_all(view)[work])
        gap_kind = np.where(~host & unseen, 0, gap_kind)
    starts = np.concatenate((piece_low, gap_low, piece_high[:1]))
    ends = np.concatenate((piece_high, gap_high, [end]))
    kinds = np.concatenate((kind, gap_kind, [0]))
    rows = np.concatenate((row, np.where(host, -1, row), [-1]))
    tracks = np.concatenate((track, track, [-1]))
    inferred = np.concatenate((graph.inferred[nodes], graph.inferred[nodes], [False]))
    keep = np.flatnonzero(ends > starts)
    order = keep[np.argsort(starts[keep], kind="stable")]
    return _table(view, starts[order], ends[order], (kinds[order], rows[order], tracks[order]), inferred[order])


_LATENCY = 50_000  # ns: from a launching call until an idle device begins, at most


def _before_all(view: View) -> Bools:
    """The first work of each device if it began late: a recording of another tool lacks what ran before it."""
    found = np.zeros(view.count, bool)
    if view.trace.operations.num_rows == 0:
        for tracks in view.devices.values():
            rows = np.concatenate([view.work_by_track[track] for track in tracks])
            found[rows[view.start[rows] == view.start[rows].min()]] = True
    return found & (view.start > launches_of(view).end + _LATENCY)


def _blocked(view: View) -> Bools:
    """Blocking calls of which it is not known what they waited for."""
    blocking = blocking_of(view)
    found = np.zeros(view.count, bool)
    found[blocking.rows[blocking.source < 0]] = True
    return found


def _table(view: View, start: Ints, end: Ints, what: tuple[Ints, Ints, Ints], inferred: Bools) -> pa.Table:
    kind, row, track = what
    words = [*LINK_WORDS, "unrecorded host", *_DEVICE_WORDS.values(), "blocked"]
    bits = np.array([words.index(_DEVICE_WORDS.get(bit, "compute")) for bit in range(5)])
    own = (kind == 7) & (row >= 0)
    kind = kind.copy()
    kind[own] = bits[view.bits[row[own]]]
    none = len(view.names) - 1
    name = np.where(row >= 0, view.name[np.maximum(row, 0)], none) if view.count else np.full(len(row), none)
    places = [_where(view, each) for each in range(-1, len(view.track_kind))]
    columns = {
        "start": pa.array(start, pa.int64()),
        "duration": pa.array(end - start, pa.int64()),
        "kind": _words(kind, words),
        "span": pa.array(row, pa.int64(), mask=row < 0),
        "track": pa.array(track, pa.int64(), mask=track < 0),
        "name": _words(name, view.names),
        "where": _words(track + 1, places),
        "inferred": pa.array(inferred),
    }
    return pa.table(columns)


def _words(numbers: Ints, words: list[str]) -> pa.Array:
    # Encoded first: two threads may have one name, and pandas refuses a dictionary with a word twice.
    return pa.array(words, pa.string()).dictionary_encode().take(pa.array(numbers))


def _where(view: View, track: int) -> str:
    if track < 0:
        return ""
    if view.track_kind[track] == "stream":
        return f"{view.device(track)} stream {view.stream(track)}"
    return view.thread(track)


def _rows(table: pa.Table, wall: int) -> tuple[PathRow, ...]:
    grouped = table.group_by(["name", "kind", "where"]).aggregate([("duration", "sum"), ("duration", "count")])
    rows = [
        PathRow(
            cells["name"], cells["kind"], cells["where"],
            cells["duration_count"], cells["duration_sum"], cells["duration_sum"] / wall,
        )
        for cells in grouped.to_pylist()
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (-row.time, row.name)))
