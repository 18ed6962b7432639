"""The oracle itself, on programs small enough to answer by hand."""

from __future__ import annotations

import pytest

from tests.reference.deadlock import cycles
from tests.reference.pool import Pool, UnknownIdError
from tests.reference.stream_model import ClosedError, Model, State


def test_work_of_one_stream_waits_for_its_gate() -> None:
    model = Model()
    stream, gate = model.stream(), model.gate()
    first, second = model.submit(stream, gate=gate), model.submit(stream)
    model.settle()
    assert model.works[first].running
    assert model.works[second].state is State.PENDING
    assert model.may_cancel(first) == {False}
    assert model.may_cancel(second) == {True}
    model.open(gate)
    assert model.may_cancel(second) == {False, True}
    model.settle()
    assert [model.works[node].state for node in (first, second)] == [State.DONE, State.DONE]
    assert model.may_cancel(second) == {False}


def test_before_settling_both_answers_are_allowed() -> None:
    model = Model()
    stream, event = model.stream(), model.event()
    assert model.may_query(event) == {True}
    model.submit(stream)
    model.record(event, stream)
    assert model.may_query(event) == {False, True}
    assert model.may_query_stream(stream) == {False, True}
    model.settle()
    assert model.may_query(event) == {True}
    assert model.may_query_stream(stream) == {True}


def test_a_wait_is_bound_to_the_version_at_the_call() -> None:
    model = Model()
    a, b, event = model.stream(), model.stream(), model.event()
    model.record(event, a)
    model.wait(event, b)
    gate = model.gate()
    model.submit(a, gate=gate)
    model.record(event, a)
    after = model.submit(b)
    model.settle()
    assert model.works[after].state is State.DONE
    assert model.may_query(event) == {False}
    model.wait(event, b, version=1)
    model.wait(event, b)
    held = model.submit(b)
    model.settle()
    assert model.works[held].state is State.PENDING


def test_an_error_skips_later_work_and_propagates_through_waits() -> None:
    model = Model()
    a, b, event = model.stream(), model.stream(), model.event()
    bad, skipped = model.submit(a, raises=True), model.submit(a)
    model.record(event, a)
    model.wait(event, b)
    behind = model.submit(b)
    model.settle()
    assert model.works[bad].state is State.FAILED
    assert [model.works[node].cause for node in (skipped, behind)] == [bad, bad]
    marker = model.marker_of(event)
    assert marker is not None
    assert (marker.state, marker.cause) == (State.FAILED, bad)
    assert model.failed_streams() == {a: bad, b: bad}
    assert model.synchronize(a) == bad
    assert model.synchronize(a) is None
    assert model.failed_streams() == {b: bad}


def test_healing_does_not_change_a_failed_marker() -> None:
    model = Model()
    stream, event = model.stream(), model.event()
    bad = model.submit(stream, raises=True)
    model.record(event, stream)
    model.settle()
    assert model.synchronize(stream) == bad
    good = model.submit(stream)
    model.settle()
    assert model.works[good].state is State.DONE
    model.wait(event, stream)
    again = model.submit(stream)
    model.settle()
    assert model.works[again].state is State.SKIPPED


def test_cancelled_work_is_no_error() -> None:
    model = Model()
    stream, gate = model.stream(), model.gate()
    model.submit(stream, gate=gate)
    bad, good = model.submit(stream, raises=True), model.submit(stream)
    model.settle()
    model.cancel(bad)
    model.open(gate)
    model.settle()
    assert model.works[bad].state is State.CANCELLED
    assert model.works[good].state is State.DONE
    assert model.synchronize(stream) is None


def test_work_that_ran_cannot_have_been_cancelled() -> None:
    model = Model()
    work = model.submit(model.stream())
    model.settle()
    with pytest.raises(AssertionError, match="cannot have been cancelled"):
        model.cancel(work)


def test_a_failed_stream_may_or_may_not_be_blocked_at_a_wait() -> None:
    model = Model()
    a, b, event = model.stream(), model.stream(), model.event()
    gate = model.gate()
    model.submit(a, gate=gate)
    model.record(event, a)
    bad = model.submit(b, raises=True)
    model.wait(event, b)
    skipped = model.submit(b)
    model.settle()
    assert model.works[skipped].state is State.PENDING
    assert model.furthest().works[skipped].state is State.SKIPPED
    assert model.may_query_stream(b) == {False, True}
    model.open(gate)
    model.settle()
    assert model.works[skipped].cause == bad


def test_wait_stream_is_a_marker_and_a_wait() -> None:
    model = Model()
    a, b = model.stream(), model.stream()
    gate = model.gate()
    first = model.submit(a, gate=gate)
    model.wait_stream(b, a)
    later = model.submit(a)
    held = model.submit(b)
    assert first in model.works[held].before
    assert later not in model.works[held].before
    model.settle()
    assert model.works[held].state is State.PENDING


def test_every_verb_of_a_closed_stream_is_an_error() -> None:
    model = Model()
    stream, event = model.stream(), model.event()
    bad = model.submit(stream, raises=True)
    model.settle()
    assert model.close(stream) == bad
    assert model.close(stream) is None
    with pytest.raises(ClosedError):
        model.submit(stream)
    with pytest.raises(ClosedError):
        model.record(event, stream)
    with pytest.raises(ClosedError):
        model.wait(event, stream)
    with pytest.raises(ClosedError):
        model.synchronize(stream)


def test_a_copy_is_independent() -> None:
    model = Model()
    a, b, event = model.stream(), model.stream(), model.event()
    gate = model.gate()
    held = model.submit(a, gate=gate)
    model.record(event, a)
    model.wait(event, b)
    behind = model.submit(b, raises=True)
    model.settle()
    other = model.copy()
    other.open(gate)
    other.record(event, b)
    other.settle()
    assert [other.works[node].state for node in (held, behind)] == [State.DONE, State.FAILED]
    assert other.failed_streams() == {b: behind}
    assert [model.works[node].state for node in (held, behind)] == [State.PENDING, State.PENDING]
    assert model.works[held].running
    assert model.failed_streams() == {}
    assert len(model.events[event]) == 1
    model.settle()
    assert model.may_query(event) == {False}


def test_the_pool_is_a_stack() -> None:
    pool = Pool()
    a, b = pool.acquire(), pool.acquire()
    pool.release(a)
    pool.release(b)
    assert pool.acquire() == b
    assert pool.stats() == (2, 1, 1, 1)
    with pytest.raises(UnknownIdError):
        pool.release(a)
    pool.empty_cache()
    assert pool.acquire() == 2
    assert pool.stats() == (3, 2, 0, 1)


def test_cycles_of_a_functional_graph() -> None:
    assert cycles({}) == []
    assert cycles({0: 1, 1: 2}) == []
    assert cycles({0: 0, 1: 0}) == [frozenset({0})]
    assert cycles({0: 1, 1: 0, 2: 3, 3: 2, 4: 0}) == [frozenset({0, 1}), frozenset({2, 3})]
