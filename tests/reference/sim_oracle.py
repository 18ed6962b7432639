"""When everything starts and ends on simulated devices, the slow way: all of it again from nothing at each question.

A program is a list of nodes. What takes no time (markers, waits) happens when its predecessors have; work happens when
its predecessors have and its engine has a place. Places go to the work that became ready first, then to the one that
was submitted first. A gate that was not opened has no time, nor has anything behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Engine = tuple[int, bool]  # a device, and whether it is the part that copies


@dataclass
class Node:
    """One call that queued something."""

    kind: Literal["work", "marker", "wait", "gate"]
    called_at: int
    before: list[int]  # nodes
    duration: int = 0
    engine: Engine = (0, False)
    opened_at: int | None = None  # of a gate


@dataclass
class Answer:
    """Of each node that has times: when it starts, and when it ends."""

    start: dict[int, int]
    end: dict[int, int]


class SimOracle:
    """Receives the calls of a host, in order. `clock` is the host's time."""

    def __init__(self, streams: list[int], limit: int | None, copy_limit: int | None, cost: int) -> None:
        self.streams = streams  # the device of each
        self.limits = {False: limit, True: copy_limit}
        self.cost = cost
        self.clock = 0
        self.nodes: list[Node] = []
        self.last: dict[int, int] = {}  # stream -> its last node

    def submit(self, stream: int, duration: int, copy: bool) -> int:
        return self._queue(stream, Node("work", 0, [], duration, (self.streams[stream], copy)))

    def record(self, stream: int) -> int:
        return self._queue(stream, Node("marker", 0, []))

    def wait(self, stream: int, marker: int) -> int:
        return self._queue(stream, Node("wait", 0, [marker]))

    def gate(self, stream: int) -> int:
        return self._queue(stream, Node("gate", 0, []))

    def open(self, gate: int) -> None:
        self.clock += self.cost
        self.nodes[gate].opened_at = self.clock

    def query(self, marker: int) -> bool:
        """Whether it is done; that costs a call unless it is."""
        if not self._passed(marker):
            self.clock += self.cost
        return self._passed(marker)

    def join(self, marker: int) -> None:
        """Only for one that has a time."""
        self.clock = max(self.clock, self.solve().end[marker])

    def solve(self) -> Answer:
        """The times of everything so far. What is queued later never changes them."""
        answer = Answer({}, {})
        places: dict[Engine, list[int]] = {}  # when each place of an engine is free again
        while True:
            self._pass_what_takes_no_time(answer)
            ready = [
                (self._ready_at(number, answer), number)
                for number, node in enumerate(self.nodes)
                if node.kind == "work" and number not in answer.end and self._is_ready(number, answer)
            ]
            if not ready:
                return answer
            time, number = min(ready)
            node = self.nodes[number]
            limit = self.limits[node.engine[1]]
            if limit is not None:
                free = places.setdefault(node.engine, [0] * limit)
                time = max(time, min(free))
                free[free.index(min(free))] = time + node.duration
            answer.start[number], answer.end[number] = time, time + node.duration

    def _pass_what_takes_no_time(self, answer: Answer) -> None:
        for number, node in enumerate(self.nodes):  # nodes only lie behind earlier ones, so one sweep is enough
            if node.kind != "work" and self._is_ready(number, answer):
                answer.start[number] = answer.end[number] = self._ready_at(number, answer)

    def _is_ready(self, number: int, answer: Answer) -> bool:
        node = self.nodes[number]
        return all(other in answer.end for other in node.before) and (node.kind != "gate" or node.opened_at is not None)

    def _ready_at(self, number: int, answer: Answer) -> int:
        node = self.nodes[number]
        return max([node.called_at, node.opened_at or 0, *(answer.end[other] for other in node.before)])

    def _queue(self, stream: int, node: Node) -> int:
        self.clock += self.cost
        node.called_at = self.clock
        if stream in self.last:
            node.before.append(self.last[stream])
        self.nodes.append(node)
        self.last[stream] = len(self.nodes) - 1
        return self.last[stream]

    def _passed(self, marker: int) -> bool:
        return self.solve().end.get(marker, self.clock + 1) <= self.clock
