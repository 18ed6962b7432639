"""The dependency graph of a trace, as columns: what each stretch of host time and each piece of work must wait for.

The nodes are those of the critical path (`_path_graph`) and one more, the origin: the beginning of the trace. An edge
says that its target begins no earlier than a lag after the end of its source. The lag belongs to a class of edges, such
as all launches by one call (`_latencies` measures it); no node has a time of its own besides its duration.

A call that blocked the host keeps only the time that it costs when nothing is to be waited for; the edge that ends it
has the rest. So the schedule follows from the graph, and an edit of the graph changes the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from eventide.analysis import _path_graph as path
from eventide.analysis._host_calls import NEVER, blocking_of, last_launched, launches_of
from eventide.analysis._path_graph import Graph, graph_of
from eventide.analysis._view import Bools, Ints, View

KINDS = ("host", "stream", "launch", "call", "wait", "sync", "queue", "full", "unknown")
HOST, STREAM, LAUNCH, CALL, WAIT, SYNC, QUEUE, FULL, UNKNOWN = range(len(KINDS))
ORIGINS = ("recorded", "inferred", "assumed")
RECORDED, INFERRED, ASSUMED = range(len(ORIGINS))
_LONG_CALL = 3  # times the median of its name: the work of a longer call begins with its end
_MOST_COST = 20_000  # ns: of a synchronization that finds everything complete
_SMALL_GAP = 20_000  # ns: work without a launch keeps a longer gap before it, since nothing recorded explains it


@dataclass(frozen=True)
class Links:
    """Edges in columns. `group` is the class that has the lag; -1: `lag` is fixed."""

    source: Ints
    target: Ints
    kind: Ints
    origin: Ints
    group: Ints
    lag: Ints

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: Ints | Bools) -> Links:
        return Links(*(getattr(self, name)[rows] for name in Links.__dataclass_fields__))


def links(
    kind: int, origin: Ints | int, source: Ints, target: Ints, group: Ints | int = -1, *, lag: Ints | int = 0
) -> Links:
    """Edges of one kind; `group` and `lag` of all of them or of each."""
    columns = (np.broadcast_to(np.asarray(value, np.int64), len(source)) for value in (kind, origin, group, lag))
    return Links(np.asarray(source, np.int64), np.asarray(target, np.int64), *columns)


def joined(parts: list[Links]) -> Links:
    return Links(*(np.concatenate([getattr(part, name) for part in parts]) for name in Links.__dataclass_fields__))


@dataclass(frozen=True)
class Network:
    """Nodes and edges. `at` and `until` are the recorded start and end of what a node still has for itself.

    `row` is the span of a node (-1: a hole between spans, or the origin), `node_of` the work node of a span or -1.
    """

    view: View
    graph: Graph
    row: Ints
    at: Ints
    until: Ints
    node_of: Ints
    links: Links
    groups: list[str]  # the names of the classes

    @property
    def duration(self) -> Ints:
        return self.until - self.at

    @property
    def origin(self) -> int:
        return len(self.at) - 1

    @property
    def hosts(self) -> int:
        return self.graph.hosts

    def with_links(self, more: Links, groups: list[str] | None = None) -> Network:
        return replace(self, links=joined([self.links, more]), groups=groups or self.groups)

    def to_arrow(self) -> pa.Table:
        """The edges: source and target (numbers of nodes), kind, origin (recorded, inferred or assumed), class."""
        words = [(self.links.kind, KINDS), (self.links.origin, ORIGINS), (self.links.group, [*self.groups, "fixed"])]
        cells = [
            pa.DictionaryArray.from_arrays(
                pa.array(np.where(codes < 0, len(names) - 1, codes), pa.int32()), list(names)
            )
            for codes, names in words
        ]
        return pa.table([self.links.source, self.links.target, *cells], ["source", "target", "kind", "origin", "class"])


class Groups:
    """The numbers of the classes of edges, by name."""

    def __init__(self, names: list[str] | None = None) -> None:
        self.names = list(names or [])
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def numbers(self, prefix: str, codes: Ints, words: list[str]) -> Ints:
        """A class for each word that occurs."""
        used, place = np.unique(codes, return_inverse=True)
        return np.array([self.number(f"{prefix} {words[code]}".rstrip()) for code in used], np.int64)[place]


def network_of(view: View) -> Network:
    """The graph with the edges that are recorded or follow from how streams work; `_inferred_edges` adds the others."""
    return view.remember("network", lambda: _network(view))


def _network(view: View) -> Network:
    graph = graph_of(view)
    hosts, works = graph.hosts, len(graph.rows)
    begin = view.window[0]
    at = np.concatenate((graph.start, [begin]))
    until = np.concatenate((graph.end, [begin]))
    row = np.concatenate((graph.lines.owner, graph.rows, [-1]))
    node_of = np.full(view.count, -1, np.int64)
    node_of[graph.rows] = hosts + np.arange(works)
    groups = Groups()
    waits = _Waits(view, graph)
    at[waits.nodes] = until[waits.nodes] - waits.cost
    _drop_idle_ends(view, graph, at, until)
    parts = [_on_lines(graph, len(at) - 1), _on_streams(view, graph, groups), *_launched(view, graph, groups)]
    parts += [_waited(view, node_of, groups), waits.links(node_of, groups)]
    parts.append(_unexplained(view, graph, joined(parts), len(at) - 1))
    return Network(view, graph, row, at, until, node_of, joined(parts), groups.names)


def _drop_idle_ends(view: View, graph: Graph, at: Ints, until: Ints) -> None:
    """After the last that a line did it does nothing: that lasts as long as the trace, not as long as it did."""
    lines = graph.lines
    steps = view.in_categories("step") & view.on_kind("thread")
    for line, first in lines.first.items():
        here = np.isin(view.track, [thread for thread, its in lines.line_of.items() if its == line])
        if line == lines.main:
            here |= ~np.isin(view.track, list(lines.line_of))  # steps of a thread that did nothing else
        used = view.end[steps & here].max(initial=view.window[0])
        last = lines.last[line]
        owned = np.flatnonzero(lines.owner[first : last + 1] >= 0)
        low = first + int(owned[-1]) + 1 if len(owned) else first
        low += int(np.searchsorted(lines.start[low : last + 1], used, side="left"))
        until[low : last + 1] = at[low : last + 1] = max(int(until[low - 1]) if low > first else int(used), 0)


def _on_lines(graph: Graph, origin: int) -> Links:
    """Each segment follows the one before it, maybe of another thread (inferred); the first of a line the origin."""
    source = np.arange(graph.hosts) - 1
    first = np.array(list(graph.lines.first.values()), np.int64)
    source[first] = origin
    origins = np.where(graph.lines.handed, INFERRED, RECORDED)
    return links(HOST, origins, source, np.arange(graph.hosts))


def _on_streams(view: View, graph: Graph, groups: Groups) -> Links:
    edge = next(each for each in graph.edges if each.link == path.STREAM)
    tracks = view.track[graph.rows[edge.target - graph.hosts]]
    words = [str(track) for track in range(len(view.track_kind))]
    return links(STREAM, RECORDED, edge.source, edge.target, groups.numbers("stream", tracks, words))


def _launched(view: View, graph: Graph, groups: Groups) -> list[Links]:
    """From the beginning of the call; of an unusually long one from its end, with which its work begins."""
    edge = next(each for each in graph.edges if each.link == path.LAUNCH)
    launches = launches_of(view)
    rows = graph.rows[edge.target - graph.hosts]
    call = launches.call[rows]
    words = [*view.names, ""]
    name = np.where(call >= 0, view.name[np.maximum(call, 0)], len(words) - 1) if view.count else call
    source = np.where(edge.source >= 0, edge.source, len(graph.start))
    begun = links(LAUNCH, RECORDED, source, edge.target, groups.numbers("launch", name, words))
    took = np.where(call >= 0, view.duration[np.maximum(call, 0)], 0) if view.count else call
    usual = _median_of_each(name, took)
    unusual = (call >= 0) & (took > _LONG_CALL * usual) & ~np.isin(call, blocking_of(view).rows)
    long = np.flatnonzero(unusual)
    ends = segments_ending(graph, view, call[long])
    long, ends = long[ends >= 0], ends[ends >= 0]
    ended = links(CALL, RECORDED, ends, edge.target[long], groups.numbers("end of", name[long], words))
    return [begun, ended]


def _median_of_each(keys: Ints, values: Ints) -> Ints:
    """For each value the median of those with its key."""
    found = np.zeros(len(keys), np.int64)
    for key in np.unique(keys).tolist():
        mine = keys == key
        found[mine] = np.median(values[mine])
    return found


def segments_ending(graph: Graph, view: View, calls: Ints) -> Ints:
    """The segment that ends with each call; -1 where its line is not cut there."""
    lines = graph.lines
    found = np.full(len(calls), -1, np.int64)
    for track in np.unique(view.track[calls]).tolist():
        mine = np.flatnonzero(view.track[calls] == track)
        if track in lines.line_of:
            node = lines.ending_at(lines.line_of[track], view.end[calls[mine]])
            found[mine] = np.where(lines.end[node] == view.end[calls[mine]], node, -1)
    return found


def segments_after_launch(network: Network) -> Ints:
    """By node, for work: the host segment that begins as the work is launched; -1 where that is not recorded."""
    links, lines, rows = network.links, network.graph.lines, network.graph.rows
    found = np.full(len(network.at), -1, np.int64)
    launched = links.kind == LAUNCH
    target, source = links.target[launched], links.source[launched]
    thread = launches_of(network.view).thread[rows[target - network.hosts]]
    begins = np.full(len(network.view.track_kind) + 1, -1, np.int64)  # the first segment of each thread's line
    for track, line in lines.line_of.items():
        begins[track] = lines.first[line]
    here = source < network.hosts
    found[target] = np.where(here, source + 1, begins[thread])
    found[target[here & np.isin(source, list(lines.last.values()))]] = -1
    return found


def _waited(view: View, node_of: Ints, groups: Groups) -> Links:
    """Every recorded wait of a stream that the recording respects."""
    edges = view.edges("wait")
    known = (edges.from_span >= 0) & (edges.to_span >= 0) & (np.maximum(edges.from_span, edges.to_span) < view.count)
    source, target = edges.from_span[known], edges.to_span[known]
    real = (node_of[source] >= 0) & (node_of[target] >= 0) & (view.end[source] <= view.start[target])
    return links(WAIT, RECORDED, node_of[source[real]], node_of[target[real]], groups.number("wait"))


class _Waits:
    """Calls in which the host waits: their last segments, what they wait for, and what they cost without waiting."""

    def __init__(self, view: View, graph: Graph) -> None:
        blocking = blocking_of(view)
        self._view, self._owner = view, graph.lines.owner
        self._rows, self._source, self._inferred = blocking.rows, _awaited(view), blocking.inferred
        self._node = segments_ending(graph, view, self._rows)
        known = (self._source >= 0) & (self._node >= 0)
        known &= (view.bits > 0)[np.maximum(self._source, 0)] & (view.duration > 0)[np.maximum(self._source, 0)]
        self._rows, self._source = self._rows[known], self._source[known]
        self._inferred, self._node = self._inferred[known], self._node[known]
        done = view.end[self._source]
        self.waited = (done > view.start[self._rows]) & (blocking.source[known] >= 0)
        self.nodes, self.cost = self._own_time(view, graph)

    def _own_time(self, view: View, graph: Graph) -> tuple[Ints, Ints]:
        """The segments of calls that waited, and what is left of each: the least that a call of its name took."""
        calls = self._rows[self.waited]
        which = np.full(max(view.count, 1), -1, np.int64)
        which[calls] = np.arange(len(calls))
        owner = graph.lines.owner
        mine = np.where(owner >= 0, which[np.maximum(owner, 0)], -1)
        nodes = np.flatnonzero(mine >= 0)
        least = np.zeros(len(calls), np.int64)
        for name in np.unique(view.name[calls]).tolist():
            same = view.name == name
            least[view.name[calls] == name] = np.percentile(view.duration[same], 5)
        first = np.append(True, mine[nodes][1:] != mine[nodes][:-1]) if len(nodes) else np.zeros(0, bool)
        cost = np.where(first, np.minimum(least[mine[nodes]], _MOST_COST), 0)
        begun, idle = self._prepared(view, calls)
        prepares = graph.end[nodes] <= begun[mine[nodes]]
        length = (graph.end - graph.start)[nodes]
        cost = np.where(prepares, np.minimum(length, np.maximum(graph.end[nodes] - idle[mine[nodes]], 0)), cost)
        self.prepared = nodes[prepares & (graph.end[nodes] == begun[mine[nodes]])]
        return nodes, np.minimum(cost, length)

    def _prepared(self, view: View, calls: Ints) -> tuple[Ints, Ints]:
        """When the copy began of a call that waits for its own copy, and since when its stream was idle; else NEVER.

        Until then the call is not waiting: the driver prepares the memory.
        """
        source = self._source[self.waited]
        own = launches_of(view).call[source] == calls
        begun, idle = np.full(len(calls), NEVER, np.int64), np.zeros(len(calls), np.int64)
        for rows in view.work_by_track.values():
            mine = np.flatnonzero(own & (view.track[source] == view.track[rows[0]]))
            place = np.searchsorted(view.start[rows], view.start[source[mine]], side="left") - 1
            reach = np.maximum.accumulate(view.end[rows])
            begun[mine] = view.start[source[mine]]
            idle[mine] = np.where(place >= 0, reach[np.maximum(place, 0)], view.window[0])
        return begun, idle

    def links(self, node_of: Ints, groups: Groups) -> Links:
        words = self._view.names
        group = groups.numbers("sync", self._view.name[self._rows], words)
        origin = np.where(self._inferred, INFERRED, RECORDED)
        waits = replace(links(SYNC, RECORDED, node_of[self._source], self._node, group), origin=origin)
        calls, place = self._calls_of(self.prepared)
        prepared = links(
            CALL,
            RECORDED,
            self.prepared,
            node_of[self._source[place]],
            groups.numbers("copy in", self._view.name[calls], words),
        )
        return joined([waits, prepared])

    def _calls_of(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The call of each segment, and its place among the calls."""
        calls = self._owner[nodes]
        order = np.argsort(self._rows, kind="stable")
        return calls, order[np.searchsorted(self._rows[order], calls)]


