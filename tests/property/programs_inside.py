"""Random programs whose works act while they run, executed as they are drawn, so that their order can happen."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

Op = dict[str, Any]
BYTES = [(0, 64), (0, 64), (0, 32), (32, 64)]


class Draw:
    """`ops` is the program. A work is started with its first step inside, and over when another step needs that."""

    def __init__(self, seed: int, *, receives: bool, observed: bool) -> None:
        self.r = random.Random(seed)
        self.receives = receives
        self.observed = observed  # accesses are seen while work runs, and work allocates
        self.ops: list[Op] = []
        self.over: set[int] = set()
        self.running: set[int] = set()
        self.before: dict[int, list[int]] = {}  # of each work: what its stream has to complete first
        self.queue: dict[int, list[int]] = defaultdict(list)  # works of a stream; also those that it waits for
        self.events: dict[str, list[int]] = {}
        self.buffers = ["x", "y"]

    def program(self, size: int = 9) -> list[Op]:
        while len(self.ops) < size:
            self._step()
        return self.ops

    def _complete(self, works: list[int]) -> None:
        for work in works:
            if work not in self.over:
                self._complete(self.before[work])
                self.over.add(work)
                self.running.discard(work)

    def _step(self) -> None:
        live = [n for n, op in enumerate(self.ops) if op["op"] == "work" and n not in self.over]
        if live and self.r.random() < 0.5:
            self._inside(self.r.choice(live))
        else:
            op: Op = {"thread": self.r.choice([0, 0, 1])}
            kinds = ["work"] * 5 + ["host", "record", "wait", "synchronize_stream", "host_wait", "host_signal"]
            self._add(op, self.r.choice(kinds))

    def _inside(self, work: int) -> None:
        self._complete(self.before[work])
        if any(other in self.running for other in self.queue[self.ops[work]["stream"]] if other != work):
            return
        self.running.add(work)
        kinds = ["host_signal"] * 3 + ["work"] * 2 + ["record", "wait"]
        last = not any(work in befores for befores in self.before.values())
        if self.receives and last and all(work not in works for works in self.events.values()):
            kinds += ["host_wait"] * 2
        if not self.ops[work]["known"]:
            kinds += ["touch"] * 4
        self._add({"inside": work}, self.r.choice(kinds))

    def _add(self, op: Op, kind: str) -> None:
        op["op"] = kind
        stream = op["stream"] = self.r.choice([1, 2, 3]) if self.r.random() < 0.9 else 1
        if kind == "work":
            op["known"] = not self.observed or self.r.random() < 0.4
            self.before[len(self.ops)] = list(self.queue[stream])
            self.queue[stream].append(len(self.ops))
        elif kind in {"record", "wait"}:
            op["event"] = self.r.choice("ef")
            if kind == "record":
                self.events[op["event"]] = list(self.queue[stream])
            elif op["event"] not in self.events:
                return
            else:
                self.queue[stream] += [w for w in self.events[op["event"]] if w not in self.queue[stream]]
        elif kind == "synchronize_stream":
            self._complete(self.queue[stream])
        elif kind.startswith("host_"):
            op["token"] = self.r.choice("kkm")
        if kind in {"work", "host", "touch"} and op.get("known", True):
            op |= self._accesses(kind)
        self.ops.append(op)

    def _accesses(self, kind: str) -> Op:
        if kind == "touch" and self.r.random() < 0.4:  # what an operator makes is written by it
            self.buffers.append(f"made by {len(self.ops)}")
            return {"makes": True, "writes": [{"buffer": self.buffers[-1], "from": 0, "to": 64}]}
        low, high = self.r.choice(BYTES)
        access = {"buffer": self.r.choice(self.buffers), "from": low, "to": high}
        return {"writes": [access]} if self.r.random() < 0.6 else {"reads": [access]}
