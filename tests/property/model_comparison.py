"""A Model and the real runtime side by side: every call is made on both, and the results are compared.

Answers that depend on how far the device got are checked against the model's bounds at once, and exactly after
`settle`, which waits (bounded) for everything that has to happen with the gates as they are.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import eventide as et
from tests.helpers import Boom
from tests.property.device_under_test import CAPABILITIES, DEVICE, GATES, LIMIT
from tests.reference.stream_model import Model, State

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.reference.order import Entry

LAST_RESORT = 600.0  # seconds; every gate is opened at the end of its program, also of one that failed
NO_TIMING = "Both events must be created with argument 'enable_timing=True'."


class Note:
    """A callback that counts itself; `inline` if it ran inside the call that registered it."""

    def __init__(self, subject: object) -> None:
        self.subject = subject
        self.received: list[tuple[object, str]] = []
        self.fired = threading.Event()
        self.inline = False

    def __call__(self, subject: object) -> None:
        self.received.append((subject, threading.current_thread().name))
        self.fired.set()

    def check(self, *, must: bool, may: bool) -> None:
        """It fires once, with its subject, when it has to, and not before it may."""
        if must:
            assert self.fired.wait(LIMIT), f"the callback of {self.subject!r} was never called"
        if not may:
            assert not self.received, f"the callback of {self.subject!r} came too early"
        assert len(self.received) <= 1, f"the callback of {self.subject!r} was called {len(self.received)} times"
        assert all(subject is self.subject for subject, _ in self.received)
        if self.received and not self.inline:
            assert self.received[0][1] == "eventide-notifier"


class Comparison:
    """Real streams, events and Futures under the model's numbers."""

    def __init__(self) -> None:
        self.model = Model()
        self.log: list[Entry] = []
        self.streams: list[et.Stream] = []
        self.events: list[et.Event] = []
        self.timed: list[bool] = []
        self.futures: dict[int, et.Future] = {}
        self.errors: dict[int, Boom] = {}
        self.copies: dict[int, tuple[bytearray, bytes]] = {}
        self.gates: dict[int, threading.Event] = {}
        self.started: dict[int, threading.Event] = {}
        self.event_notes: list[tuple[int | None, Note]] = []  # marker, note
        self.future_notes: list[tuple[int, Note]] = []  # work, note
        self.seen_done: set[int] = set()  # markers that query() called done: they have to stay so

    # --- calls -------------------------------------------------------------------------------------------------

    def new_stream(self) -> int:
        self.streams.append(et.Stream(DEVICE))
        return self.model.stream()

    def new_event(self, *, timing: bool) -> int:
        self.events.append(et.Event(DEVICE, enable_timing=timing))
        self.timed.append(timing)
        return self.model.event()

    def submit(self, stream: int, *, gated: bool, raises: bool) -> int | None:
        """Its node, or None where an immediate device refused it behind an error."""
        gate = self.model.gate() if gated and GATES else None
        node = self.model.submit(stream, gate=gate, raises=raises)
        if gate is not None:
            self.gates[gate] = threading.Event()
        self.started[node] = threading.Event()
        if raises:
            self.errors[node] = Boom(f"work {node}")
        try:
            self.futures[node] = self.streams[stream].submit(self._body, node)
        except et.StreamError:
            assert not CAPABILITIES.deferred, "only an immediate device refuses work"
            assert self.model.furthest().works[node].state is State.SKIPPED
            self.model.cancel(node)
            return None
        return node

    def _body(self, node: int) -> tuple[str, int]:
        self.log.append(("start", node))
        self.started[node].set()
        gate = self.model.works[node].gate
        opened = gate is None or self.gates[gate].wait(LAST_RESORT)
        self.log.append(("end", node))
        assert opened, "the gate was never opened"
        if node in self.errors:
            raise self.errors[node]
        return ("value", node)

    def copy(self, stream: int) -> int:
        node = self.model.submit(stream)
        source = node.to_bytes(4, "little") * 16
        target = bytearray(len(source))
        self.copies[node] = (target, source)
        self.futures[node] = self.streams[stream].copy(target, source)
        return node

    def open_gate(self, gate: int) -> None:
        self.model.open(gate)
        self.gates[gate].set()

    def record(self, event: int, stream: int) -> None:
        self.model.record(event, stream)
        self.events[event].record(self.streams[stream])
        assert self.events[event].version == len(self.model.events[event])

    def wait(self, event: int, stream: int) -> None:
        self.model.wait(event, stream)
        self.streams[stream].wait_event(self.events[event])

    def wait_stream(self, waiter: int, other: int) -> None:
        self.model.wait_stream(waiter, other)
        self.streams[waiter].wait_stream(self.streams[other])

    def cancel(self, node: int) -> None:
        allowed = self.model.may_cancel(node) if CAPABILITIES.deferred else frozenset({False})
        answer = self.futures[node].cancel()
        assert answer in allowed, f"cancel() of work {node} said {answer}, allowed {set(allowed)}"
        if answer:
            self.model.cancel(node)
            assert self.futures[node].cancelled()
            assert self.futures[node].done()

    def notify(self, event: int) -> None:
        marker, may = self.model.marker_of(event), self.model.may_query(event)
        note = Note(self.events[event])
        self.events[event].notify(note)
        note.inline = any(name == threading.current_thread().name for _, name in note.received)
        if may == {True}:
            assert note.inline, "the version is done: the callback runs at once, on the caller's thread"
        self.event_notes.append((marker.node if marker else None, note))

    def add_done_callback(self, node: int) -> None:
        note = Note(self.futures[node])
        self.futures[node].add_done_callback(note)
        note.inline = any(name == threading.current_thread().name for _, name in note.received)
        self.future_notes.append((node, note))

    # --- answers -----------------------------------------------------------------------------------------------

    def query(self, event: int) -> None:
        marker, allowed = self.model.marker_of(event), self.model.may_query(event)
        answer = self.events[event].query()
        assert answer in allowed, f"query() of event {event} said {answer}, allowed {set(allowed)}"
        if marker is not None:
            assert answer or marker.node not in self.seen_done, f"event {event} is no longer done"
            if answer:
                self.seen_done.add(marker.node)

    def query_stream(self, stream: int) -> None:
        allowed = self.model.may_query_stream(stream)
        answer = self.streams[stream].query()
        assert answer in allowed, f"query() of stream {stream} said {answer}, allowed {set(allowed)}"

    def elapsed_time(self, start: int, end: int) -> None:
        """Errors in the order of the design; with both done, a number that is not against the order of the markers."""
        first, second = self.model.marker_of(start), self.model.marker_of(end)
        done = self.model.may_query(start) & self.model.may_query(end)
        unsure = len(self.model.may_query(start)) + len(self.model.may_query(end)) > 2
        try:
            milliseconds = self.events[start].elapsed_time(self.events[end])
        except ValueError as error:
            assert not (self.timed[start] and self.timed[end] and first and second), error
            assert (str(error) == NO_TIMING) == (not (self.timed[start] and self.timed[end]))
        except RuntimeError as error:
            assert first
            assert second
            assert self.timed[start]
            assert self.timed[end]
            failed = State.FAILED in {first.state, second.state}
            assert failed or unsure or True not in done, f"both are done, yet: {error}"
            assert failed or "synchronize" in str(error), error
        else:
            assert self.timed[start]
            assert self.timed[end]
            assert first
            assert second
            assert True in done, "elapsed_time of an event that cannot be done"
            if first.node in second.before:
                assert milliseconds >= 0.0
            if second.node in first.before:
                assert milliseconds <= 0.0
            if first.node == second.node:
                assert milliseconds == 0.0

    def raises_cause(self, call: Callable[[], object], cause: int | None, *, original: bool) -> None:
        """`call` raises the error of work `cause`: the object itself, or a StreamError from it; None: no error."""
        try:
            call()
        except (Boom, et.StreamError) as error:
            assert cause is not None, f"raised {error!r}, expected nothing"
            self.check_error(error, cause, original=original)
        else:
            assert cause is None, f"nothing raised, expected the error of work {cause}"

    def check_error(self, error: BaseException | None, cause: int, *, original: bool) -> None:
        if original:
            assert error is self.errors[cause], f"{error!r} instead of the error of work {cause}"
        else:
            assert isinstance(error, et.StreamError), repr(error)
            assert error.__cause__ is self.errors[cause], f"cause {error.__cause__!r}, expected work {cause}"
