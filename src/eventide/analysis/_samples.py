"""Where the sampled Python stacks were: by function, by line and by thread, running and waiting.

A sample counts for the time since the previous sweep of the sampler over all threads. A thread that used less than a
tenth of that time waited: for input, a lock, a child, or the GIL. Where several threads used more, each ran for as long
as it used the processor, and waited for the rest: so threads that share the GIL together run no longer than the clock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from eventide._util import format as f
from eventide._util.internal_frames import is_own_frame
from eventide.analysis import _result as show
from eventide.analysis._view import Ints, View, integers, view_of
from eventide.trace import Trace

_WITHIN_A_SWEEP = 20_000  # ns between the samples of two threads; periods are longer
RUNPY = "<frozen runpy>"  # of `python -m`: the same frames for every module
Frame = tuple[str, str, int]  # function, file, line
_TRACK = "samples of "  # what the sampler puts before the name of a thread


@dataclass(frozen=True)
class SampleRow:
    """One function or line. Times are nanoseconds; `self` is with it innermost, `total` with it in the stack at all."""

    function: str
    file: str
    line: int  # of a function: where it was innermost most of the time; 0: never innermost
    self_running: int
    total_running: int
    self_waiting: int
    total_waiting: int

    @property
    def self_time(self) -> int:
        return self.self_running + self.self_waiting

    @property
    def total(self) -> int:
        return self.total_running + self.total_waiting


@dataclass(frozen=True)
class SampledThread:
    """One thread, by the name that Python gives it; `imports` is the part of both times in import statements."""

    thread: str
    samples: int
    running: int
    waiting: int
    imports: int


@dataclass(frozen=True)
class ImportRow:
    """What importing one module took, with what it imports itself."""

    module: str
    time: int


@dataclass(frozen=True, repr=False)
class Samples(show.Result):
    """Functions by self time; `functions` and `lines` hold the program's own time, `imports` that of its imports."""

    count: int
    stacks: int  # that differ
    wall: int  # from the first sweep to the last
    running: int  # of all threads
    waiting: int
    threads: tuple[SampledThread, ...]
    functions: tuple[SampleRow, ...]
    lines: tuple[SampleRow, ...]
    imports: tuple[ImportRow, ...]
    main_waits: tuple[SampleRow, ...]  # where the main thread waited, outside of imports: the innermost functions

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "function": show.text,
        "file": show.text,
        "line": show.number,
        "self_running": show.time,
        "self_waiting": show.time,
        "total_running": show.time,
        "total_waiting": show.time,
    }
    _row: ClassVar[type] = SampleRow

    def _rows(self) -> tuple[SampleRow, ...]:
        return self.functions

    def _heading(self) -> str:
        counts = f"{f.count(self.count, 'sample')} of {f.count(self.stacks, 'stack')}"
        return f"{counts}, {f.time(self.running)} running, {f.time(self.waiting)} waiting"

    @property
    def import_time(self) -> int:
        """Of all threads."""
        return sum(thread.imports for thread in self.threads)


@dataclass(frozen=True)
class SampledStack:
    """One stack of one thread, running or waiting, and its time. Frames are innermost first."""

    thread: str
    frames: tuple[Frame, ...]
    waiting: bool
    samples: int
    time: int

    @property
    def importing(self) -> bool:
        return any(is_import(file) for _, file, _ in self.frames)


def is_import(file: str) -> bool:
    """Whether a frame of this file is the interpreter's import statement."""
    return file.startswith("<frozen importlib")


def sampled_stacks(view: View) -> tuple[SampledStack, ...]:
    """Equal samples added up."""
    return view.remember("sampled stacks", lambda: tuple(_stacks(view)))


@dataclass(frozen=True)
class SampleTimes:
    """Each sample by itself, with the time that it counts for; `frames` are those of each stack, without our own."""

    track: Ints
    stack: Ints
    share: Ints  # the percentage of that time at which the thread ran; 0: it waited
    time: Ints
    weight: Ints
    pid: Ints
    frames: dict[int, tuple[Frame, ...]]


def sample_times(view: View) -> SampleTimes:
    """The samples of a trace, in the order of its rows."""
    return view.remember("sample times", lambda: _times(view))


