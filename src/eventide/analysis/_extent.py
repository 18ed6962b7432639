"""From when to when a program was traced: a profiler may be on long before, with nothing but its own start recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_FAR = 100_000_000  # ns: a shorter time in which nothing is recorded belongs to the program
_BINS = 64


@dataclass(frozen=True)
class Extent:
    """`outside` has the rows (of those given) that lie before `start` or after `end`."""

    start: int
    end: int
    outside: Ints


def cut_short(metadata: Mapping[str, Any]) -> str | None:
    """Why the file of a trace is not whole, if it was cut."""
    account = metadata.get("account") or {}
    lost = account.get("lost_bytes") or 0
    if lost:
        return f"{lost:,} bytes at its end could not be read"
    if missing := account.get("missing"):
        return ", ".join(f"{count:,} {what}" for what, count in missing.items()) + " are missing"
    torch = metadata.get("source") == "kineto"
    return "it has no closing brackets" if account.get("end") == "open" and torch else None


_OWN = re.compile(r"\$?profiler\.py:\d+ (start|stop)_trace$")  # JAX's profiler, which traces itself


def between_own_calls(
    names: Sequence[str], name: Ints, start: Ints, end: Ints, essential: Bools
) -> tuple[int, int] | None:
    """From when to when the profiler traced the program: after its own start, before its own stop.

    What is essential inside of these calls is the program's, and is kept. None: the trace has no such calls.
    """
    own = {number: match[1] for number, each in enumerate(names) if (match := _OWN.match(each))}
    if not own:
        return None
    low, high = int(start.min()), int(end.max())
    starts, stops = (np.isin(name, [number for number in own if own[number] == word]) for word in ("start", "stop"))
    begin = min(int(end[starts].max(initial=low)), int(start[essential].min(initial=high)))
    until = max(int(start[stops].min(initial=high)), int(end[essential].max(initial=low)))
    return (begin, until) if begin < until else None


def extent_of(start: Ints, end: Ints, essential: Bools) -> Extent:
    """The window of spans, without an end that holds nothing essential and that a time of over half of it separates."""
    low, high = int(start.min()), int(end.max())
    whole = Extent(low, high, np.empty(0, np.int64))
    if not essential.any() or high - low < 2 * _FAR or not _may_have_a_hole(start, end, low, high):
        return whole
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order])
    widths = start[order][1:] - reach[:-1]
    place = int(widths.argmax()) if len(widths) else 0
    if len(widths) == 0 or widths[place] * 2 <= high - low:
        return whole
    before, after = order[: place + 1], order[place + 1 :]
    if not essential[before].any():
        return Extent(int(start[after].min()), high, before)
    if not essential[after].any():
        return Extent(low, int(reach[place]), after)
    return whole


def _may_have_a_hole(start: Ints, end: Ints, low: int, high: int) -> bool:
    """Whether nearly half of the bins in a row are empty: found without sorting."""
    width = (high - low) // _BINS + 1
    first, last = (start - low) // width, (end - low) // width
    steps = np.bincount(first, minlength=_BINS + 2) - np.bincount(last + 1, minlength=_BINS + 2)[: _BINS + 2]
    used = np.flatnonzero(np.cumsum(steps)[: int((high - low) // width) + 1] > 0)
    return bool((np.diff(used) - 1).max(initial=0) >= _BINS // 2 - 2)
