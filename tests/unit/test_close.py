"""`Stream.close` drains; what a closed stream refuses and what its events still answer."""

import contextlib
import gc
import re
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, blocked_in, boom, eventually, hook_calls


def test_close_drains(make_stream, gate):
    stream = make_stream()
    ran: list[int] = []
    gate.hold(stream)
    futures = [stream.submit(ran.append, number) for number in range(10)]
    closer = blocked_in(lambda: stream.close(timeout=TIMEOUT))
    assert not closer.ended
    gate.open()
    closer.result()
    assert ran == list(range(10))
    assert all(future.done() for future in futures)
    assert stream.closed


def test_contextlib_closing_closes_the_stream_and_with_does_not():
    stream = et.Stream("cpu")
    with stream:
        assert stream.submit(int).result(TIMEOUT) == 0
    assert not stream.closed
    with contextlib.closing(stream):
        future = stream.submit(int, "4")
    assert stream.closed
    assert future.result(0) == 4


def test_a_stream_of_open_is_current_in_its_block_and_closed_after_it():
    before = et.current_stream()
    with et.Stream.open("cpu", name="block") as stream:
        assert et.current_stream() == stream
        future = stream.submit(int, "4")
    assert stream.closed
    assert stream.name == "block"
    assert future.result(0) == 4
    assert et.current_stream() == before


def test_the_end_of_an_open_block_raises_the_error_of_its_work():
    with pytest.raises(Boom), et.Stream.open("cpu") as stream:
        stream.submit(boom)
    assert stream.closed


def test_an_error_of_an_open_block_propagates_and_notes_the_error_of_its_work():
    with pytest.raises(KeyError) as raised, et.Stream.open("cpu") as stream:
        stream.submit(boom)
        raise KeyError
    assert stream.closed
    (note,) = raised.value.__notes__
    assert "raised Boom: boom" in note


def test_closing_twice_and_from_two_threads_is_allowed(make_stream, gate):
    stream = make_stream()
    gate.hold(stream)
    closers = [blocked_in(lambda: stream.close(timeout=TIMEOUT)) for _ in range(2)]
    gate.open()
    for closer in closers:
        closer.result()
    stream.close(timeout=TIMEOUT)
    assert stream.closed


def test_a_close_that_timed_out_keeps_the_error_for_the_next_one(make_stream):
    for _ in range(20):  # the worker must not take the error away in between, which was a race
        stream, held = make_stream(), threading.Event()
        stream.submit(held.wait, TIMEOUT)
        stream.submit(int, "seven")
        with pytest.raises(TimeoutError, match="after 0 s"):
            stream.close(timeout=0)
        held.set()
        eventually(lambda stream=stream: stream.pending == 0, "the work that fails was reached")
        with pytest.raises(ValueError, match="seven"):
            stream.close(timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("given", "printed"), [(0.001, "0.001"), (1e-7, "1e-07"), (0, "0"), (-3, "0"), (0.0123456, "0.0123456")]
)
def test_a_timeout_is_printed_as_it_was_given(make_stream, gate, given, printed):
    stream = make_stream()
    work = gate.hold(stream)
    event = stream.record_event()
    calls = (stream.synchronize, event.synchronize, work.result, lambda timeout: et.synchronize("cpu", timeout=timeout))
    for call in calls:
        with pytest.raises(TimeoutError, match=rf" after {re.escape(printed)} s; the work continues$"):
            call(timeout=given)
    gate.open()


VERBS = {
    "submit": lambda stream, other: stream.submit(int),
    "copy": lambda stream, other: stream.copy(bytearray(1), b"x"),
    "record_event": lambda stream, other: stream.record_event(),
    "record": lambda stream, other: et.Event("cpu").record(stream),
    "wait_event": lambda stream, other: stream.wait_event(other.record_event()),
    "wait": lambda stream, other: other.record_event().wait(stream),
    "wait_stream": lambda stream, other: stream.wait_stream(other),
    "query": lambda stream, other: stream.query(),
    "synchronize": lambda stream, other: stream.synchronize(timeout=TIMEOUT),
}


def test_deletion_fires_once_for_a_recorded_event_and_never_for_another(stream):
    event, never = stream.record_event(), et.Event("cpu")
    number = event.event_id
    with hook_calls("event_deletion") as deleted:
        del event, never
        gc.collect()
    assert deleted == [(number,)]


def test_stream_deletion_fires_once_for_a_closed_stream(make_stream):
    with hook_calls("stream_deletion") as deleted:
        stream = et.Stream("cpu")
        number = stream.stream_id
        stream.close(timeout=TIMEOUT)
        del stream
        gc.collect()
        eventually(lambda: (number,) in deleted, "the deletion")
    assert deleted.count((number,)) == 1


def test_stream_deletion_fires_once_for_a_dropped_stream():
    with hook_calls("stream_deletion") as deleted:
        stream = et.Stream("cpu")
        number = stream.stream_id
        stream.submit(int).result(TIMEOUT)
        del stream
        gc.collect()
        eventually(lambda: (number,) in deleted, "the deletion")
    assert deleted.count((number,)) == 1
