"""Host calls: which one launched each work item, what the work waited for, and which calls blocked the host.

Synchronizations block by definition. A copy from or to pageable memory blocks as well: the driver's call returns when
the copy is through the stream, whether or not its name has `Async`. So do calls that launch work and wait for it, as
those of CUDA with CUDA_LAUNCH_BLOCKING=1 do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from eventide.analysis._view import COPY, Bools, Ints, View

NEVER = np.iinfo(np.int64).min
_WAIT_CALL = re.compile(r"StreamWaitEvent|waitOnEvent|WaitValue|GraphLaunch", re.IGNORECASE)


@dataclass(frozen=True)
class Launches:
    """For each span: its launching call. NEVER and -1 where it is not known."""

    begin: Ints  # when the host asked: the start of the call
    end: Ints  # when the call returned
    call: Ints  # row of the call
    thread: Ints  # track of the host thread; -1 as well where a device launched it


@dataclass(frozen=True)
class Waits:
    """For each span: the recorded wait in front of it that ended last. NEVER and -1 where there is none."""

    end: Ints  # when what it waited for was done
    source: Ints  # row of the work it waited for
    source_track: Ints
    event: Ints


def launches_of(view: View) -> Launches:
    """From the launch edges; else from the submit column, which names no thread."""
    return view.remember("launches", lambda: _launches(view))


def _launches(view: View) -> Launches:
    begin = view.submit.copy()
    end = begin.copy()
    call = np.full(view.count, -1, np.int64)
    thread = np.full(view.count, -1, np.int64)
    edges = view.edges("launch")
    known = np.flatnonzero((edges.to_span >= 0) & (edges.to_span < view.count))
    target, source = edges.to_span[known], edges.from_span[known]
    has_call = (source >= 0) & (source < view.count)
    row = np.where(has_call, source, 0)
    begin[target] = np.where(has_call, view.start[row], edges.from_time[known]) if view.count else begin[target]
    end[target] = np.where(has_call, view.end[row], edges.from_time[known]) if view.count else end[target]
    call[target] = np.where(has_call, source, -1)
    hosts = np.array([*(kind == "thread" for kind in view.track_kind), False], dtype=bool)
    origin = edges.from_track[known]
    thread[target] = np.where(hosts[origin], origin, -1)  # a device may launch work as well
    return Launches(begin, end, call, thread)


def waits_of(view: View) -> Waits:
    """From the wait edges that end at a piece of work."""
    return view.remember("waits", lambda: _waits(view))


def _waits(view: View) -> Waits:
    end = np.full(view.count, NEVER, np.int64)
    source = np.full(view.count, -1, np.int64)
    track = np.full(view.count, -1, np.int64)
    event = np.full(view.count, -1, np.int64)
    edges = view.edges("wait")
    rows = np.flatnonzero((edges.to_span >= 0) & (edges.to_span < view.count))
    if len(rows):
        origin = edges.from_span[rows]
        known = (origin >= 0) & (origin < view.count)
        done = np.where(known, view.end[np.where(known, origin, 0)], edges.from_time[rows])
        order = np.argsort(done, kind="stable")  # of several waits the last one to end stays
        rows, origin, known, done = rows[order], origin[order], known[order], done[order]
        target = edges.to_span[rows]
        end[target], source[target] = done, np.where(known, origin, -1)
        track[target], event[target] = edges.from_track[rows], edges.event[rows]
    return Waits(end, source, track, event)


def unseen_waits(view: View) -> Bools:
    """For each span, whether a stream wait that the trace does not hold may be in front of it.

    A wait delays this work and not the one before it on the stream only if the host asked for it between their two
    launches. Where waits are recorded, or where none was called in between, there is none. A trace that holds
    launching calls and no others does not show which other calls were made.
    """
    return view.remember("unseen waits", lambda: _unseen_waits(view))


def _unseen_waits(view: View) -> Bools:
    unsure = np.zeros(view.count, bool)
    if knows_waits(view):
        return unsure
    called = view.in_categories("runtime", "sync") & view.on_kind("thread")
    launching = launches_of(view).call
    called[launching[launching >= 0]] = False
    if not called.any():
        return view.bits > 0
    matches = np.array([bool(_WAIT_CALL.search(name)) for name in view.names], dtype=bool)
    calls = np.sort(view.start[matches[view.name] & view.on_kind("thread")]) if view.count else np.empty(0, np.int64)
    begin = launches_of(view).begin
    for rows in view.work_by_track.values():
        mine = begin[rows]
        before = np.append(NEVER, mine[:-1])
        asked = np.searchsorted(calls, mine, side="right") > np.searchsorted(calls, before, side="left")
        unsure[rows] = asked | (mine == NEVER)
    return unsure


def knows_waits(view: View) -> bool:
    """Whether stream waits are recorded: our own traces, and others that hold at least one."""
    return len(view.edges("wait")) > 0 or view.trace.operations.num_rows > 0


_WHOLE_DEVICE = re.compile(r"(Device|Ctx|Context)Synchronize(_v\d+)?$")
_COPY_CALL = re.compile(r"mem(ory)?_?(cpy|copy)|copy(to|from|host|device)|enqueue(read|write)", re.IGNORECASE)
_ASYNC = re.compile(r"async|enqueue|append", re.IGNORECASE)
_PAGEABLE = re.compile(r"pageable", re.IGNORECASE)
_PINNED = re.compile(r"pinned", re.IGNORECASE)
_ON_DEVICES = re.compile(r"[DP](to|2)[DP](?![a-z])|Device(_to_| -> |2|To)Device|CopyDeviceToDevice|Peer", re.IGNORECASE)
_NEAR = 50_000  # ns: from the end of what a synchronization waited for until the call returned
_MOST_SKEW = 1_000_000  # ns: more is no disagreement of clocks


@dataclass(frozen=True)
class Blocking:
    """Rows of the calls by start, and for each the work that it waited for last; -1 where it is not recorded.

    `inferred` marks what no edge says: that the call waited for the last work that its thread had launched, which ended
    as it returned, or that a launching call waited for its own. `skew` is how long after the return of a call the work
    that it waited for ends, at most: the clocks of host and device disagree, or the driver copies from a buffer of its
    own. Differences up to it are no order.
    """

    rows: Ints
    source: Ints
    inferred: Bools
    skew: int
    launching: Bools  # calls that launched what they waited for, copies not among them


def blocking_of(view: View) -> Blocking:
    return view.remember("blocking", lambda: _blocking(view))


def _blocking(view: View) -> Blocking:
    rows = np.flatnonzero(view.in_categories("sync") & view.on_kind("thread"))
    source, tied = _sources(view, rows)
    calls, copies, sure = _copies(view)
    launching, work, long = _launches_that_wait(view)
    shown = (rows, calls[sure], launching[long]), (source, copies[sure], work[long])
    skew = _skew(view, np.concatenate(shown[0]), np.concatenate(shown[1]))
    source[(source >= 0) & ~tied & (view.end[source] > view.end[rows] + skew)] = -1
    guess = _as_it_returned(view, rows, skew)
    inferred = (source < 0) & (guess >= 0)
    source = np.where(inferred, guess, source)
    over = view.end[copies] <= view.end[calls] + skew
    own = view.end[work] <= view.end[launching] + skew
    counts = (len(rows), int(over.sum()), int(own.sum()))
    rows = np.concatenate((rows, calls[over], launching[own]))
    source = np.concatenate((source, copies[over], work[own]))
    inferred = np.concatenate((inferred, np.repeat((False, True), counts[1:])))
    launches = np.repeat((False, False, True), counts)
    order = np.argsort(view.start[rows], kind="stable")
    return Blocking(rows[order], source[order], inferred[order], skew, launches[order])


_LONG = 50_000  # ns: work that ends as its call returns and is that long was waited for
_LEAST = 3  # calls with such work: fewer may have returned then by chance


def _launches_that_wait(view: View) -> tuple[Ints, Ints, Bools]:
    """Calls of names whose calls return when the work that they launched ends; the last work of each, if it is long.

    Nine of ten calls that launch long work do: they return after its end, or by less than half of it before.
    """
    call = launches_of(view).call
    work = np.flatnonzero((view.bits > 0) & (view.bits != COPY) & (call >= 0))
    work = work[view.in_categories("runtime")[call[work]]]
    work = work[np.lexsort((view.end[work], call[work]))]
    work = work[np.append(call[work][1:] != call[work][:-1], True)] if len(work) else work
    calls = call[work]
    early = view.end[work] - view.end[calls]  # by how much the call returned before the end
    ended = (early <= np.minimum(_NEAR, view.duration[work] // 2)) & (view.start[work] >= view.start[calls])
    long = view.duration[work] >= _LONG
    names, size = view.name[calls], len(view.names)
    count, good = np.bincount(names[long], minlength=size), np.bincount(names[long & ended], minlength=size)
    habit = ((count >= _LEAST) & (good * 10 >= count * 9))[names]
    return calls[habit], work[habit], (long & ended)[habit]


def _matching(view: View, pattern: re.Pattern[str], rows: Ints) -> Bools:
    """Whether the name of each row matches."""
    found = np.array([bool(pattern.search(name)) for name in view.names], dtype=bool)
    return found[view.name[rows]]


def _copies(view: View) -> tuple[Ints, Ints, Bools]:
    """Calls that were in a copy from or to the host's memory as they returned, the copies, and which surely waited.

    A call without `Async` in its name waits, and so does one that copies pageable memory. Of one that copies memory of
    a kind that is not recorded, only the times can show it; pinned memory is copied without the host.
    """
    copies = np.flatnonzero(view.bits == COPY)
    calls = launches_of(view).call[copies]
    copies, calls = copies[calls >= 0], calls[calls >= 0]
    real = view.in_categories("runtime")[calls] & _matching(view, _COPY_CALL, calls)
    real &= ~_matching(view, _ON_DEVICES, copies) & (view.start[copies] < view.end[calls])
    copies, calls = copies[real], calls[real]
    plain = ~_matching(view, _ASYNC, calls)
    possible = plain | ~_matching(view, _PINNED, copies)
    sure = plain | _matching(view, _PAGEABLE, copies)
    return calls[possible], copies[possible], sure[possible]


def _skew(view: View, calls: Ints, awaited: Ints) -> int:
    """The longest time by which awaited work ends after its call; longer than the call itself proves nothing."""
    calls, awaited = calls[awaited >= 0], awaited[awaited >= 0]
    late = view.end[awaited] - view.end[calls]
    shown = (view.start[awaited] < view.end[calls]) & (late <= np.minimum(view.duration[calls], _MOST_SKEW))
    return max(int(late[shown].max()), 0) if shown.any() else 0


def _sources(view: View, rows: Ints) -> tuple[Ints, Bools]:
    """What each waited for, and whether an edge says so; one of a whole device waits for all that was launched."""
    latest = np.full(view.count, -1, np.int64)
    edges = view.edges("synchronize")
    known = (edges.to_span >= 0) & (edges.to_span < view.count) & (edges.from_span >= 0)
    source, target = edges.from_span[known], edges.to_span[known]
    order = np.argsort(view.end[source], kind="stable")
    latest[target[order]] = source[order]
    found = latest[rows]
    tied = found >= 0
    if len(view.devices) == 1:
        blind = np.flatnonzero(~tied & _matching(view, _WHOLE_DEVICE, rows))
        found[blind] = last_launched(view, view.start[rows[blind]])
    return found, tied


def last_launched(view: View, asked: Ints) -> Ints:
    """Of the work launched before `asked`, the one that ended last."""
    work = _launched_in_order(view)
    if len(work) == 0:
        return np.full(len(asked), -1, np.int64)
    place = np.searchsorted(launches_of(view).begin[work], asked, side="left") - 1
    # The index of the running maximum of ends: where a new maximum is set, that index; else the one before.
    ends = view.end[work]
    best = np.maximum.accumulate(np.where(ends >= np.maximum.accumulate(ends), np.arange(len(work)), 0))
    return np.where(place >= 0, work[best[np.maximum(place, 0)]], -1)


def _launched_in_order(view: View) -> Ints:
    """Work whose launch is known, by launch."""
    begin = launches_of(view).begin
    work = np.flatnonzero((view.bits > 0) & (begin != NEVER))
    return work[np.argsort(begin[work], kind="stable")]


def _as_it_returned(view: View, rows: Ints, skew: int) -> Ints:
    """For each synchronization the last work that its thread had launched, if that ended as the call returned.

    Nothing is inferred in a trace that records what synchronizations waited for.
    """
    found = np.full(len(rows), -1, np.int64)
    if len(view.edges("synchronize")) or len(rows) == 0:
        return found
    launches, work = launches_of(view), _launched_in_order(view)
    for thread in np.unique(view.track[rows]).tolist():
        mine = np.flatnonzero(view.track[rows] == thread)
        theirs = work[launches.thread[work] == thread]
        place = np.searchsorted(launches.begin[theirs], view.start[rows[mine]], side="left") - 1
        mine, place = mine[place >= 0], place[place >= 0]
        found[mine] = theirs[place]
    found = np.where((found >= 0) & _ended_as(view, found, rows, skew), found, -1)
    earlier = _launched_before(view, rows, skew)
    return np.where((found < 0) & (earlier >= 0) & _ended_as(view, earlier, rows, skew), earlier, found)


def _ended_as(view: View, work: Ints, rows: Ints, skew: int) -> Bools:
    """Whether each work ended while its call ran, and that returned then."""
    ends, returned = view.end[work], view.end[rows]
    ended: Bools = (ends > view.start[rows]) & (ends <= returned + skew) & (returned - ends <= max(_NEAR, skew))
    return ended


def _launched_before(view: View, rows: Ints, skew: int) -> Ints:
    """For each call the last work that had ended as it returned and that was launched before the recording began.

    Such work has no launch in a trace that holds those of the others, and it comes before them.
    """
    found = np.full(len(rows), -1, np.int64)
    launched = _launched_in_order(view)
    if len(launched) == 0:
        return found
    work = np.flatnonzero((view.bits > 0) & (launches_of(view).begin == NEVER))
    work = work[view.start[work] < view.start[launched].min()]
    work = work[np.argsort(view.end[work], kind="stable")]
    place = np.searchsorted(view.end[work], view.end[rows] + skew, side="right") - 1
    return np.where(place >= 0, work[np.maximum(place, 0)], -1) if len(work) else found
