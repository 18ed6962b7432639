"""The answers in plain Python, tick by tick: what src/eventide/analysis does with arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

KINDS = {"kernel": "compute", "work": "compute", "backend": "compute", "communication": "communication", "copy": "copy"}
WAIT_CALL = re.compile("StreamWaitEvent|waitOnEvent|WaitValue|GraphLaunch", re.IGNORECASE)


@dataclass
class Span:
    row: int
    track: int
    name: str
    start: int
    end: int
    category: str


@dataclass
class Model:
    """A trace as lists. `streams` and `threads` are tracks; edges are (source row, target row)."""

    spans: list[Span]
    threads: list[int]
    streams: list[int]
    launch: dict[int, int]  # work -> call
    waits: dict[int, list[int]]  # work -> works it waited for
    synced: dict[int, list[int]]  # sync -> works
    work: list[Span] = field(init=False)
    host: list[Span] = field(init=False)

    def __post_init__(self) -> None:
        self.work = [s for s in self.spans if s.track in self.streams and s.category in KINDS]
        self.host = [s for s in self.spans if s.track in self.threads and s.category not in {"step", "other"}]

    @property
    def window(self) -> tuple[int, int]:
        seen = self.work + self.host
        return min(s.start for s in seen), max(s.end for s in seen)

    def innermost(self, threads: list[int], tick: int) -> Span | None:
        """Who has the tick [tick, tick + 1): of those running the one that started last, and of those the shortest."""
        running = [s for s in self.host if s.track in threads and s.start <= tick < s.end]
        return max(running, key=lambda s: (s.start, -s.end, s.row), default=None)


def model_of(tracks: list[dict[str, Any]], spans: list[dict[str, Any]], edges: list[dict[str, Any]]) -> Model:
    """From the rows of a tests.trace_builder.Builder."""
    rows = [
        Span(row, s["track"], s["name"], s["start"], s["start"] + s["duration"], s["category"])
        for row, s in enumerate(spans)
    ]
    threads = [row for row, track in enumerate(tracks) if track["kind"] == "thread"]
    streams = [row for row, track in enumerate(tracks) if track["kind"] == "stream"]
    streams.sort(key=lambda row: tracks[row]["stream"])
    launch = {e["to_span"]: e["from_span"] for e in edges if e["kind"] == "launch"}
    grouped: dict[str, dict[int, list[int]]] = {"wait": {}, "synchronize": {}}
    for edge in edges:
        if edge["kind"] in grouped:
            grouped[edge["kind"]].setdefault(edge["to_span"], []).append(edge["from_span"])
    return Model(rows, threads, streams, launch, grouped["wait"], grouped["synchronize"])


def breakdown(model: Model) -> dict[str, int]:
    """How many ticks of the one device had each set of kinds running; "" is idle."""
    found: dict[str, int] = {}
    for tick in range(*model.window):
        running = {KINDS[s.category] for s in model.work if s.start <= tick < s.end}
        key = " + ".join(kind for kind in ("compute", "communication", "copy") if kind in running)
        found[key] = found.get(key, 0) + 1
    return found


def self_times(model: Model) -> dict[int, int]:
    """Ticks that each host span has to itself."""
    found = {s.row: 0 for s in model.host}
    for thread in model.threads:
        for tick in range(*model.window):
            owner = model.innermost([thread], tick)
            if owner is not None:
                found[owner.row] += 1
    return found


def totals(model: Model) -> dict[tuple[str, str], int]:
    """For each name and category, the ticks of each thread in which at least one such host span ran."""
    found: dict[tuple[str, str], int] = {(s.name, s.category): 0 for s in model.host}
    for name, category in found:
        mine = [s for s in model.host if (s.name, s.category) == (name, category)]
        for thread in model.threads:
            ticks = {tick for s in mine if s.track == thread for tick in range(s.start, s.end)}
            found[name, category] += len(ticks)
    return found


def idle(model: Model, streams: list[int]) -> dict[str, int]:
    """Ticks in which these streams ran nothing, by cause."""
    found: dict[str, int] = {}
    begin, end = model.window
    work = sorted((s for s in model.work if s.track in streams), key=lambda s: (s.start, s.end, s.row))
    tick = begin
    while tick < end:
        if any(s.start <= tick < s.end for s in work):
            tick += 1
            continue
        stop = min([s.start for s in work if s.start >= tick and s.end > s.start], default=end)
        stop = min([stop, *(s.start for s in work if s.start > tick)])
        following = next((s for s in _by_stream(model, work) if s.start == stop), None) if stop < end or work else None
        if following is None or all(s.start < tick for s in work):
            causes = ["queue empty"] * (end - tick)
            stop = end
        else:
            causes = _causes(model, following, tick, stop)
        for cause in causes:
            found[cause] = found.get(cause, 0) + 1
        tick = stop
    return found


def _by_stream(model: Model, work: list[Span]) -> list[Span]:
    """The order in which equal starts are taken: the stream's track, then the end."""
    return sorted(work, key=lambda s: (s.start, model.streams.index(s.track), s.end, s.row))


