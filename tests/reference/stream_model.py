"""What streams and events mean, in plain Python, one call at a time and with no thread.

A Model receives the calls of a program, in the order in which they took effect. It keeps each stream's queue and
answers with bounds, for real work takes time: `settle()` moves everything as far as the closed gates let it go (what
*must* have happened once things are quiet), and `furthest()` is a copy that went as far as it *may* have gone by now.
Between the two, both answers are allowed. `before` of a node holds every node that must be complete before it starts.
"""

from __future__ import annotations

import copy
import enum
from dataclasses import dataclass, field


class State(enum.Enum):
    """The state of a work item or a marker; all but PENDING are final."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"  # a work item raised, or a marker lies behind an error
    SKIPPED = "skipped"  # a work item behind an error; its Future holds a StreamError
    CANCELLED = "cancelled"


class ClosedError(Exception):
    """The model's word for a verb on a closed stream."""


@dataclass
class Work:
    """One work item: it waits for its gate, if it has one, and then ends or raises."""

    node: int
    stream: int
    gate: int | None
    raises: bool
    before: frozenset[int]
    state: State = State.PENDING
    running: bool = False  # it waits at its closed gate
    cause: int | None = None  # the work item whose error made it fail


@dataclass
class Marker:
    """A one-shot point in a stream: DONE, or FAILED because of `cause`."""

    node: int
    stream: int
    before: frozenset[int]
    state: State = State.PENDING
    cause: int | None = None


@dataclass
class Wait:
    """The stream waits until `marker` is complete; a failed one passes on its error."""

    marker: int


@dataclass
class Queue:
    """A stream: entries[head:] have not been passed; `error` is the work item whose error it carries."""

    entries: list[Work | Marker | Wait] = field(default_factory=list)
    head: int = 0
    before: frozenset[int] = frozenset()
    error: int | None = None
    closed: bool = False

    @property
    def drained(self) -> bool:
        return self.head == len(self.entries)