def _times(view: View) -> SampleTimes:
    table = view.sample_rows
    time = integers(table.column("time"), 0)
    share = _shares_run(table.column("args")) if len(time) else np.zeros(0, np.int64)
    track, stack = integers(table.column("track")), integers(table.column("stack"))
    pid = np.array([*(each or 0 for each in view.track_pid), 0], np.int64)[track]
    weight = np.zeros(len(time), np.int64)
    period = int((view.trace.metadata.get("run") or {}).get("sample_ns") or 0)
    for each in np.unique(pid).tolist():  # every process has its own sampler
        weight[pid == each] = sweep_weights(time[pid == each], period)
    return SampleTimes(track, stack, share, time, weight, pid, _frames(view, np.unique(stack)))


def _stacks(view: View) -> list[SampledStack]:
    one = sample_times(view)
    if not len(one.time):
        return []
    ran = one.weight * one.share // 100
    key, place = np.unique(np.stack((one.track, one.stack)), axis=1, return_inverse=True)
    place = place.reshape(-1)
    sums, counts = np.zeros((2, key.shape[1]), np.int64), np.zeros((2, key.shape[1]), np.int64)
    for waiting, time_of, counted in ((0, ran, one.share > 0), (1, one.weight - ran, one.share == 0)):
        np.add.at(sums[waiting], place, time_of)
        np.add.at(counts[waiting], place, counted)
    names, frames = _thread_names(view, np.unique(one.pid).tolist()), one.frames
    return [
        SampledStack(
            names[t] if t >= 0 else "unknown", frames.get(s, ()), bool(w), int(counts[w, at]), int(sums[w, at])
        )
        for at, (t, s) in enumerate(key.T.tolist())
        if s not in frames or frames[s]  # else a thread of ours, or what we run at exit
        for w in (0, 1)
        if counts[w, at] or sums[w, at]
    ]


def _shares_run(args: pa.ChunkedArray) -> Ints:
    """Of each sample the percentage of its time at which the thread ran: 0 if it waited."""
    words = args.combine_chunks().dictionary_encode()
    shares = np.array([*map(_share_run, words.dictionary.to_pylist()), 100], np.int64)  # the last: without arguments
    return shares[integers(words.indices, len(shares) - 1)]


def _share_run(args: str) -> int:
    try:
        about = json.loads(args)
    except ValueError:
        return 100
    if not isinstance(about, dict):
        return 100
    ran = about.get("ran")
    return 0 if about.get("waiting") else min(max(ran, 1), 100) if isinstance(ran, int) else 100


def _thread_names(view: View, sampled: list[int]) -> list[str]:
    """By track: the names that Python gives, with the process where it is not the one that was run."""
    main = view.trace.metadata.get("pid")
    found = []
    for name, pid in zip(view.track_name, view.track_pid, strict=True):
        own = len(sampled) < 2 or pid == main
        process = "" if own else f" of {view.process_names.get(pid or 0, f'process {pid}')}"
        found.append((name or "").removeprefix(_TRACK) + process)
    return found


def sweep_weights(time: Ints, period: int) -> Ints:
    """Of each sample the time since the sweep before its own; the first counts for a period or the median.

    Samples of one sweep are microseconds apart; sweeps are at least the sampler's period apart.
    """
    order = np.argsort(time, kind="stable")
    sorted_time = time[order]
    gaps = np.diff(sorted_time)
    long = gaps[gaps > _WITHIN_A_SWEEP]
    if not len(long):
        return np.full(len(time), period, np.int64)
    least = period // 2 or max(_WITHIN_A_SWEEP, int(np.percentile(long, 10)) // 2)
    fresh = np.append(True, gaps > least)
    periods = np.diff(sorted_time[fresh])
    if not len(periods):
        return np.full(len(time), period, np.int64)
    since = np.append(period or int(np.median(periods)), periods)
    found = np.empty(len(time), np.int64)
    found[order] = since[np.cumsum(fresh) - 1]
    return found


def _frames(view: View, stacks: Ints) -> dict[int, tuple[Frame, ...]]:
    known = stacks[(stacks >= 0) & (stacks < view.trace.stacks.num_rows)]
    rows = view.trace.stacks.column("frames").take(pa.array(known)).to_pylist()
    return {
        number: _without_own(
            tuple((frame["function"] or "?", frame["file"] or "", frame["line"] or 0) for frame in frames or ())
        )
        for number, frames in zip(known.tolist(), rows, strict=True)
    }


