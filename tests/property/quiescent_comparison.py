"""What must be true when nothing can progress: every Future, event, stream, callback and blocked thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

import eventide as et
from tests.helpers import Background, blocked_in, eventually
from tests.property.device_under_test import BLINK, CAPABILITIES, DEVICE, LIMIT
from tests.property.model_comparison import Comparison
from tests.reference.order import missing, predecessors, violation
from tests.reference.stream_model import State, Work

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from tests.reference.stream_model import Marker, Model, Queue


@dataclass
class Blocked:
    """A call that blocks on another thread until `target` (a marker, a work item or a stream) is complete."""

    kind: Literal["event", "stream", "future"]
    target: int
    call: Background[Any]


def _queued(queue: Queue) -> list[Work]:
    """Work that has not started; cancelled items may still be in the queue or not."""
    return [entry for entry in queue.entries[queue.head :] if isinstance(entry, Work) and not entry.running]


def _awaiting(subject: Awaitable[object]) -> Background[object]:
    """`await subject` on a thread with an event loop; returns once the coroutine is suspended in it, or ended."""
    bound = threading.Event()

    async def wait() -> object:
        asyncio.get_running_loop().call_soon(bound.set)  # the loop runs it when this coroutine first suspends
        async with asyncio.timeout(LIMIT):
            return await subject

    def run() -> object:
        try:
            return asyncio.run(wait())
        finally:
            bound.set()

    call = Background(run)
    assert bound.wait(LIMIT)
    return call


class QuiescentComparison(Comparison):
    """A Comparison that can wait until nothing can progress, and then compares everything."""

    def __init__(self) -> None:
        super().__init__()
        self.blocked: list[Blocked] = []
        self._checked: set[int] = set()

    # --- blocking calls on threads of their own ----------------------------------------------------------------

    def block_on_event(self, event: int, *, awaiting: bool) -> None:
        """On a thread, bound to the version recorded now, which a closed gate holds back."""
        marker, real = self.model.marker_of(event), self.events[event]
        if marker is not None and self.model.may_query(event) == {False}:
            call = _awaiting(real) if awaiting else blocked_in(lambda: real.synchronize(LIMIT))
            self.blocked.append(Blocked("event", marker.node, call))

    def block_on_stream(self, stream: int, *, awaiting: bool) -> None:
        """On a thread, while a closed gate holds the stream back."""
        real = self.streams[stream]
        if self.model.may_query_stream(stream) == {False}:
            call = _awaiting(real) if awaiting else blocked_in(lambda: real.synchronize(LIMIT))
            self.blocked.append(Blocked("stream", stream, call))

    def block_on_future(self, node: int, *, awaiting: bool) -> None:
        """It ends with what the Future ends with."""
        future = self.futures[node]
        call = _awaiting(future) if awaiting else Background(lambda: future.result(LIMIT))
        self.blocked.append(Blocked("future", node, call))

    def is_synchronizing(self, stream: int) -> bool:
        """Whether a thread is in stream.synchronize: what is queued meanwhile is healed or skipped, by timing."""
        return any(blocked.kind == "stream" and blocked.target == stream for blocked in self.blocked)

    # --- quiet -------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Wait until all that must happen has happened, and compare."""
        self.model.settle()
        furthest = self.model.furthest()
        for node, work in self.model.works.items():
            if node in self.futures and node not in self._checked:
                self._check_work(work, furthest.works[node])
        for event in range(len(self.events)):
            self._check_event(event, furthest)
        for marker, note in self.event_notes:
            must = marker is None or self.model.markers[marker].state is not State.PENDING
            note.check(must=must, may=must or furthest.markers[marker or 0].state is not State.PENDING)
        for node, note in self.future_notes:
            must = self.model.works[node].state is not State.PENDING
            note.check(must=must, may=must or furthest.works[node].state is not State.PENDING)
        for blocked in list(self.blocked):
            self._check_blocked(blocked, furthest)
        for stream in range(len(self.streams)):
            self._check_stream(stream, furthest)
        self.check_order()

    def check_order(self) -> None:
        log = list(self.log)
        assert violation(predecessors(self.model), log) is None, (violation(predecessors(self.model), log), log)

    def _check_missing(self, *nodes: int) -> None:
        """If a node has ended, all before it has run."""
        left = missing(nodes, self.model, list(self.log)) - self.copies.keys()
        assert not left, f"reported complete, but work {sorted(left)} has not run"

    def _check_work(self, work: Work, furthest: Work) -> None:
        future, node = self.futures[work.node], work.node
        if work.state is State.PENDING:
            if work.running:
                assert self.started[node].wait(LIMIT), f"work {node} has not started"
                assert future.running(), f"work {node} waits at its gate, but: {future!r}"
                assert not future.done()
            elif furthest.state is State.PENDING:
                assert not self.started[node].is_set() if node in self.started else True
                assert not future.running()
                assert not future.done()
            return
        if work.state is State.CANCELLED:
            with pytest.raises(CancelledError):
                future.result(LIMIT)
        elif work.state is State.DONE:
            assert future.result(LIMIT) == (None if node in self.copies else ("value", node))
        else:
            assert work.cause is not None
            self.check_error(future.exception(LIMIT), work.cause, original=work.state is State.FAILED)
        assert future.done()
        assert future.cancelled() == (work.state is State.CANCELLED)
        ran = work.state in {State.DONE, State.FAILED}
        if node in self.copies:
            target, source = self.copies[node]
            assert bytes(target) == (source if ran else bytes(len(source)))
        else:
            assert self.started[node].is_set() == ran
            if ran:
                self._check_missing(node)
        self._checked.add(node)

    def _check_event(self, event: int, furthest: Model) -> None:
        marker, real = self.model.marker_of(event), self.events[event]
        if marker is None:
            assert real.query()
            real.synchronize(LIMIT)
            assert (real.event_id, real.version) == (0, 0)
            return
        if marker.state is State.PENDING:
            if furthest.markers[marker.node].state is State.PENDING:
                assert not real.query()
            return
        self.raises_cause(lambda: real.synchronize(LIMIT), marker.cause, original=False)
        assert real.query()
        assert real.event_id != 0
        self._check_missing(marker.node)

    def _check_stream(self, stream: int, furthest: Model) -> None:
        queue, real = self.model.streams[stream], self.streams[stream]
        if queue.closed or self.is_synchronizing(stream):
            return
        if queue.drained:
            eventually(real.query, f"stream {stream} says that it is idle")
        elif not furthest.streams[stream].drained:
            assert not real.query()
        if CAPABILITIES.deferred:
            least = sum(work.state is State.PENDING for work in _queued(furthest.streams[stream]))
            most = len(_queued(queue))
            assert least <= real.pending
            eventually(lambda: real.pending <= most, f"stream {stream} has passed its cancelled work")

    def _check_blocked(self, blocked: Blocked, furthest: Model) -> None:
        """A blocked call ends when its target is complete, with the right outcome, and not before it may."""
        target = blocked.target
        subject: Marker | Work
        if blocked.kind == "stream":
            if self.model.streams[target].drained:
                self._release_stream(target)
            elif not furthest.streams[target].drained:
                assert not blocked.call.ended, f"synchronize of stream {target} returned too early"
            return
        subject = self.model.markers[target] if blocked.kind == "event" else self.model.works[target]
        later = furthest.markers[target] if blocked.kind == "event" else furthest.works[target]
        if subject.state is State.PENDING:
            if later.state is State.PENDING:
                assert not blocked.call.ended, f"a call on {blocked.kind} {target} returned too early"
            return
        self.blocked.remove(blocked)
        if subject.state is State.CANCELLED:
            assert isinstance(blocked.call.error(), (CancelledError, asyncio.CancelledError))
        else:
            original = blocked.kind == "future" and subject.state is State.FAILED
            self.raises_cause(blocked.call.result, subject.cause, original=original)

    def _release_stream(self, stream: int) -> None:
        """All threads in synchronize of one stream get the same outcome, and the stream is healed once."""
        calls = [blocked for blocked in self.blocked if blocked.kind == "stream" and blocked.target == stream]
        cause = self.model.synchronize(stream) if calls else None
        for blocked in calls:
            self.blocked.remove(blocked)
            self.raises_cause(blocked.call.result, cause, original=True)

    # --- the host waits ----------------------------------------------------------------------------------------

    def synchronize_event(self, event: int) -> None:
        """Exact once quiet; a version behind a closed gate times out, and stays as it was."""
        self.settle()
        marker = self.model.marker_of(event)
        if self.model.may_query(event) == {False}:
            with pytest.raises(TimeoutError):
                self.events[event].synchronize(BLINK)
        elif marker is None or marker.state is not State.PENDING:
            cause = marker.cause if marker else None
            self.raises_cause(lambda: self.events[event].synchronize(LIMIT), cause, original=False)

    def synchronize_stream(self, stream: int) -> None:
        """Raises the first error once and heals; a timeout does neither."""
        self.settle()
        if self.is_synchronizing(stream):
            return
        if self.model.streams[stream].drained:
            cause = self.model.synchronize(stream)
            self.raises_cause(lambda: self.streams[stream].synchronize(LIMIT), cause, original=True)
            self.raises_cause(lambda: self.streams[stream].synchronize(LIMIT), None, original=True)
        elif self.model.may_query_stream(stream) == {False}:
            with pytest.raises(TimeoutError):
                self.streams[stream].synchronize(BLINK)

    def synchronize_device(self) -> None:
        """Raises the error of the failed stream with the lowest id, and heals that one only."""
        self.settle()
        if all(queue.drained for queue in self.model.streams):
            failed = sorted(self.model.failed_streams(), key=lambda stream: self.streams[stream].stream_id)
            cause = self.model.synchronize(failed[0]) if failed else None
            self.raises_cause(lambda: et.synchronize(DEVICE, LIMIT), cause, original=True)
        elif any(self.model.may_query_stream(s) == {False} for s, q in enumerate(self.model.streams) if not q.closed):
            with pytest.raises(TimeoutError):
                et.synchronize(DEVICE, BLINK)

    def close(self, stream: int) -> None:
        """Drains, raises an error that was not raised before, and every later call reports "closed"."""
        self.settle()
        if self.is_synchronizing(stream) or not self.model.streams[stream].drained:
            return
        real = self.streams[stream]
        already = self.model.streams[stream].closed
        cause = self.model.close(stream)
        self.raises_cause(lambda: real.close(LIMIT), cause, original=True)
        assert real.closed
        if not already:
            event = et.Event(DEVICE)
            verbs = (real.synchronize, real.query, real.record_event, lambda: real.submit(int))
            for verb in (*verbs, lambda: event.record(real), lambda: real.wait_event(event)):
                with pytest.raises(et.StreamError, match="closed"):
                    verb()

    def finish(self) -> None:
        """Open every gate, compare all, and leave no stream behind."""
        for gate in list(self.gates):
            self.open_gate(gate)
        self.settle()
        assert not self.blocked
        assert not self.model.closed_gates
        for stream in range(len(self.streams)):
            self.close(stream)

    def abandon(self) -> None:
        """After a failure: release every thread and ignore further errors."""
        for gate in self.gates.values():
            gate.set()
        for stream in self.streams:
            with contextlib.suppress(Exception):
                stream.close(LIMIT)
