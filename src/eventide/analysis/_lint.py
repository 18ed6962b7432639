"""What is odd about a trace as a recording: not what the program did, but what should make one doubt the file.

Each rule selects the rows that break it; what only the reader can detect is in the trace's account.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from eventide._util import format as f
from eventide.analysis import _result as show
from eventide.analysis._nesting import parents
from eventide.analysis._view import Bools, Ints, View, integers, view_of
from eventide.trace import Trace
from eventide.trace.formats.chrome import HARMLESS


def overlapping(rows: Ints, track: Ints, start: Ints, end: Ints) -> Ints:
    """Those of `rows`, which are by track, start and falling end, that end after a span in which they began.

    Tracks on which all spans nest, nearly all, are found with array operations; the others one by one.
    """
    long = end > start  # a point cuts into nothing
    rows, track, start, end = rows[long], track[long], start[long], end[long]
    found: list[int] = []
    cuts = np.flatnonzero(np.diff(track)) + 1
    for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(rows)], strict=True):
        here = slice(first, last)
        if last > first and parents(start[here], end[here]) is None:
            found += rows[here][_walk(start[here].tolist(), end[here].tolist())].tolist()
    return np.array(sorted(found), np.int64)


def _walk(start: list[int], end: list[int]) -> list[int]:
    found = []
    running: list[int] = []  # ends, ascending
    for index, (begins, ends) in enumerate(zip(start, end, strict=True)):
        del running[: bisect_right(running, begins)]
        if running and running[0] < ends:
            found.append(index)
        insort(running, ends)
    return found


_LAUNCHES = re.compile(r"Launch(Cooperative)?Kernel|GraphLaunch|(Memcpy|Memset)\w*Async|enqueueCommand mem|runFunction")
_CAPTURE = ("Begin", "End")  # cudaStreamBeginCapture, hipStreamEndCapture_v2
_UNKNOWN = np.iinfo(np.int64).min


@dataclass(frozen=True)
class LintFinding:
    """One rule that rows of the trace break."""

    rule: str
    count: int
    checked: int | None  # rows that the rule checked; None where only the reader counts
    example: str  # the first of them
    meaning: str  # why it matters, and what helps


@dataclass(frozen=True, repr=False)
class Lint(show.Result):
    """`rules` are all that were applied, also those that found nothing."""

    findings: tuple[LintFinding, ...]
    rules: tuple[str, ...]

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "rule": show.text,
        "count": show.number,
        "checked": show.number,
        "example": show.text,
    }
    _row: ClassVar[type] = LintFinding

    def _rows(self) -> tuple[LintFinding, ...]:
        return self.findings

    def _heading(self) -> str:
        return f"{f.count(len(self.findings), 'finding')} of {f.count(len(self.rules), 'rule')}"


def lint(trace: Trace | View) -> Lint:
    """Every rule over the trace; findings in the order of the rules, then the problems that the reader found."""
    view = view_of(trace)
    found = []
    for rule, (check, meaning) in RULES.items():
        rows, checked, describe = check(view)
        if len(rows):
            found.append(LintFinding(rule, len(rows), checked, (describe or _span)(view, int(rows[0])), meaning))
    return Lint((*found, *_from_reader(view)), (*RULES, *READER_RULES))


Picked = tuple[Ints, int, Callable[[View, int], str] | None]


def _span(view: View, row: int) -> str:
    """`gemm` on stream 7, 1,203 ns after the start of the trace."""
    after = int(view.start[row]) - int(view.start.min())
    where = view.track_name[int(view.track[row])] or f"track {int(view.track[row])}"
    name = view.word(row)
    return f"{name[:60] + ('...' if len(name) > 60 else '')!r} on {where}, {after:,} ns after the first span began"


def _not_nested(view: View) -> Picked:
    on_tracks = view.on_kind("thread") | view.on_kind("stream") | view.on_kind("other")
    rows = np.flatnonzero(on_tracks & ~view.in_categories("step"))  # a step ends wherever the program says so
    order = rows[np.lexsort((-view.end[rows], view.start[rows], view.track[rows]))]
    return overlapping(order, view.track[order], view.start[order], view.end[order]), len(rows), None


def _without_launch(view: View) -> Picked:
    work = np.flatnonzero(view.bits)
    return work[view.submit[work] == _UNKNOWN], len(work), None


def _without_work(view: View) -> Picked:
    launching = np.array([bool(_LAUNCHES.search(name)) for name in view.names])
    calls = np.flatnonzero(view.in_categories("runtime") & launching[view.name] & ~view.on_kind("stream"))
    calls = calls[~captured(view, calls)]
    return calls[~np.isin(calls, view.edges("launch").from_span)], len(calls), None


def captured(view: View, calls: Ints) -> Bools:
    """Which calls are recorded into a graph, and launch nothing: those of a thread while it captures a stream."""
    found = np.zeros(len(calls), bool)
    for thread in np.unique(view.track[calls]).tolist():
        mine = np.flatnonzero(view.track[calls] == thread)
        opened, closed = captures(view, thread)
        at = view.start[calls[mine]]
        found[mine] = np.searchsorted(opened, at) > np.searchsorted(closed, at, side="right")
    return found


def captures(view: View, thread: int) -> tuple[Ints, Ints]:
    """When a thread captured streams, from call to call; one that does not end lasts until the trace does."""
    begins, ends = view.remember("capturing calls", lambda: _capturing_calls(view))
    opened, closed = (np.sort(view.start[some[view.track[some] == thread]]) for some in (begins, ends))
    place = np.searchsorted(closed, opened)
    return opened, np.append(closed, max(view.window[1], int(opened.max(initial=0))))[place]


def _capturing_calls(view: View) -> tuple[Ints, Ints]:
    names = (np.array([bool(re.search(f"{word}Capture", name)) for name in view.names]) for word in _CAPTURE)
    begins, ends = (np.flatnonzero(view.on_kind("thread") & mask[view.name]) for mask in names)
    return begins, ends


def _before_launch(view: View) -> Picked:
    work = np.flatnonzero((view.bits > 0) & (view.submit != _UNKNOWN))
    return work[view.start[work] < view.submit[work]], len(work), None


def _sync_too_early(view: View) -> Picked:
    edges = view.edges("synchronize")
    early = np.flatnonzero((edges.to_span >= 0) & (edges.from_time > edges.to_time))
    return edges.to_span[early], len(edges), None


def _duplicates(view: View) -> Picked:
    """Equal in everything, arguments included."""
    spans = view.trace.spans
    keys = (integers(spans.column("correlation"), _UNKNOWN), view.end, view.start, view.name, view.track)
    order = np.lexsort(keys)
    same = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    first, second = order[:-1][same], order[1:][same]
    args = spans.column("args")
    pairs = zip(args.take(first).to_pylist(), args.take(second).to_pylist(), strict=True)
    return np.sort(second[np.array([a == b for a, b in pairs], bool)]), view.count, None


def _unfinished(view: View) -> Picked:
    return np.flatnonzero(view.unfinished), view.count, None


def _empty_stacks(view: View) -> Picked:
    lengths = pc.fill_null(pc.list_value_length(view.trace.stacks.column("frames")), 0).to_numpy()
    named = np.flatnonzero(view.stack >= 0)
    empty = named[lengths[view.stack[named]] == 0]
    args = view.trace.spans.column("args")
    said = pc.fill_null(pc.match_substring_regex(args, r'"Call stack": ?""'), False).to_numpy()
    rows = np.union1d(empty, np.flatnonzero(said))
    return rows, view.count, None


RULES: dict[str, tuple[Callable[[View], Picked], str]] = {
    "slices that do not nest": (
        _not_nested,
        "They begin inside a slice of their track and end after it. Viewers drop or misplace such slices.",
    ),
    "device work without a launch": (
        _without_launch,
        "Nothing says when the host asked for it: its delay has no cause. Record the host too, from before the launch.",
    ),
    "launches without device work": (
        _without_work,
        "The recording stopped first, lost records, or has no device activities. A copy of nothing is one as well.",
    ),
    "work that starts before its launch": (
        _before_launch,
        "The clocks of host and device disagree by at least this much: do not trust smaller differences.",
    ),
    "synchronizations that end before the work they waited for": (
        _sync_too_early,
        "The clocks of host and device disagree by at least this much: do not trust smaller differences.",
    ),
    "duplicates": (_duplicates, "The same span twice on one track: was a file merged with itself?"),
    "slices without an end": (_unfinished, "They were running when the recording stopped, or their end was lost."),
    "empty stacks": (_empty_stacks, "Stacks were requested and are missing; record with with_stack=True."),
}
READER_RULES = (
    "truncated",
    "rows missing",
    "recording not closed",
    "records dropped",
    "flows that point nowhere",
    "events left out",
    "texts repaired",
)


def _from_reader(view: View) -> Iterator[LintFinding]:
    """What the reader counted, and the warnings that go with it."""
    account: dict[str, Any] = view.trace.metadata.get("account", {})
    warnings = [str(text) for text in view.trace.metadata.get("warnings", ())]
    lost = account.get("lost_bytes", 0)
    if lost:
        example = next((text for text in warnings if "bytes" in text), "")
        yield LintFinding("truncated", lost, account.get("bytes"), example, "Counted in bytes. What was there is gone.")
    missing = account.get("missing") or {}
    if missing:
        example = ", ".join(f"{count:,} {what}" for what, count in missing.items())
        yield LintFinding(
            "rows missing", sum(missing.values()), None, example, "The file was cut; they were behind it."
        )
    yield from _losses(account, warnings)
    untied = account.get("untied", {})
    if untied:
        example = ", ".join(f"{count:,} {what}" for what, count in untied.items())
        meaning = "Arrows and waits whose other end is not in the file; Kineto writes many ends without a start."
        yield LintFinding("flows that point nowhere", sum(untied.values()), None, example, meaning)
    ignored = {what: count for what, count in account.get("ignored", {}).items() if what not in HARMLESS}
    if ignored:
        example = ", ".join(f"{count:,} {what}" for what, count in ignored.items())
        yield LintFinding(
            "events left out", sum(ignored.values()), account.get("events"), example, "They have no place in a trace."
        )
    if account.get("repaired"):
        meaning = "The writer of this file does not write JSON; names may differ from what the program said."
        example = next((text for text in warnings if "repaired" in text), "")
        yield LintFinding("texts repaired", account["repaired"], None, example, meaning)


def _losses(account: dict[str, Any], warnings: list[str]) -> Iterator[LintFinding]:
    """What our own recorder reports as lost."""
    if account.get("closed") is False:
        example = next((text for text in warnings if "not closed" in text), "")
        meaning = "The process was killed, is still running, or the file was truncated. Try eventide trace recover."
        yield LintFinding("recording not closed", 1, None, example, meaning)
    dropped = {what: count for what, count in account.get("dropped", {}).items() if count}
    if dropped:
        example = ", ".join(f"{count:,} {what}" for what, count in dropped.items())
        meaning = "The buffer was full, or a ring kept only the newest. Counts and sums are too small."
        yield LintFinding("records dropped", sum(dropped.values()), None, example, meaning)