def _without_own(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Without frames of this package: their time is that of the line that called them. Imports name theirs.

    None are left if the outermost is ours.
    """
    if frames and is_own_frame(frames[-1][1]):
        return ()
    if any(is_import(file) for _, file, _ in frames):
        return frames
    return tuple(frame for frame in frames if not is_own_frame(frame[1]))


class _Sums:
    """Running and waiting, self and total, by a key."""

    def __init__(self) -> None:
        self.times: dict[Any, list[int]] = {}

    def add(self, key: Any, kind: int, time: int) -> None:
        self.times.setdefault(key, [0, 0, 0, 0])[kind] += time


def samples(trace: Trace | View) -> Samples:
    """Add up the instants of category "sample" by the functions and lines of their stacks."""
    view = view_of(trace)
    stacks = sampled_stacks(view)
    functions, lines = _Sums(), _Sums()
    most: dict[tuple[str, str], dict[int, int]] = {}
    for each in stacks:
        if each.importing or not each.frames:
            continue
        kind = 2 * each.waiting
        function, file, line = each.frames[0]
        functions.add((function, file), kind, each.time)
        lines.add((function, file, line), kind, each.time)
        at = most.setdefault((function, file), {})
        at[line] = at.get(line, 0) + each.time
        for key in {(function, file) for function, file, _ in each.frames}:
            functions.add(key, kind + 1, each.time)
        for frame in set(each.frames):
            lines.add(frame, kind + 1, each.time)
    spent = {(*key, max(most[key], key=most[key].__getitem__) if key in most else 0): times
             for key, times in functions.times.items()}  # fmt: skip
    time = integers(view.sample_rows.column("time"), 0)
    return Samples(
        sum(each.samples for each in stacks),
        len({each.frames for each in stacks}),
        int(time.max() - time.min()) if len(time) else 0,
        sum(each.time for each in stacks if not each.waiting),
        sum(each.time for each in stacks if each.waiting),
        _threads(stacks),
        _sorted(spent),
        _sorted(lines.times),
        _imports(stacks),
        _waits_of_main(stacks),
    )


def _waits_of_main(stacks: tuple[SampledStack, ...]) -> tuple[SampleRow, ...]:
    sums = _Sums()
    for each in stacks:
        if each.thread == "MainThread" and each.waiting and each.frames and not each.importing:
            sums.add(each.frames[0], 2, each.time)
            sums.add(each.frames[0], 3, each.time)
    return _sorted(sums.times)


def _sorted(times: Mapping[tuple[str, str, int], list[int]]) -> tuple[SampleRow, ...]:
    """What ran first, by self time; what only waited after it."""
    rows = [SampleRow(*key, *each) for key, each in times.items()]
    rows.sort(key=lambda row: (-row.self_running, -row.self_waiting, -row.total, row.function, row.file, row.line))
    return tuple(rows)


def _threads(stacks: tuple[SampledStack, ...]) -> tuple[SampledThread, ...]:
    found: dict[str, list[int]] = {}
    for each in stacks:
        row = found.setdefault(each.thread, [0, 0, 0, 0])
        row[0] += each.samples
        row[1 + each.waiting] += each.time
        row[3] += each.time if each.importing else 0
    rows = [SampledThread(thread, *row) for thread, row in found.items()]
    return tuple(sorted(rows, key=lambda row: (-row.running, -row.waiting, row.thread)))


def _imports(stacks: tuple[SampledStack, ...]) -> tuple[ImportRow, ...]:
    """By the module that an import statement outside of other imports names."""
    found: dict[str, int] = {}
    for each in stacks:
        if each.importing:
            name = _outermost_module(each.frames)
            found[name] = found.get(name, 0) + each.time
    return tuple(ImportRow(name, time) for name, time in sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _outermost_module(frames: tuple[tuple[str, str, int], ...]) -> str:
    """The module whose body is the first one inside the outermost import; before it runs, no frame has its name."""
    inside = False
    for function, file, _ in reversed(frames):
        if is_import(file):
            inside = True
        elif inside and function == "<module>":
            return "eventide" if is_own_frame(file) else module_name(file)
    return "(finding and loading files)"


def module_name(file: str) -> str:
    """numpy.linalg of .../site-packages/numpy/linalg/__init__.py: the part of a path below a folder of modules."""
    parts = file.removesuffix(".py").split("/")
    for place in range(len(parts) - 1, 0, -1):
        if parts[place - 1] in {"site-packages", "dist-packages"} or parts[place - 1].startswith("python3."):
            parts = parts[place:]
            break
    else:
        parts = parts[-2:] if parts[-1] == "__init__" else parts[-1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
