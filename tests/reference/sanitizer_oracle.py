"""The verdict of a small stream program by trying every timing.

A step has a moment on its host thread (H) and, if it is queued on a stream, one on the device (X). Each moment has
conditions: all of (any of (moments)). From the start every state that some timing can reach is visited; a path through
the states is one linear extension. What is complete in every state in which a moment is complete comes before it.
Nothing here is shared with the engine: no clocks, no shadow, no binding of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

Op = dict[str, Any]
Moment = tuple[str, int]
Needs = dict[Moment, list[list[Moment]]]  # of each moment: all of (any of)
Touched = tuple[int, str, str, int, int, bool]
QUEUED = {"work", "record", "wait", "wait_value", "signal_value", "collective"}
SYNCS = {"synchronize_event", "synchronize_stream", "synchronize_device"}
# They touch nothing and nothing is ordered by them: when they are done does not matter.
UNORDERED = {"host_wait", "create_event", "delete_event", "allocate", "record_stream"}


def queued(op: Op) -> bool:
    return op["op"] in QUEUED or (op["op"] == "free" and "stream" in op)


def one_name_an_event(ops: list[Op]) -> list[Op]:
    """Each event that is created has a name of its own, and so has what a name means after a deletion."""
    lives: dict[Any, int] = {}
    out = []
    for i, op in enumerate(ops):
        if op["op"] == "create_event":
            lives[op["event"]] = i + 1
        out.append(op | {"event": (op["event"], lives.get(op["event"], 0))} if "event" in op else op)
        if op["op"] == "delete_event":
            lives[op["event"]] = i + 1
    return out


def without_idle_waits(ops: list[Op]) -> list[Op]:
    """A wait for an event that was never recorded does nothing at all."""
    recorded: set[Any] = set()
    out = []
    for op in ops:
        if op["op"] == "record":
            recorded.add(op["event"])
        idle = op["op"] in {"wait", "synchronize_event"} and op["event"] not in recorded
        out.append({"op": "nothing", "thread": op.get("thread", 0)} if idle else op)
    return out


def on(op: Op) -> Any:
    return op.get("rank_stream", op.get("stream"))


def conditions(ops: list[Op], blocks: list[Any]) -> dict[Moment, list[list[Moment]]]:
    """For each moment what must be complete before: all of (any of)."""
    out: dict[Moment, list[list[Moment]]] = {}
    for i, op in enumerate(ops):
        before = list(enumerate(ops[:i]))
        mine = [j for j, o in before if o.get("thread", 0) == op.get("thread", 0)]
        host: list[list[Moment]] = [[("H", j)] for j in mine[-1:]]
        host += [[("X", j)] for j in _synchronized(op, before)]
        if op["op"] == "host_wait":
            host += [[("H", j)] for j, o in before if o["op"] == "host_signal" and o["token"] == op["token"]]
        out["H", i] = host
        if queued(op):
            out["X", i] = [[("H", i)], *_device(i, op, ops, blocks)]
    return out


def _synchronized(op: Op, before: list[tuple[int, Op]]) -> list[int]:
    if op["op"] == "synchronize_event":
        return [j for j, o in before if o["op"] == "record" and o["event"] == op["event"]][-1:]
    if op["op"] == "synchronize_stream":
        return [j for j, o in before if queued(o) and on(o) == op["stream"]]
    return [j for j, o in before if queued(o)] if op["op"] == "synchronize_device" else []


def _device(i: int, op: Op, ops: list[Op], blocks: list[Any]) -> list[list[Moment]]:
    before = list(enumerate(ops[:i]))
    out: list[list[Moment]] = [[("X", j)] for j, o in before if queued(o) and on(o) == on(op)]
    if on(op) == 0:
        out += [[("X", j)] for j, o in before if queued(o) and on(o) in blocks]
    elif on(op) in blocks:
        out += [[("X", j)] for j, o in before if queued(o) and on(o) == 0]
    if op["op"] == "wait":
        out += [[("X", j)] for j, o in before if o["op"] == "record" and o["event"] == op["event"]][-1:]
    elif op["op"] == "wait_value" and op["value"] > 0:
        enough = [j for j, o in enumerate(ops) if o["op"] == "signal_value" and o["semaphore"] == op["semaphore"]]
        out.append([("X", j) for j in enough if ops[j]["value"] >= op["value"]])
    elif op["op"] == "collective":
        out += _meeting(i, op, ops, blocks)
    return out


def _meeting(i: int, op: Op, ops: list[Op], blocks: list[Any]) -> list[list[Moment]]:
    """Every rank is at the same turn of this name: all before it there is complete, and it is submitted."""
    same = [(j, o) for j, o in enumerate(ops) if o["op"] == "collective" and o["name"] == op["name"]]
    turn = sum(on(o) == on(op) for j, o in same if j < i)
    out: list[list[Moment]] = []
    for rank in {on(o) for o in ops if o["op"] == "collective"} - {on(op)}:
        there = [j for j, o in same if on(o) == rank]
        if len(there) <= turn:
            out.append([])  # impossible
            continue
        j = there[turn]
        out.append([("H", j)])
        out += [[("X", k)] for k, o in enumerate(ops[:j]) if queued(o) and on(o) == rank]
        if rank == 0 or rank in blocks:
            others = [0] if rank in blocks else blocks
            out += [[("X", k)] for k, o in enumerate(ops[:j]) if queued(o) and on(o) in others]
    return out


class Timings:
    """All states that some timing reaches, as bit sets of moments, and what comes before what in all of them."""

    def __init__(self, ops: list[Op], blocks: list[Any], needs: Callable[..., Needs] = conditions) -> None:
        need = needs(ops, blocks)
        self.moments = list(need)
        bit = {moment: 1 << n for n, moment in enumerate(self.moments)}
        masks = [(bit[m], [sum(bit[x] for x in anyof) for anyof in need[m]]) for m in self.moments]
        seen = {0}
        todo = [0]
        always = dict.fromkeys(bit.values(), -1)
        self.end = 0
        while todo:
            state = todo.pop()
            self.end |= state
            for one, all_of in masks:
                if state & one:
                    always[one] &= state
                elif all(state & any_of for any_of in all_of) and state | one not in seen:
                    seen.add(state | one)
                    todo.append(state | one)
        self.complete = self.end == (1 << len(self.moments)) - 1
        self._bit, self._always = bit, always

    def before(self, a: Moment, b: Moment) -> bool:
        """Whether a is complete whenever b is."""
        return bool(self._always[self._bit[b]] & self._bit[a])

    def past(self, moment: Moment, of: list[Moment]) -> frozenset[Moment]:
        return frozenset(m for m in of if m != moment and self.before(m, moment))


WORDS = ("deadlock", "use-after-free", "race", "leak", "redundant-wait")  # the worst first


def verdict(program: dict[str, Any]) -> str:
    found = verdicts(program)
    return next((word for word in WORDS if word in found), "ok")


def verdicts(program: dict[str, Any]) -> set[str]:
    """All that is wrong with it. Of a program that hangs nothing else is said, nor of one with memory in use by two
    owners whether it has races as well.
    """
    given, blocks = one_name_an_event(program["ops"]), program.get("default_stream_blocks", [])
    ops = without_idle_waits(given)
    timings = Timings(ops, blocks)
    if not timings.complete:
        return {"deadlock"}
    found = conflicts(ops, timings)
    if "use-after-free" in found:
        found.discard("race")
    if any(op["op"] == "exit" for op in ops) and leaks(ops):
        found.add("leak")
    if ops != given or wasteful(ops, blocks):
        found.add("redundant-wait")
    return found


def leaks(ops: list[Op]) -> bool:
    left: set[tuple[str, Any]] = set()
    for op in ops:
        if op["op"] in {"allocate", "create_event"}:
            left.add(("buffer", op["buffer"]) if op["op"] == "allocate" else ("event", op["event"]))
        elif op["op"] in {"free", "delete_event"}:
            left.discard(("buffer", op["buffer"]) if op["op"] == "free" else ("event", op["event"]))
    return bool(left)


def lifetimes(ops: list[Op]) -> dict[int, list[Touched]]:
    """Accesses by step: (lifetime, address, buffer, from, to, write); a lifetime is the step that allocated, or -1."""
    born: dict[str, int] = {}
    address: dict[str, str] = {}
    out: dict[int, list[Touched]] = {}
    for i, op in enumerate(ops):
        if op["op"] == "allocate":
            born[op["buffer"]] = i
            address[op["buffer"]] = _address(op["reuses"], address) if "reuses" in op else f"{op['buffer']} of {i}"
        out[i] = [
            (born.get(a["buffer"], -1), address.get(a["buffer"], a["buffer"]), a["buffer"], a["from"], a["to"], write)
            for key, write in (("reads", False), ("writes", True))
            for a in op.get(key, [])
            if a["from"] < a["to"]
        ]
    return out


def _address(buffer: str, known: dict[str, str]) -> str:
    return known.get(buffer, buffer)


def conflicts(ops: list[Op], timings: Timings) -> set[str]:
    touched = lifetimes(ops)
    frees = _frees(ops)
    moment = {i: ("X" if queued(op) else "H", i) for i, op in enumerate(ops)}
    found = set()
    for i, j in combinations(range(len(ops)), 2):
        if timings.before(moment[i], moment[j]):
            continue
        for a in touched[i]:
            for b in touched[j]:
                if _meet(a, b) and a[0] == b[0]:
                    found |= set() if timings.before(moment[j], moment[i]) else {"race"}
                elif _meet(a, b) and not _held(i, a, ops, frees, timings):
                    found.add("use-after-free")  # also if the new owner is sure to come before the old one's use
    for (buffer, life), first, *more in frees:
        if more:
            found.add("use-after-free")  # freed twice
        for i, accesses in touched.items():
            for a in accesses:
                if (
                    a[0] == life
                    and a[2] == buffer
                    and (
                        i > first or not (timings.before(moment[i], moment[first]) or _held(i, a, ops, frees, timings))
                    )
                ):
                    found.add("use-after-free")
    return found


def _meet(a: Touched, b: Touched) -> bool:
    """The same bytes, and one of them writes."""
    return a[1] == b[1] and max(a[3], b[3]) < min(a[4], b[4]) and (a[5] or b[5])


def _frees(ops: list[Op]) -> list[tuple[Any, ...]]:
    """((buffer, lifetime), step of the free, steps of further frees...)"""
    born: dict[str, int] = {}
    out: dict[tuple[str, int], list[int]] = {}
    for i, op in enumerate(ops):
        if op["op"] == "allocate":
            born[op["buffer"]] = i
        elif op["op"] == "free":
            out.setdefault((op["buffer"], born.get(op["buffer"], -1)), []).append(i)
    return [(key, *steps) for key, steps in out.items()]


def _held(i: int, access: Touched, ops: list[Op], frees: list[tuple[Any, ...]], timings: Timings) -> bool:
    """record_stream keeps the memory until what was queued there up to the free is complete, and all before."""
    life, _, buffer, *_ = access
    end = next((steps[0] for (name, born), *steps in frees if (name, born) == (buffer, life)), None)
    if end is None or i > end:
        return False
    moment: Moment = ("X" if queued(ops[i]) else "H", i)
    return any(timings.before(moment, last) for last in _holders(ops, buffer, life, end))


def _holders(ops: list[Op], buffer: str, life: int, end: int) -> list[Moment]:
    """The last step, up to the free, of each stream that record_stream gave the memory to."""
    streams = [op["stream"] for op in ops[life + 1 : end] if op["op"] == "record_stream" and op["buffer"] == buffer]
    there = [[k for k, o in enumerate(ops[:end]) if queued(o) and on(o) == stream] for stream in streams]
    return [("X", steps[-1]) for steps in there if steps]


def wasteful(ops: list[Op], blocks: list[Any]) -> bool:
    """Some wait or synchronization can go without a change of any order."""
    return any(op["op"] in {"wait", "wait_value"} | SYNCS and redundant(ops, i, blocks) for i, op in enumerate(ops))


def redundant(ops: list[Op], i: int, blocks: list[Any]) -> bool:
    """Removing step i leaves the past of everything that is done, or that might come next, as it was."""
    thread = ops[i].get("thread", 0)
    threads = sorted({o.get("thread", 0) for o in ops})
    rest = [op for op in ops if op["op"] != "exit"]
    i -= sum(op["op"] == "exit" for op in ops[:i])
    after = [{"op": "next", "thread": t} for t in threads]
    if queued(ops[i]):
        after.insert(0, {"op": "record", "event": object(), "stream": ops[i]["stream"], "thread": thread})
    full = [*rest, *after]
    less = [*full[:i], {"op": "nothing", "thread": thread}, *full[i + 1 :]]
    counts = {"work", "host", "signal_value", "collective"}
    sources = [("X" if queued(o) else "H", k) for k, o in enumerate(full) if o["op"] in counts]
    one, other = Timings(full, blocks), Timings(less, blocks)
    for moment in other.moments:
        op = full[moment[1]]
        passing = op["op"] in SYNCS | UNORDERED or (moment[0] == "X" and op["op"] in {"wait", "wait_value"})
        if moment[1] != i and not passing and one.past(moment, sources) != other.past(moment, sources):
            return False
    return _kept(full, one, sources) == _kept(less, other, sources)


def _kept(ops: list[Op], timings: Timings, sources: list[Moment]) -> list[set[Moment]]:
    """Of each free: what is complete before the memory is taken again, by order or because it is held."""
    out = []
    for (buffer, life), end, *_ in _frees(ops):
        ends = [("X" if queued(ops[end]) else "H", end), *_holders(ops, buffer, life, end)]
        out.append({m for m in sources if any(timings.before(m, last) for last in ends)})
    return out