def _causes(model: Model, work: Span, low: int, high: int) -> list[str]:
    """The cause of each tick of the gap [low, high) before `work`."""
    if work.row not in model.launch:
        return ["unknown"] * (high - low)
    call = model.spans[model.launch[work.row]]
    waited = max((model.spans[row].end for row in model.waits.get(work.row, [])), default=None)
    by_event = waited is not None and waited > call.start and min(waited, high) > low
    first = low == model.window[0]  # earlier work may have run, and is not in the trace
    rest = "unknown" if first or may_hide_a_wait(model, work) else "queued"
    dark = [s for s in _blocking(model) if s.track == call.track and blocking(model)[s.row] is None] if first else []
    skew = skew_of(model)
    dry = any(s.start <= low < s.end + skew for s in _blocking(model) if s.track == call.track)
    causes = []
    for tick in range(low, high):
        if by_event and waited is not None and tick < waited:
            causes.append("stream wait")
        elif not by_event and tick < call.start:
            cause = _host_cause(model, call.track, tick, dry)
            unseen = cause == "synchronization" and any(s.start <= tick < s.end for s in dark)
            causes.append("unknown" if unseen else cause)
        elif tick < call.end:
            causes.append("launch")
        else:
            causes.append(rest)
    return causes


def _host_cause(model: Model, thread: int, tick: int, dry: bool) -> str:
    here = [s for s in model.host if s.track == thread and s.start <= tick < s.end]
    if any(s.category == "compile" for s in here):
        return "compile"
    if any(s.category == "runtime" and "malloc" in s.name.lower() for s in here):
        return "allocator"
    blocked = any(s in _blocking(model) for s in here)
    return "synchronization" if dry or blocked else "host late"


def _blocking(model: Model) -> list[Span]:
    return [model.spans[row] for row in blocking(model)]


def blocking(model: Model) -> dict[int, int | None]:
    """The calls that blocked, and what each waited for last, by row; the traces here have one device."""
    recorded = {s.row: _recorded(model, s) for s in model.host if s.category == "sync"}
    copies, skew = _copies(model), skew_of(model)
    found: dict[int, int | None] = {}
    for sync, source in recorded.items():
        end = model.spans[sync].end + skew
        kept = source is not None and (sync in model.synced or model.spans[source].end <= end)
        found[sync] = source if kept else _as_it_returned(model, model.spans[sync], skew)
    waited = {call: copy for call, copy in copies.items() if model.spans[copy].end <= model.spans[call].end + skew}
    return {**found, **waited}


def _recorded(model: Model, sync: Span) -> int | None:
    if sync.row in model.synced:
        return max(reversed(model.synced[sync.row]), key=lambda row: model.spans[row].end)
    if "DeviceSynchronize" not in sync.name:
        return None
    before = [s for s in model.work if s.row in model.launch and _asked(model, s) < sync.start]
    return max(before, key=lambda s: (s.end, _asked(model, s), s.row)).row if before else None


def _asked(model: Model, work: Span) -> int:
    return model.spans[model.launch[work.row]].start


def _copies(model: Model) -> dict[int, int]:
    """Calls that were in a copy of the host's memory as they returned."""
    found = {}
    for work in model.work:
        call = model.spans[model.launch[work.row]] if work.row in model.launch else None
        if call is None or work.category != "copy" or "Memcpy" not in call.name or work.start >= call.end:
            continue
        if "Device -> Device" not in work.name and ("Async" not in call.name or "Pinned" not in work.name):
            found[call.row] = work.row
    return found


def _surely_waits(model: Model, call: int, copy: int) -> bool:
    return "Async" not in model.spans[call].name or "Pageable" in model.spans[copy].name


def skew_of(model: Model) -> int:
    """How long after the return of a call the work that it waited for ends, at most."""
    recorded = {s.row: one for s in model.host if s.category == "sync" and (one := _recorded(model, s)) is not None}
    sure = {call: copy for call, copy in _copies(model).items() if _surely_waits(model, call, copy)}
    awaited, found = {**recorded, **sure}, 0
    for call, source in ((model.spans[call], model.spans[source]) for call, source in awaited.items()):
        late = source.end - call.end
        if source.start < call.end and late <= call.end - call.start:
            found = max(found, late)
    return found


def _as_it_returned(model: Model, sync: Span, skew: int) -> int | None:
    """All times of these traces are near each other."""
    mine = [s for s in model.work if s.row in model.launch and model.spans[model.launch[s.row]].track == sync.track]
    before = [s for s in mine if _asked(model, s) < sync.start]
    if model.synced:
        return None
    last = max(before, key=lambda s: (_asked(model, s), s.row), default=None)
    if last is not None and sync.start < last.end <= sync.end + skew:
        return last.row
    return _launched_before(model, sync, skew)


def _launched_before(model: Model, sync: Span, skew: int) -> int | None:
    """The last work that had ended as a call returned and that was launched before the recording began."""
    first = min((s.start for s in model.work if s.row in model.launch), default=0)
    earlier = [s for s in model.work if s.row not in model.launch and s.start < first and s.end <= sync.end + skew]
    last = max(earlier, key=lambda s: (s.end, s.row), default=None)
    return last.row if last is not None and sync.start < last.end else None


def may_hide_a_wait(model: Model, work: Span) -> bool:
    if model.waits:
        return False
    launching = set(model.launch.values())
    if not any(s.category in {"runtime", "sync"} and s.row not in launching for s in model.host):
        return True
    calls = [s.start for s in model.host if WAIT_CALL.search(s.name)]
    if work.row not in model.launch:
        return True
    mine = sorted((s for s in model.work if s.track == work.track), key=lambda s: (s.start, s.end, s.row))
    before = mine[mine.index(work) - 1] if mine.index(work) else None
    since = None
    if before is not None and before.row in model.launch:
        since = model.spans[model.launch[before.row]].start
    until = model.spans[model.launch[work.row]].start
    return any((since is None or since <= at) and at <= until for at in calls)