class Model:
    """Streams, events, gates and work, all named by small integers."""

    def __init__(self) -> None:
        self.streams: list[Queue] = []
        self.events: list[list[int]] = []  # each event: its markers, oldest first
        self.works: dict[int, Work] = {}
        self.markers: dict[int, Marker] = {}
        self.closed_gates: set[int] = set()
        self._nodes = 0
        self._gates = 0

    # --- the calls ---------------------------------------------------------------------------------------------

    def stream(self) -> int:
        self.streams.append(Queue())
        return len(self.streams) - 1

    def event(self) -> int:
        self.events.append([])
        return len(self.events) - 1

    def gate(self) -> int:
        """A new closed gate."""
        self._gates += 1
        self.closed_gates.add(self._gates)
        return self._gates

    def open(self, gate: int) -> None:
        self.closed_gates.discard(gate)

    def submit(self, stream: int, *, gate: int | None = None, raises: bool = False) -> int:
        """Queue a work item; its node."""
        queue = self._usable(stream)
        work = Work(self._node(), stream, gate, raises, queue.before)
        self.works[work.node] = work
        queue.entries.append(work)
        queue.before |= {work.node}
        return work.node

    def record(self, event: int, stream: int) -> int:
        """A new marker in `stream`, and the event's newest version; its node."""
        marker = self._mark(stream)
        self.events[event].append(marker)
        return marker

    def wait(self, event: int, stream: int, version: int | None = None) -> None:
        """Bind to the version recorded now, or to `version` (1 is the first); nothing for one never recorded."""
        self._usable(stream)
        versions = self.events[event]
        bound = len(versions) if version is None else version
        if bound:
            self._enqueue_wait(stream, versions[bound - 1])

    def wait_stream(self, waiter: int, other: int) -> None:
        self._usable(waiter)
        self._enqueue_wait(waiter, self._mark(other))

    def cancel(self, work: int) -> None:
        """The real cancel() returned True, so this item will never run."""
        assert True in self.may_cancel(work), f"work {work} cannot have been cancelled"
        self.works[work].state = State.CANCELLED

    def synchronize(self, stream: int) -> int | None:
        """The work item whose error is raised, or None; the stream is healed. It must be drained (see `settle`)."""
        queue = self._usable(stream)
        assert queue.drained, f"stream {stream} still has something queued"
        error, queue.error = queue.error, None
        return error

    def close(self, stream: int) -> int | None:
        """As synchronize, and every later verb is a ClosedError; a second close does nothing."""
        queue = self.streams[stream]
        if queue.closed:
            return None
        error = self.synchronize(stream)
        queue.closed = True
        return error

    # --- the answers -------------------------------------------------------------------------------------------

    def marker_of(self, event: int) -> Marker | None:
        """The newest version's marker."""
        versions = self.events[event]
        return self.markers[versions[-1]] if versions else None

    def may_query(self, event: int) -> frozenset[bool]:
        """What event.query() may say now."""
        marker = self.marker_of(event)
        if marker is None or marker.state is not State.PENDING:
            return frozenset({True})
        return frozenset({False} if self.furthest().markers[marker.node].state is State.PENDING else {False, True})

    def may_query_stream(self, stream: int) -> frozenset[bool]:
        """What stream.query() may say now."""
        if self._usable(stream).drained:
            return frozenset({True})
        return frozenset({False, True} if self.furthest().streams[stream].drained else {False})

    def may_cancel(self, work: int) -> frozenset[bool]:
        """What future.cancel() may say now: True for what has not begun, False for what has; cancelled stays so."""
        item = self.works[work]
        if item.state is State.CANCELLED:
            return frozenset({True})
        if item.state is not State.PENDING or item.running:
            return frozenset({False})
        later = self.furthest().works[work]
        begun = later.running or later.state is not State.PENDING
        return frozenset({False, True} if begun else {True})

    def failed_streams(self) -> dict[int, int]:
        """Stream -> the work item whose error it carries."""
        return {number: queue.error for number, queue in enumerate(self.streams) if queue.error is not None}

    # --- time passes -------------------------------------------------------------------------------------------

    def settle(self, *, eager: bool = False) -> None:
        """Everything goes as far as the closed gates allow.

        The design leaves open whether a failed stream still waits in its queue: `eager` means that it
        does not. All else is settled by the design, whatever the timing.
        """
        moved = True
        while moved:
            moved = False
            for number in range(len(self.streams)):
                while self.step(number, eager=eager):
                    moved = True

    def furthest(self) -> Model:
        """A copy in which everything has happened that may have happened."""
        later = self.copy()
        later.settle(eager=True)
        return later

    def copy(self) -> Model:
        """An independent model; its queues hold only what has not been passed."""
        other = copy.copy(self)
        other.events = [list(versions) for versions in self.events]
        other.works = {node: copy.copy(work) for node, work in self.works.items()}
        other.markers = {node: copy.copy(marker) for node, marker in self.markers.items()}
        other.closed_gates = set(self.closed_gates)
        nodes: dict[int, Work | Marker] = {**other.works, **other.markers}
        other.streams = [copy.copy(queue) for queue in self.streams]
        for queue in other.streams:
            left = queue.entries[queue.head :]
            queue.entries = [entry if isinstance(entry, Wait) else nodes[entry.node] for entry in left]
            queue.head = 0
        return other

    def step(self, stream: int, *, eager: bool = False) -> bool:
        """Pass one entry of the stream if it can be passed."""
        queue = self.streams[stream]
        if queue.drained:
            return False
        entry = queue.entries[queue.head]
        if isinstance(entry, Work):
            passed = self._pass_work(queue, entry)
        elif isinstance(entry, Marker):
            entry.state = State.DONE if queue.error is None else State.FAILED
            entry.cause = queue.error
            passed = True
        else:
            passed = self._pass_wait(queue, self.markers[entry.marker], eager=eager)
        queue.head += passed
        return passed

    # --- inside ------------------------------------------------------------------------------------------------

    def _pass_work(self, queue: Queue, work: Work) -> bool:
        if work.state is State.CANCELLED:
            return True
        if queue.error is not None:
            work.state, work.cause = State.SKIPPED, queue.error
            return True
        work.running = work.gate in self.closed_gates
        if work.running:
            return False
        work.state = State.FAILED if work.raises else State.DONE
        if work.raises:
            work.cause = queue.error = work.node
        return True

    @staticmethod
    def _pass_wait(queue: Queue, marker: Marker, *, eager: bool) -> bool:
        if marker.state is State.PENDING:
            return eager and queue.error is not None
        if queue.error is None:
            queue.error = marker.cause
        return True

    def _mark(self, stream: int) -> int:
        queue = self._usable(stream)
        marker = Marker(self._node(), stream, queue.before)
        self.markers[marker.node] = marker
        queue.entries.append(marker)
        queue.before |= {marker.node}
        return marker.node

    def _enqueue_wait(self, stream: int, marker: int) -> None:
        queue = self.streams[stream]
        queue.entries.append(Wait(marker))
        queue.before |= self.markers[marker].before | {marker}

    def _usable(self, stream: int) -> Queue:
        queue = self.streams[stream]
        if queue.closed:
            raise ClosedError(f"stream {stream} is closed")
        return queue

    def _node(self) -> int:
        self._nodes += 1
        return self._nodes
