"""Dropping what is in use: events, streams, futures, work and its arguments."""

import gc
import threading
import weakref

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, Gate, assert_is_freed, blocked_in, eventually


def test_a_thread_in_synchronize_keeps_the_event_alive(stream, gate):
    gate.hold(stream)
    events = [stream.record_event()]
    waiter = blocked_in(lambda: events[0].synchronize(timeout=TIMEOUT))
    events.clear()
    gc.collect()
    gate.open()
    assert waiter.result() is None


def test_an_event_outlives_its_stream(gate):
    stream = et.Stream("cpu")
    gate.hold(stream)
    event = et.Event("cpu", enable_timing=True)
    event.record(stream)
    del stream
    gc.collect()
    assert event.query() is False
    gate.open()
    event.synchronize(timeout=TIMEOUT)
    assert event.elapsed_time(event) == 0.0


def test_a_stream_may_be_dropped_by_its_own_work():
    box = [et.Stream("cpu")]
    future = box[0].submit(box.clear)
    future.result(TIMEOUT)
    assert box == []
    assert et.Stream("cpu").submit(int, "6").result(TIMEOUT) == 6


def test_weak_reference_callbacks_are_called(stream):
    notified: list[object] = []
    event = stream.record_event()
    reference = weakref.ref(event, notified.append)
    del event
    gc.collect()
    assert notified == [reference]


def test_a_cycle_through_a_subclass_is_collected(stream):
    class Knot(et.Event):
        pass

    knot = Knot("cpu")
    knot.itself = knot
    knot.record(stream)
    reference = weakref.ref(knot)
    del knot
    gc.collect()
    assert reference() is None


def test_work_and_its_arguments_are_released_after_they_ran_failed_or_were_skipped(stream, gate):
    class Thing:
        def __call__(self, error: Exception | None = None) -> None:
            if error is not None:
                raise error

    things = [Thing() for _ in range(3)]
    references = [weakref.ref(thing) for thing in things]
    gate.hold(stream)
    futures = [
        stream.submit(things[0]),
        stream.submit(things[1], Boom()),
        stream.submit(things[2]),
    ]
    things.clear()
    assert all(reference() is not None for reference in references)
    gate.open()
    with pytest.raises(Boom):
        stream.synchronize(timeout=TIMEOUT)
    futures.clear()
    for reference in references:
        assert_is_freed(reference, "work that is complete")


def test_cancelled_work_is_released(stream, gate):
    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    gate.hold(stream)
    future = stream.submit(id, thing)
    del thing
    assert future.cancel()
    gate.open()
    stream.synchronize(timeout=TIMEOUT)
    assert_is_freed(reference, "the argument of cancelled work")


def test_threads_that_end_leave_the_stream_usable(stream):
    threads = [threading.Thread(target=lambda: stream.submit(int)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    stream.synchronize(timeout=TIMEOUT)
    assert stream.submit(int, "2").result(TIMEOUT) == 2


def test_work_gets_a_living_stream_while_a_subclass_is_being_deallocated():
    inside, found = Gate(), []

    class Slow:
        def __del__(self):
            inside()  # holds the deallocation, without the GIL, until the work has queried

    class Special(et.Stream):
        pass

    gate = Gate()

    def work():
        gate()
        found.append(et.current_stream("cpu"))
        inside.open()
        eventually(lambda: gone, "the deallocation ends")
        return found[0].stream_id

    gone = []
    stream = Special("cpu")
    number = stream.stream_id
    stream.slow = Slow()
    future = stream.submit(work)
    gate.reached()

    def drop():
        nonlocal stream
        del stream
        gone.append(True)

    dropper = threading.Thread(target=drop)
    dropper.start()
    inside.reached()
    gate.open()
    assert future.result(TIMEOUT) == number
    dropper.join(TIMEOUT)
    assert not dropper.is_alive()
    assert found[0].stream_id == number