def _awaited(view: View) -> Ints:
    """What each blocking call waits for, whether or not it was complete when the call began."""
    blocking = blocking_of(view)
    found = blocking.source.copy()
    if len(view.stream_tracks) == 1:
        blind = np.flatnonzero((found < 0) & view.in_categories("sync")[blocking.rows])
        last = last_launched(view, view.start[blocking.rows[blind]])
        over = (last >= 0) & (view.end[last] <= view.start[blocking.rows[blind]])
        found[blind] = np.where(over, last, -1)
    return found


def _unexplained(view: View, graph: Graph, known: Links, origin: int) -> Links:
    """Work without a launch or anything else before it keeps its recorded distance: it is assumed."""
    works = np.arange(graph.hosts, len(graph.start))
    has = np.zeros(len(graph.start), bool)
    has[known.target[(known.kind == LAUNCH) | (known.kind == WAIT)]] = True
    before = np.full(len(graph.start), origin, np.int64)
    stream = known.kind == STREAM
    before[known.target[stream]] = known.source[stream]
    end = np.append(graph.end, view.window[0])
    gap = graph.start[works] - end[before[works]]
    alone = ~has[works] & ((before[works] == origin) | (gap > _SMALL_GAP))
    return links(UNKNOWN, ASSUMED, before[works[alone]], works[alone], lag=gap[alone])


__all__ = ["Groups", "Links", "Network", "joined", "links", "network_of", "segments_after_launch", "segments_ending"]
