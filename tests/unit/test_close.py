"""`Stream.close` drains; what a closed stream refuses and what its events still answer."""

import contextlib
import gc
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, blocked_in, eventually, heard


def test_close_drains(make_stream, gate):
    stream = make_stream()
    ran: list[int] = []
    gate.hold(stream)
    futures = [stream.submit(ran.append, number) for number in range(10)]
    closer = blocked_in(lambda: stream.close(timeout=TIMEOUT))
    assert not closer.over
    gate.open()
    closer.result()
    assert ran == list(range(10))
    assert all(future.done() for future in futures)
    assert stream.closed


def test_closing_closes_and_with_does_not():
    stream = et.Stream("cpu")
    with stream:
        assert stream.submit(int).result(TIMEOUT) == 0
    assert not stream.closed
    with contextlib.closing(stream):
        future = stream.submit(int, "4")
    assert stream.closed
    assert future.result(0) == 4


def test_closing_twice_and_from_two_threads_is_fine(make_stream, gate):
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


def test_a_close_that_timed_out_can_be_repeated(make_stream, gate):
    stream = make_stream()
    future = gate.hold(stream, 5)
    with pytest.raises(TimeoutError):
        stream.close(timeout=0)
    gate.open()
    stream.close(timeout=TIMEOUT)
    assert stream.closed
    assert future.result(0) == 5


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


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_of_a_closed_stream_is_a_stream_error(make_stream, other, verb):
    stream = make_stream()
    stream.close(timeout=TIMEOUT)
    with pytest.raises(et.StreamError, match="closed"):
        VERBS[verb](stream, other)
    assert stream.stream_id > 0


def test_an_event_of_a_closed_stream_still_answers(make_stream, other):
    stream = make_stream()
    start, end = (et.Event("cpu", enable_timing=True) for _ in range(2))
    start.record(stream)
    end.record(stream)
    stream.close(timeout=TIMEOUT)
    assert end.query() is True
    end.synchronize(timeout=0)
    assert start.elapsed_time(end) >= 0
    other.wait_event(end)
    assert other.submit(int, "1").result(TIMEOUT) == 1


def test_deletion_fires_once_for_a_recorded_event_and_never_for_another(stream):
    event, never = stream.record_event(), et.Event("cpu")
    number = event.event_id
    with heard("event_deletion") as deleted:
        del event, never
        gc.collect()
    assert deleted == [(number,)]


def test_stream_deletion_fires_once_for_a_closed_stream(make_stream):
    with heard("stream_deletion") as deleted:
        stream = et.Stream("cpu")
        number = stream.stream_id
        stream.close(timeout=TIMEOUT)
        del stream
        gc.collect()
        eventually(lambda: (number,) in deleted, "the deletion")
    assert deleted.count((number,)) == 1


def test_stream_deletion_fires_once_for_a_dropped_stream():
    with heard("stream_deletion") as deleted:
        stream = et.Stream("cpu")
        number = stream.stream_id
        stream.submit(int).result(TIMEOUT)
        del stream
        gc.collect()
        eventually(lambda: (number,) in deleted, "the deletion")
    assert deleted.count((number,)) == 1
