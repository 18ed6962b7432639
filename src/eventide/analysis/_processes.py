"""The processes of one run, from the recording of each: how each ended, which were idle or not recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from statistics import median
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from eventide._util.internal_frames import is_own_frame
from eventide.analysis import _result as show
from eventide.analysis._samples import sweep_weights
from eventide.trace import Trace

_IDLE = 0.2  # a worker that ran less than this share of its lifetime
_EQUAL = 0.1  # of the usual time in collectives: smaller differences are ignored
_FEW = 20  # samples, of which a share says little
_BECOMES = "eventide/run/_exec.py"  # the script that becomes the program that was named to `eventide run`
_SERVER = "multiprocessing.forkserver"
_LIBRARY = ("/lib/python3", "-packages/", "<frozen")


@dataclass(frozen=True)
class Process:
    """One process. What is not known is None."""

    name: str
    pid: int
    parent: int | None
    kind: str  # main, fork, python; program: it was not recorded
    rank: int | None
    of_rank: int | None
    command: str
    file: str  # its recording; empty: it was not recorded
    start: int | None
    duration: int | None
    ran: float | None  # the share of the samples of its main thread at which it ran
    code: int | None  # exit code; negative: the signal that killed it
    running: bool  # it had not ended when its parent's recording did
    waited_at: str  # where its main thread waited most

    @property
    def recorded(self) -> bool:
        return bool(self.file)


@dataclass(frozen=True)
class Straggler:
    """The rank for which the others wait: it is the shortest in collectives, and they are the time it needs more."""

    rank: int
    behind: int  # how much less it was in collectives than the median of the ranks
    function: str  # that took the most more than in the other ranks; empty: samples do not show one
    more: int  # how much more


@dataclass(frozen=True, repr=False)
class Processes(show.Result):
    """In the order of their start; the program itself is first."""

    rows: tuple[Process, ...]
    straggler: Straggler | None = None

    _columns: ClassVar[Mapping[str, show.Cell]] = {
        "name": show.text,
        "pid": show.number,
        "duration": show.time,
        "ran": show.text,
        "code": show.text,
    }
    _row: ClassVar[type] = Process

    @property
    def unrecorded(self) -> tuple[Process, ...]:
        """Those of which only the lifetime is known."""
        return tuple(row for row in self.rows if not row.recorded)

    @property
    def idle(self) -> tuple[Process, ...]:
        """Children that waited most of their lifetime, the idlest first."""
        known = [row for row in self.rows[1:] if row.ran is not None and row.ran < _IDLE and _SERVER not in row.command]
        return tuple(sorted(known, key=lambda row: row.ran or 0.0))

    def _rows(self) -> tuple[Process, ...]:
        return self.rows

    def _heading(self) -> str:
        number = len(self.rows)
        return f"{number:,} {'process' if number == 1 else 'processes'}, {len(self.unrecorded)} not recorded"


def processes(
    recordings: Iterable[tuple[str, Trace]], others: Mapping[int, str] | None = None, code: int | None = None
) -> Processes:
    """From (file, trace) of each, the program's own first. `others`: files that are not opened, by pid.

    `code` is the exit code of the program, which has no parent here.
    """
    lives: dict[int, dict[str, Any]] = {}  # by pid: the last process with that id
    found: dict[int, Process] = {}
    ranks: list[_RankTimes] = []
    for file, trace in recordings:
        lives |= _lives(trace)
        one = _process(file, trace)
        if one.rank is not None:
            ranks.append(_rank_times(one.rank, trace, one.pid))
        found.setdefault(one.pid, one)
    rows = [
        _with_life(one, lives.pop(pid, {}), code if not number else None)
        for number, (pid, one) in enumerate(found.items())
    ]
    rows += [_of_life(pid, life, (others or {}).get(pid, "")) for pid, life in lives.items()]
    ordered = (*rows[:1], *sorted(rows[1:], key=lambda row: (row.start is None, row.start or 0)))
    return Processes(ordered, _straggler(ranks))


@dataclass(frozen=True)
class _RankTimes:
    rank: int
    communication: int  # ns in collectives
    functions: Counter[str]  # ns that the main thread ran, by function of the program


def _rank_times(rank: int, trace: Trace, pid: int) -> _RankTimes:
    spans, since = trace.spans, _start_of_work(trace)
    chosen = spans.filter(pc.and_(_of_category(spans, "communication"), pc.greater_equal(spans.column("start"), since)))
    total = pc.sum(chosen.column("duration")).as_py() or 0
    period = int((trace.metadata.get("run") or {}).get("sample_ns") or 0)
    main = _samples_of_main(trace, pid)
    weights = sweep_weights(main.column("time").to_numpy(), period)
    running = main.append_column("weight", pa.array(weights)).filter(
        pc.and_(pc.invert(_waited(main)), pc.greater_equal(main.column("time"), since))
    )
    functions: Counter[str] = Counter()
    for stack, weight in zip(running.column("stack").to_pylist(), running.column("weight").to_pylist(), strict=True):
        if stack is not None:
            functions[_own_function(trace.stacks.column("frames")[stack].as_py() or [])] += weight
    return _RankTimes(rank, total, functions)


def _start_of_work(trace: Trace) -> int:
    """When the first step began; without steps, when the first collective ended.

    In the collectives before that, ranks wait for those that started or imported later, which happens once.
    """
    spans = trace.spans
    if (first := pc.min(spans.filter(_of_category(spans, "step")).column("start")).as_py()) is not None:
        return int(first)
    collectives = spans.filter(_of_category(spans, "communication")).sort_by("start")
    if not collectives.num_rows:
        return 0
    return int(collectives.column("start")[0].as_py() + (collectives.column("duration")[0].as_py() or 0))


def _of_category(spans: pa.Table, category: str) -> pa.ChunkedArray:
    return pc.equal(pc.cast(spans.column("category"), "string"), category)


def _straggler(ranks: list[_RankTimes]) -> Straggler | None:
    """None if the ranks are about equally long in collectives: differences up to a tenth of the median are ignored."""
    if len(ranks) < 2:
        return None
    last = min(ranks, key=lambda one: one.communication)
    usual = int(median(one.communication for one in ranks))
    behind = usual - last.communication
    if behind <= usual * _EQUAL:
        return None
    others = [one for one in ranks if one is not last]
    more = {name: time - int(median(one.functions[name] for one in others)) for name, time in last.functions.items()}
    function = max(more, key=more.__getitem__, default="")
    if more.get(function, 0) <= 0:
        return Straggler(last.rank, behind, "", 0)
    return Straggler(last.rank, behind, function, more[function])


def _lives(trace: Trace) -> dict[int, dict[str, Any]]:
    """The child processes in a recording, by pid."""
    spans = trace.spans
    chosen = spans.filter(_of_category(spans, "process"))
    parent = trace.metadata.get("process", {}).get("pid")
    out: dict[int, dict[str, Any]] = {}
    for row in chosen.select(["name", "start", "duration", "args"]).to_pylist():
        about = json.loads(row["args"] or "{}")
        if isinstance(about.get("pid"), int):
            out[about["pid"]] = {
                **about,
                "name": row["name"],
                "start": row["start"],
                "duration": row["duration"],
                "parent": parent,
            }
    return out


def _process(file: str, trace: Trace) -> Process:
    about, program = trace.metadata.get("process", {}), trace.metadata.get("about", {})
    given = (trace.metadata.get("ended") or {}).get("name")
    kind = str(about.get("kind", "main"))
    rank = about.get("rank")
    words = [str(program.get("program", "")), *map(str, program.get("arguments", ()))]
    if words[0].endswith(_BECOMES):
        words = words[1:] or [""]
    name = f"rank {rank}" if rank is not None else given or _program(words[0], kind)
    ran, waited_at = _main_thread(trace, about.get("pid"))
    times = _extent(trace)
    return Process(
        name=name,
        pid=int(about.get("pid") or 0),
        parent=about.get("parent"),
        kind=kind,
        rank=rank,
        of_rank=about.get("of_rank"),
        command=" ".join(words),
        file=file,
        start=times[0] if times else None,
        duration=times[1] - times[0] if times else None,
        ran=ran,
        code=None,
        running=False,
        waited_at=waited_at,
    )


def _program(path: str, kind: str) -> str:
    program = PurePath(path).name
    name = f"python {program}" if program.startswith("-") else program or "python"
    return f"fork of {name}" if kind == "fork" else name


def _with_life(one: Process, life: Mapping[str, Any], code: int | None) -> Process:
    """What its parent has recorded about it is exact."""
    if not life:
        return Process(**{**one.__dict__, "code": code})
    command = life.get("command") or one.command
    if _SERVER in command:
        one = Process(**{**one.__dict__, "name": "forkserver"})
    known = {"start": life["start"], "duration": life["duration"], "code": life.get("code")}
    return Process(**{**one.__dict__, **known, "command": command, "running": bool(life.get("running"))})


def _of_life(pid: int, life: Mapping[str, Any], file: str) -> Process:
    return Process(
        name=str(life["name"]),
        pid=pid,
        parent=life["parent"],
        kind=str(life.get("started_by", "program")),
        rank=None,
        of_rank=None,
        command=str(life.get("command", "")),
        file=file,
        start=life["start"],
        duration=life["duration"],
        ran=None,
        code=life.get("code"),
        running=bool(life.get("running")),
        waited_at="",
    )


def _extent(trace: Trace) -> tuple[int, int] | None:
    """The first and the last time in a recording."""
    times = [trace.instants.column("time"), trace.spans.column("start"), trace.counters.column("time")]
    times.append(pc.add(trace.spans.column("start"), pc.fill_null(trace.spans.column("duration"), 0)))
    ends = [pc.min_max(column).as_py() for column in times if len(column)]
    return (min(one["min"] for one in ends), max(one["max"] for one in ends)) if ends else None


def _main_thread(trace: Trace, pid: object) -> tuple[float | None, str]:
    """The share of samples at which the main thread ran, and where it waited most."""
    chosen = _samples_of_main(trace, pid)
    if chosen.num_rows < _FEW:
        return None, ""
    waiting = _samples_of_main(trace, pid, waiting=True)
    stacks = Counter(stack for stack in waiting.column("stack").to_pylist() if stack is not None)
    where = Counter[str]()
    for stack, count in stacks.items():
        where[_place(trace.stacks.column("frames")[stack].as_py() or [])] += count
    return 1 - waiting.num_rows / chosen.num_rows, where.most_common(1)[0][0] if where else ""


def _samples_of_main(trace: Trace, pid: object, *, waiting: bool | None = None) -> pa.Table:
    """The samples of the main thread: all, or those at which it waited or ran."""
    tids = trace.tracks.column("tid").to_pylist()
    main = pa.array([row for row, tid in enumerate(tids) if tid is not None and tid == pid], pa.int32())
    instants = trace.instants
    sampled = pc.and_(
        pc.equal(pc.cast(instants.column("category"), "string"), "sample"),
        pc.is_in(instants.column("track"), value_set=main),
    )
    chosen = instants.filter(sampled)
    if waiting is None:
        return chosen
    return chosen.filter(_waited(chosen) if waiting else pc.invert(_waited(chosen)))


def _waited(samples: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.match_substring(samples.column("args"), '"waiting"'), False)


def _is_own(file: str) -> bool:
    """Whether it is of the program: not of a library, the interpreter, or this package."""
    return not any(part in file for part in _LIBRARY) and not is_own_frame(file)


def _own_function(frames: list[dict[str, Any]]) -> str:
    """The innermost function of the program, such as "augment (train.py)"."""
    own = next((one for one in frames if _is_own(one["file"])), None)
    return f"{own['function']} ({PurePath(own['file']).name})" if own is not None else "a library"


def _place(frames: list[dict[str, Any]]) -> str:
    """Such as "wait, called at train.py:31": the innermost function, and the innermost line of the program."""
    if not frames:
        return ""
    own = next((one for one in frames if _is_own(one["file"])), frames[0])
    line = f"{PurePath(own['file']).name}:{own['line']}"
    return f"{own['function']} ({line})" if own is frames[0] else f"{frames[0]['function']}, called at {line}"
