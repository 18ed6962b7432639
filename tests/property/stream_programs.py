"""Random stream programs that mean something: steps are drawn freely, and those that would be mistakes are left out.

A seed is a program, the same on every machine. `smaller` is for reports: the shortest part that still fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Op = dict[str, Any]
Program = dict[str, Any]

BOUNDS = [(0, 64), (0, 64), (0, 64), (0, 32), (32, 64), (16, 48), (8, 8)]


class _Draw:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.blocks = self.r.choice([None, None, None, [1], [1, 2]])
        self.streams = self.r.choice([[1, 2], [1, 2, 3]]) if self.blocks is None else [0, 1, 2]
        self.threads = self.r.choice([[0], [0], [0, 0, 1]])
        self.buffers = self.r.choice([["x"], ["x", "y"], ["x", "x", "y"]])
        kinds = ["work"] * 7 + ["record", "wait"] * 3 + ["host"]
        kinds += self.r.choice([[], ["synchronize_event", "synchronize_stream", "synchronize_device"]])
        if len(self.threads) > 1:
            kinds += ["host_signal", "host_wait", "host"]
        self.memory = self.r.random() < 0.5
        if self.memory:
            kinds += ["allocate"] * 2 + ["free"] * 3 + ["reuse"] * 4 + ["record_stream"] * 2
            kinds += self.r.choice([[], ["create_event", "delete_event"]])
        elif self.r.random() < 0.2:  # events that take the names of others
            kinds += ["create_event", "delete_event"] + ["record", "wait"] * 3
        if self.r.random() < 0.25:
            kinds += ["wait_value", "signal_value"] * 3
        if self.r.random() < 0.1:
            kinds += ["collective"] * 4
        self.kinds = kinds

    def accesses(self) -> list[dict[str, Any]]:
        return [self._access() for _ in range(self.r.choice([0, 1, 1, 1, 2]))]

    def _access(self) -> dict[str, Any]:
        low, high = self.r.choice(BOUNDS)
        return {"buffer": self.r.choice(self.buffers), "from": low, "to": high}

    def step(self) -> Op:
        r, kind = self.r, self.r.choice(self.kinds)
        op: Op = {"op": "allocate" if kind == "reuse" else kind}
        if (thread := r.choice(self.threads)) or r.random() < 0.1:
            op["thread"] = thread
        if kind in {"work", "record", "wait", "synchronize_stream", "record_stream", "wait_value", "signal_value"}:
            op["stream"] = r.choice(self.streams)
        if kind in {"allocate", "reuse", "free"} and r.random() < 0.85:
            op["stream"] = r.choice(self.streams)
        if kind in {"work", "host"}:
            writes = r.random() < 0.6
            op |= {"reads": [] if writes else self.accesses(), "writes": self.accesses() if writes else []}
        if kind in {"record", "wait", "synchronize_event", "create_event", "delete_event"}:
            op["event"] = r.choice("eef")
        if kind in {"allocate", "reuse", "free", "record_stream"}:
            op["buffer"] = r.choice([*self.buffers, "y"])
        if kind == "reuse":
            op["reuses"] = r.choice(self.buffers)
        if kind in {"wait_value", "signal_value"}:
            op |= {"semaphore": r.choice("AAB"), "value": r.choice([1, 1, 2])}
        if kind == "collective":
            op |= {"name": r.choice("aab"), "rank_stream": r.choice([1, 2])}
        if kind.startswith("host_"):
            op["token"] = "k"
        return op


def random_program(seed: int, size: int = 10) -> Program:
    """At most `size` steps."""
    draw = _Draw(seed)
    ops = [draw.step() for _ in range(draw.r.randint(min(4, size), size))]
    if draw.memory and draw.r.random() < 0.6:  # a buffer that lives from the first step on
        ops[0] = {"op": "allocate", "buffer": "x", "stream": draw.r.choice(draw.streams)}
    if draw.memory and draw.r.random() < 0.2:
        ops[-1] = {"op": "exit"}
    program: Program = {"ops": legal(ops)}
    return program if draw.blocks is None else program | {"default_stream_blocks": draw.blocks}


def random_collectives(seed: int) -> Program:
    """At most 6 steps, and one or two collectives that both ranks come to, mostly in the same order."""
    draw = _Draw(seed)
    r = draw.r
    draw.kinds = [k for k in draw.kinds if k != "collective"] + ["record", "wait", "synchronize_stream"]
    ops = [draw.step() for _ in range(r.randint(2, 6))]
    names = r.choice(["a", "a", "aa", "ab"])
    for rank in (1, 2):
        places = sorted(r.randint(0, len(ops)) for _ in names)
        for place, name in reversed(list(zip(places, names, strict=True))):
            ops.insert(place, {"op": "collective", "thread": r.choice(draw.threads), "name": name, "rank_stream": rank})
    program: Program = {"ops": legal(ops)}
    return program if draw.blocks is None else program | {"default_stream_blocks": draw.blocks}


def random_held_up(seed: int) -> Program:
    """At most 10 steps, with memory that changes owners while semaphores and collectives hold queues up."""
    draw = _Draw(seed)
    r = draw.r
    draw.kinds = ["work"] * 6 + ["record", "wait"] * 2 + ["host"]
    draw.kinds += ["allocate"] * 2 + ["free"] * 3 + ["reuse"] * 5 + ["record_stream"] * 2
    draw.kinds += ["wait_value", "signal_value"] * r.choice([2, 3]) + r.choice([[], ["collective"] * 3])
    draw.kinds += r.choice([[], ["synchronize_event", "synchronize_stream", "synchronize_device"]])
    draw.kinds += ["host_signal", "host_wait"] if len(draw.threads) > 1 else []
    draw.kinds += r.choice([[], [], ["create_event", "delete_event"]])
    ops = [draw.step() for _ in range(r.randint(5, 10))]
    if r.random() < 0.6:
        ops[0] = {"op": "allocate", "buffer": "x", "stream": r.choice(draw.streams)}
    program: Program = {"ops": legal(ops)}
    return program if draw.blocks is None else program | {"default_stream_blocks": draw.blocks}


def legal(ops: list[Op]) -> list[Op]:
    """Without steps that the format forbids: a second allocation, a reuse of what lives, a use before allocation."""
    state: dict[str, str] = {}
    address: dict[str, str] = {}
    owner: dict[str, str] = {}
    recorded: set[str] = set()
    out: list[Op] = []
    for op in ops:
        kind, buffer = op["op"], op.get("buffer", "")
        if kind == "record":
            recorded.add(op["event"])
        elif kind in {"create_event", "delete_event"}:
            recorded.discard(op["event"])
        elif kind in {"wait", "synchronize_event"} and op["event"] not in recorded and len(out) % 4:
            continue  # it says little: most go
        if kind == "allocate":
            old = op.get("reuses")
            taken = old is not None and (state.get(old) != "freed" or state[owner[address[old]]] != "freed")
            if state.get(buffer) in {"live", "outside"} or taken or old == buffer:
                continue
            address[buffer] = f"{buffer}{len(out)}" if old is None else address[old]
            owner[address[buffer]] = buffer
            state[buffer] = "live"
        elif kind in {"free", "record_stream"}:
            if buffer not in state:  # it was there before the first step
                state[buffer], address[buffer], owner[buffer] = "outside", buffer, buffer
            state[buffer] = "freed" if kind == "free" else state[buffer]
        for access in [*op.get("reads", []), *op.get("writes", [])]:
            if (name := access["buffer"]) not in state:
                state[name], address[name], owner[name] = "outside", name, name
        out.append(op)
    return out


def smaller(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Leave out steps as long as it still fails."""
    n = 0
    while n < len(program["ops"]):
        less = program | {"ops": legal(program["ops"][:n] + program["ops"][n + 1 :])}
        if fails(less):
            program, n = less, 0
        else:
            n += 1
    return program
