"""A stream program as data: a list of steps in submission order, read strictly and given addresses.

Such as ``{"ops": [{"op": "record", "event": "e", "stream": 1}, ...]}``; docs/sanitizer.md has the format.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eventide.errors import UsageTypeError, UsageValueError

Stream = int | str
Range = tuple[int, int]  # address, bytes

# What each step needs; everything may have `thread` (0), `name`, and keys that begin with "x-" or "_" for notes.
NEEDS: dict[str, tuple[str, ...]] = {
    "work": ("stream",),
    "host": (),
    "record": ("event", "stream"),
    "wait": ("event", "stream"),
    "synchronize_event": ("event",),
    "synchronize_stream": ("stream",),
    "synchronize_device": (),
    "allocate": ("buffer",),
    "free": ("buffer",),
    "record_stream": ("buffer", "stream"),
    "create_event": ("event",),
    "delete_event": ("event",),
    "wait_value": ("semaphore", "value", "stream"),
    "signal_value": ("semaphore", "value", "stream"),
    "collective": ("name", "rank_stream"),
    "host_signal": ("token",),
    "host_wait": ("token",),
    "exit": (),
}
MAY: dict[str, tuple[str, ...]] = {
    "work": ("reads", "writes"),
    "host": ("reads", "writes"),
    "allocate": ("stream", "reuses", "bytes"),
    "free": ("stream",),
    "collective": ("group",),
}
ALIASES = {"destroy_event": "delete_event"}
ON_A_STREAM = {"work", "record", "wait", "wait_value", "signal_value", "collective"}  # and free, if it names one


@dataclass(slots=True)
class Step:
    """One step; `number` counts from 1 and is its work id and its place."""

    number: int
    op: str
    thread: int = 0
    stream: Stream | None = None
    name: str = ""
    event: str | int = ""
    life: int = 0  # which event of that name: the number of the step that created it or deleted the one before; 0: none
    version: int = 0  # of that event: recorded here, or bound to; 0: it was never recorded
    buffer: str = ""
    address: int = 0
    reads: list[Range] = field(default_factory=list)
    writes: list[Range] = field(default_factory=list)
    semaphore: str | int = ""
    value: int = 0
    token: str | int = ""
    group: str = ""

    @property
    def queued(self) -> bool:
        """It runs when its stream reaches it, not when the thread does."""
        if self.op == "wait":
            return self.version > 0  # else it does nothing
        return self.op in ON_A_STREAM or (self.op == "free" and self.stream is not None)


@dataclass(slots=True)
class Program:
    steps: list[Step]
    blocks: list[Stream]  # streams that stream 0 orders itself against
    sizes: dict[int, int]  # bytes by base address
    names: dict[int, str]  # of the buffer by base address
    outside: dict[int, str]  # buffers by address that are freed here, but were there before the first step
    ghosts: dict[int, int]  # addresses that are freed all the time, and the number of the free

    def buffer_at(self, address: int) -> int:
        """The base address: every buffer has a region of its own."""
        return address & ~(REGION - 1)


REGION = 1 << 40  # bytes apart; larger than any range


def parse(program: Mapping[str, Any]) -> Program:
    """Read and check a program; an invalid one raises a UsageError that names the step."""
    if not isinstance(program, Mapping):
        raise UsageTypeError(f"a program is a dict with a list of steps under 'ops', not {type(program).__name__}")
    ops = program.get("ops")
    if not isinstance(ops, Sequence) or isinstance(ops, str | bytes):
        raise UsageValueError("a program has a list of steps under 'ops'; see docs/sanitizer.md for the format")
    blocks = program.get("default_stream_blocks", [])
    if not isinstance(blocks, Sequence) or isinstance(blocks, str):
        raise UsageValueError(f"'default_stream_blocks' lists streams, it is {blocks!r}")
    blocks = [_label("the program", "default_stream_blocks", stream) for stream in blocks]
    reader = _Reader()
    steps = [reader.step(number, op) for number, op in enumerate(ops, 1)]
    return Program(steps, [s for s in blocks if s != 0], reader.sizes, reader.names, reader.outside, reader.ghosts)


class _Reader:
    """Walks the steps in order, with the addresses of the live buffers."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.outside: dict[int, str] = {}
        self._at: dict[str, int] = {}  # address by buffer
        self._home: dict[str, int] = {}  # the same, also after another buffer has taken that address
        self._freed: dict[str, int] = {}  # number of the free by buffer
        self.ghosts: dict[int, int] = {}
        self._gone: dict[str, int] = {}  # ghost by buffer
        self._owner: dict[int, str] = {}  # buffer by address
        self._used: dict[str, int] = {}  # first use of buffers that were never allocated
        self._allocated: set[str] = set()
        self._lives: dict[str | int, int] = {}  # by name of the event
        self._versions: Counter[str | int] = Counter()  # of the event that has the name now
        self._left: int | None = None

    def step(self, number: int, op: Any) -> Step:
        where = f"step {number}"
        if not isinstance(op, Mapping):
            raise UsageTypeError(
                f"{where} must be a dict such as {{'op': 'record', 'event': 'e', 'stream': 1}}, not {op!r}"
            )
        kind = op.get("op")
        kind = ALIASES.get(kind, kind) if isinstance(kind, str) else None
        if kind not in NEEDS:
            raise UsageValueError(f"{where} has op {op.get('op')!r}; it must be one of {', '.join(NEEDS)}")
        where = f"step {number} ({kind})"
        self._check_keys(where, kind, op)
        if self._left is not None:
            raise UsageValueError(f"{where} comes after the exit in step {self._left}; exit is the last step")
        step = Step(number, kind, thread=_integer(where, "thread", op.get("thread", 0)))
        stream = op.get("rank_stream", op.get("stream"))
        if stream is not None:
            step.stream = _label(where, "stream", stream)
        step.name = str(op.get("name", ""))
        step.group = str(op.get("group", ""))
        for key in ("event", "semaphore", "token"):
            if key in op:
                setattr(step, key, _label(where, key, op[key]))
        self._of_event(step)
        if "value" in op:
            step.value = _integer(where, "value", op["value"])
        if kind == "exit":
            self._left = number
        self._memory(where, step, op)
        return step

    def _of_event(self, step: Step) -> None:
        """After a creation or deletion the name means another event, without a record."""
        if step.op == "create_event":
            self._begin(step)
        elif step.op == "record":
            self._versions[step.event] += 1
        step.life = self._lives.get(step.event, 0)
        step.version = self._versions[step.event]
        if step.op == "delete_event":
            self._begin(step)

    def _begin(self, step: Step) -> None:
        self._lives[step.event] = step.number
        del self._versions[step.event]

    @staticmethod
    def _check_keys(where: str, kind: str, op: Mapping[str, Any]) -> None:
        missing = [key for key in NEEDS[kind] if op.get(key) is None]
        if missing:
            raise UsageValueError(f"{where} needs {missing[0]!r}")
        known = {"op", "thread", "name", *NEEDS[kind], *MAY.get(kind, ())}
        unknown = [key for key in op if key not in known and not str(key).startswith(("_", "x-"))]
        if unknown:
            raise UsageValueError(f"{where} has no field {unknown[0]!r}; it has {', '.join(sorted(known - {'op'}))}")

    def _memory(self, where: str, step: Step, op: Mapping[str, Any]) -> None:
        if step.op == "allocate":
            self._allocate(where, step, op)
        elif step.op in {"free", "record_stream"}:
            step.buffer = str(_label(where, "buffer", op["buffer"]))
            step.address = self._address(step.buffer, step.number)
            if step.op == "free" and step.buffer not in self._freed:
                self._freed[step.buffer] = step.number
                if step.buffer not in self._allocated:
                    self.outside[step.address] = step.buffer
        else:
            step.reads = self._ranges(where, step, "reads", op)
            step.writes = self._ranges(where, step, "writes", op)

    def _allocate(self, where: str, step: Step, op: Mapping[str, Any]) -> None:
        buffer = step.buffer = str(_label(where, "buffer", op["buffer"]))
        if buffer in self._allocated and buffer not in self._freed:
            raise UsageValueError(f"{where} allocates {buffer!r}, which was not freed since it was allocated")
        if buffer in self._used and buffer not in self._freed:
            raise UsageValueError(f"{where} allocates {buffer!r}, which step {self._used[buffer]} has used already")
        old = op.get("reuses")
        if old is None:
            base = self._fresh(buffer)
        else:
            old = str(_label(where, "reuses", old))
            if old not in self._freed:
                raise UsageValueError(f"{where} reuses the address of {old!r}, which was not freed before")
            base = self._home[old]
            owner = self._owner[base]
            if owner not in self._freed:
                raise UsageValueError(
                    f"{where} reuses the address of {old!r}, which {owner!r} has now; free that first"
                )
        self._freed.pop(buffer, None)
        self._gone.pop(buffer, None)
        self._allocated.add(buffer)
        self._at[buffer] = self._home[buffer] = step.address = base
        self._owner[base] = buffer
        self.names[base] = buffer
        size = _integer(where, "bytes", op.get("bytes", 0))
        if not 0 <= size < REGION:
            raise UsageValueError(f"{where}: 'bytes' is {size}; it must be at least 0 and less than {REGION}")
        self._grow(base, size)

    def _fresh(self, buffer: str) -> int:
        base = (len(self.sizes) + 1) * REGION
        self._owner[base] = buffer
        self.names[base] = buffer
        self.sizes[base] = 1
        return base

    def _grow(self, base: int, size: int) -> None:
        self.sizes[base] = max(self.sizes[base], size)

    def _address(self, buffer: str, number: int) -> int:
        """A buffer that is named after its free is the freed memory, whatever has its address now."""
        if buffer in self._freed:
            if buffer not in self._gone:
                self._gone[buffer] = self._fresh(buffer)
                self.ghosts[self._gone[buffer]] = self._freed[buffer]
            return self._gone[buffer]
        if buffer not in self._at:
            self._at[buffer] = self._home[buffer] = self._fresh(buffer)
            self._used[buffer] = number
        return self._at[buffer]

    def _ranges(self, where: str, step: Step, key: str, op: Mapping[str, Any]) -> list[Range]:
        out = []
        given = op.get(key) or []
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise UsageValueError(f"{where}: {key!r} is a list of {{'buffer', 'from', 'to'}}, not {given!r}")
        for access in given:
            if not isinstance(access, Mapping) or not {"buffer", "from", "to"} <= set(access):
                raise UsageValueError(f"{where}: an access is a dict with 'buffer', 'from' and 'to', not {access!r}")
            low, high = (_integer(where, side, access[side]) for side in ("from", "to"))
            if not 0 <= low <= high < REGION:
                raise UsageValueError(
                    f"{where}: bytes {low} to {high} of {access['buffer']!r}: 0 <= from <= to < {REGION} must hold"
                )
            base = self._address(str(_label(where, "buffer", access["buffer"])), step.number)
            self._grow(base, high)
            out.append((base + low, high - low))
        return out


def _label(where: str, key: str, value: Any) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UsageTypeError(f"{where}: {key!r} is a number or a name, not {value!r}")
    return value


def _integer(where: str, key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageTypeError(f"{where}: {key!r} is a whole number, not {value!r}")
    return value
