"""Applies edits to a graph. Each function says how many things it changed; one that changes nothing is an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eventide.analysis._host_calls import NEVER, launches_of
from eventide.analysis._view import COMPUTE, COPY, Bools, Ints, View
from eventide.analysis.metrics._outstanding import outstanding_of
from eventide.analysis.schedule import _dependencies as deps
from eventide.analysis.schedule._draft import Draft
from eventide.analysis.schedule._edits import Edit, from_line, named, no_match, works_matching
from eventide.analysis.schedule._launch_queue import queue_links
from eventide.errors import UsageValueError

_CORES = "host code that no longer runs leaves its core to others only if there are enough; the trace does not show it"
_FUSED = "whether these works can be one depends on the program; what the host does between their launches is left out"
_BANDWIDTH = "work that runs beside other work shares the device; the trace does not show how much room it has"


def apply_edits(draft: Draft, edits: Sequence[Edit]) -> None:
    """Apply all, in this order."""
    for edit in edits:
        count = _APPLY[edit.kind](draft, edit)
        draft.notes.append(f"{edit}: {count:,} changed")


def _works(draft: Draft, pattern: str) -> Ints:
    """Places among the works that the pattern selects; an error if there are none."""
    places = np.flatnonzero(named(draft.view, pattern)[draft.view.name[draft.rows]]) if len(draft.rows) else draft.rows
    if len(places) == 0:
        raise no_match(draft.view, pattern, "work")
    return places


def _scale(draft: Draft, edit: Edit) -> int:
    works = works_matching(draft.view, draft.rows, edit.pattern)
    if len(works):
        nodes = draft.nodes(works)
        draft.duration[nodes] = np.rint(draft.duration[nodes] * edit.factor).astype(np.int64)
        return len(works)
    spans = _host(draft, edit.pattern)
    inside = _segments_in(draft, spans)
    draft.duration[: draft.hosts][inside] = np.rint(draft.duration[: draft.hosts][inside] * edit.factor).astype(
        np.int64
    )
    if edit.factor < 1:
        draft.at_best.append(_CORES)
    return len(spans)


def _host(draft: Draft, pattern: str) -> Ints:
    """The rows of host spans that match."""
    view = draft.view
    rows = (
        np.flatnonzero(named(view, pattern)[view.name] & view.on_kind("thread") & (view.end > view.start))
        if view.count
        else np.empty(0, np.int64)
    )
    if len(rows) == 0:
        raise no_match(view, pattern, "work and no host span")
    return rows


def _segments_in(draft: Draft, spans: Ints) -> Bools:
    """The segments of the lines of these host spans that lie in them."""
    view, lines = draft.view, draft.model.network.graph.lines
    inside = np.zeros(draft.hosts, bool)
    for track in np.unique(view.track[spans]).tolist():
        line = lines.line_of.get(track)
        if line is None:
            continue
        low, high = lines.first[line], lines.last[line] + 1
        start, reach = _reach(view, spans[view.track[spans] == track])
        place = np.searchsorted(start, lines.start[low:high], side="right") - 1
        inside[low:high] |= (place >= 0) & (lines.end[low:high] <= reach[np.maximum(place, 0)])
    return inside


def _reach(view: View, spans: Ints) -> tuple[Ints, Ints]:
    """Starts of the spans of a thread, in order, and by when all up to each have ended."""
    spans = spans[np.argsort(view.start[spans], kind="stable")]
    return view.start[spans], np.maximum.accumulate(view.end[spans])


def _remove(draft: Draft, edit: Edit) -> int:
    works = works_matching(draft.view, draft.rows, edit.pattern)
    if len(works):
        _remove_works(draft, draft.nodes(works))
        _remove_calls(draft, works)
        return len(works)
    spans = _host(draft, edit.pattern)
    inside = _segments_in(draft, spans)
    _remove_works(draft, _launched_from(draft, spans))
    draft.duration[: draft.hosts][inside] = 0
    within = np.zeros(len(draft.duration), bool)
    within[: draft.hosts] = inside
    draft.keep(~(within[draft.target] & np.isin(draft.kind, (deps.SYNC, deps.QUEUE))))
    draft.at_best.append(_CORES)
    return len(spans)


def _launched_from(draft: Draft, spans: Ints) -> Ints:
    """Nodes of the work that was launched in these host spans."""
    view, launches = draft.view, launches_of(draft.view)
    begin, thread = launches.begin[draft.rows], launches.thread[draft.rows]
    found = np.zeros(len(draft.rows), bool)
    for track in np.unique(view.track[spans]).tolist():
        mine = np.flatnonzero((thread == track) & (begin != NEVER))
        start, reach = _reach(view, spans[view.track[spans] == track])
        place = np.searchsorted(start, begin[mine], side="right") - 1
        found[mine] = (place >= 0) & (begin[mine] < reach[np.maximum(place, 0)])
    nodes: Ints = draft.hosts + np.flatnonzero(found)
    return nodes


def _remove_works(draft: Draft, nodes: Ints) -> None:
    """They take no time and are launched by nothing; the order around them stays."""
    draft.duration[nodes] = 0
    draft.removed[nodes - draft.hosts] = True
    gone = np.zeros(len(draft.duration), bool)
    gone[nodes] = True
    draft.keep(~(gone[draft.target] & np.isin(draft.kind, (deps.LAUNCH, deps.CALL, deps.FULL, deps.UNKNOWN))))
    draft.lag[gone[draft.target] & (draft.kind == deps.STREAM)] = 0


def _remove_calls(draft: Draft, works: Ints) -> None:
    """The launching calls of removed work; of a call that launches several, only if all are removed."""
    call = launches_of(draft.view).call
    mine = np.unique(call[works][call[works] >= 0])
    left = draft.rows[~draft.removed]
    mine = np.setdiff1d(mine, call[left])
    inside = np.isin(draft.model.network.graph.lines.owner, mine)
    draft.duration[: draft.hosts][inside] = 0
    within = np.zeros(len(draft.duration), bool)
    within[: draft.hosts] = inside
    draft.keep(~(within[draft.target] & np.isin(draft.kind, (deps.SYNC, deps.QUEUE))))


def _drop_wait(draft: Draft, edit: Edit) -> int:
    chosen = np.zeros(len(draft.duration), bool)
    chosen[draft.hosts + _works(draft, edit.pattern)] = True
    waits = (draft.kind == deps.WAIT) & chosen[draft.target]
    if not waits.any():
        raise no_match(draft.view, edit.pattern, "work that waits for an event")
    draft.keep(~waits)
    return int(waits.sum())


def _drop_sync(draft: Draft, edit: Edit) -> int:
    view, owner = draft.view, draft.model.network.graph.lines.owner
    targets = np.unique(draft.target[draft.kind == deps.SYNC])
    targets = targets[owner[targets] >= 0]
    calls = np.unique(owner[targets])
    chosen = named(view, edit.pattern)[view.name[calls]] if len(calls) else np.zeros(0, bool)
    if not chosen.any():
        chosen = from_line(view, view.stack[calls], edit.pattern)
    calls = calls[chosen]
    if len(calls) == 0:
        raise no_match(view, edit.pattern, "call that blocks the host until a device is done")
    launching = np.isin(calls, launches_of(view).call)  # a copy still has to be prepared and launched
    draft.duration[: draft.hosts][np.isin(owner, calls[~launching])] = 0
    gone = np.zeros(len(draft.duration), bool)
    gone[targets] = np.isin(owner[targets], calls)
    draft.keep(~((draft.kind == deps.SYNC) & gone[draft.target]))
    return len(calls)


def _move(draft: Draft, edit: Edit) -> int:
    places = _works(draft, edit.pattern)
    _to_streams(draft, places, [_stream(draft, edit.stream, int(draft.track[places[0]]))])
    return len(places)


def _to_streams(draft: Draft, places: Ints, tracks: list[int]) -> None:
    before = np.unique(draft.track[places]).tolist()
    draft.track[places] = np.array(tracks, np.int64)[np.arange(len(places)) % len(tracks)]
    draft.order_streams(sorted({*before, *tracks}))
    draft.at_best.append(_BANDWIDTH)


def _stream(draft: Draft, name: str, beside: int) -> int:
    """The track of a stream by name or number, on the device of `beside`."""
    view = draft.view
    if name == "new":
        return draft.new_stream(beside)
    device = view.device(beside) if beside < len(view.track_kind) else ""
    here = [track for track in view.stream_tracks if view.device(track) == device]
    for track in here:
        if name in (view.stream(track), view.track_name[track], str(view.track_stream[track])):
            return track
    known = ", ".join(view.stream(track) for track in here)
    raise UsageValueError(f"{device} has no stream {name!r}; it has {known}; 'new' makes one")


def _launch_cost(draft: Draft, edit: Edit) -> int:
    call = launches_of(draft.view).call
    calls = np.unique(call[draft.rows][call[draft.rows] >= 0])
    if len(calls) == 0:
        raise UsageValueError("the trace does not record launching calls, so their cost is not known")
    inside = np.isin(draft.model.network.graph.lines.owner, calls)
    host = draft.duration[: draft.hosts]
    host[inside] = np.rint(host[inside] * edit.factor).astype(np.int64)
    return len(calls)


def _queue_depth(draft: Draft, edit: Edit) -> int:
    network = draft.model.network
    depths = dict.fromkeys(outstanding_of(draft.view), edit.count)
    if not depths:
        raise UsageValueError("the trace does not record which call launched which work, so it has no launch queue")
    groups = deps.Groups(network.groups)
    found, _, _ = queue_links(network, depths, groups)
    names = np.array([draft.lag_of(groups.names[group], 5_000) for group in range(len(groups.names))], np.int64)
    draft.keep(draft.kind != deps.QUEUE)
    draft.add(deps.QUEUE, found.source, found.target, names[found.group] if len(found) else 0)
    return len(depths)


def _add_streams(draft: Draft, edit: Edit) -> int:
    places = _works(draft, edit.pattern)
    for track in np.unique(draft.track[places]).tolist():
        mine = places[draft.track[places] == track]
        _to_streams(draft, mine, [track, *(draft.new_stream(track) for _ in range(edit.count))])
    return len(places)


def _faster_copies(draft: Draft, edit: Edit) -> int:
    copies = draft.nodes(draft.rows[draft.view.bits[draft.rows] == COPY])
    if len(copies) == 0:
        raise UsageValueError("the trace has no copies on a device")
    draft.duration[copies] = np.rint(draft.duration[copies] / edit.factor).astype(np.int64)
    return len(copies)


def _overlap(draft: Draft, edit: Edit) -> int:
    one, other = _works(draft, edit.pattern), _works(draft, edit.other)
    first, second = (np.zeros(len(draft.duration), bool) for _ in range(2))
    first[draft.hosts + one], second[draft.hosts + other] = True, True
    between = (first[draft.source] & second[draft.target]) | (second[draft.source] & first[draft.target])
    draft.keep(~(between & np.isin(draft.kind, (deps.WAIT, deps.FULL))))
    for track in np.intersect1d(draft.track[one], draft.track[other]).tolist():
        _to_streams(draft, one[draft.track[one] == track], [draft.new_stream(track)])
    draft.at_best.append(_BANDWIDTH)
    return len(one)


def _fuse(draft: Draft, edit: Edit) -> int:
    """Kernels in a row that one thread launches, without waiting for a device in between."""
    places = _works(draft, edit.pattern)
    chosen = np.zeros(len(draft.rows), bool)
    chosen[places[draft.view.bits[draft.rows[places]] == COMPUTE]] = True
    stream = draft.kind == deps.STREAM
    source, target = draft.source[stream] - draft.hosts, draft.target[stream] - draft.hosts
    waits = np.zeros(len(draft.duration), bool)
    waits[draft.target[draft.kind == deps.WAIT]] = True
    follows = chosen[source] & chosen[target] & ~waits[target + draft.hosts]
    source, target = source[follows], target[follows]
    after = deps.segments_after_launch(draft.model.network)[draft.hosts :]
    first, last = after[source], after[target]
    one = (first >= 0) & (last >= first) & _no_sync(draft, first, last)
    one &= launches_of(draft.view).thread[draft.rows[source]] == launches_of(draft.view).thread[draft.rows[target]]
    source, target = source[one], target[one]
    if len(target) == 0:
        raise no_match(draft.view, edit.pattern, "two kernels in a row that a thread launches without waiting")
    _fuse_launches(draft, source, target, after)
    inner = np.zeros(len(draft.duration), bool)
    inner[target + draft.hosts] = True
    draft.lag[inner[draft.target] & (draft.kind == deps.STREAM)] = 0
    draft.keep(~(inner[draft.target] & np.isin(draft.kind, (deps.LAUNCH, deps.CALL, deps.UNKNOWN))))
    draft.at_best.append(_FUSED)
    return len(target) + len(np.setdiff1d(source, target))


def _no_sync(draft: Draft, first: Ints, last: Ints) -> Bools:
    """Whether the host waits for no device from segment `first` until before `last`."""
    links = draft.model.network.links
    waiting = np.zeros(draft.hosts + 1, np.int64)
    waiting[links.target[links.kind == deps.SYNC] + 1] = 1
    before = np.cumsum(waiting)
    none: Bools = before[last] == before[first]
    return none


def _fuse_launches(draft: Draft, source: Ints, target: Ints, after: Ints) -> None:
    """The host does nothing from one launch to the next, unless it launches other work in between."""
    begin = launches_of(draft.view).begin[draft.rows]
    others = np.ones(len(draft.rows), bool)
    others[target] = False
    stops = np.sort(begin[others])
    free = np.searchsorted(stops, begin[target], side="right") == np.searchsorted(stops, begin[source], side="right")
    left_out = np.zeros(draft.hosts + 1, np.int64)
    np.add.at(left_out, after[source[free]], 1)
    np.add.at(left_out, after[target[free]], -1)
    draft.duration[: draft.hosts][np.cumsum(left_out)[:-1] > 0] = 0


_APPLY: dict[str, Callable[[Draft, Edit], int]] = {
    "scale": _scale,
    "remove": _remove,
    "drop_wait": _drop_wait,
    "drop_sync": _drop_sync,
    "move": _move,
    "launch_cost": _launch_cost,
    "queue_depth": _queue_depth,
    "add_streams": _add_streams,
    "faster_copies": _faster_copies,
    "overlap": _overlap,
    "fuse": _fuse,
}
