"""Errors in work are never lost: failed markers, failed streams, one synchronize that heals."""

import traceback

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, blocked_in, boom, eventually, root_cause


def failure_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def fail(stream, gate, error=None, behind=0):
    """Fail work on the stream with `behind` more items queued; return the error and the futures behind."""
    error = error or Boom("first")
    failed = gate.hold(stream, error)
    futures = [stream.submit(int) for _ in range(behind)]
    gate.open()
    assert failed.exception(TIMEOUT) is error
    return error, futures


def test_the_future_carries_the_exception_itself_with_its_traceback(stream):
    future = stream.submit(boom, "kept")
    error = future.exception(TIMEOUT)
    assert isinstance(error, Boom)
    assert error.args == ("kept",)
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)][-1] == "boom"
    assert failure_of(lambda: future.result(TIMEOUT)) is error


def test_work_queued_behind_a_failure_is_not_run_and_says_why(stream, gate):
    ran: list[int] = []
    error = Boom("first")
    gate.hold(stream, error)
    futures = [stream.submit(ran.append, number) for number in range(3)]
    gate.open()
    for future in futures:
        refusal = future.exception(TIMEOUT)
        assert isinstance(refusal, et.StreamError)
        assert refusal.__cause__ is error
    assert ran == []


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, StopIteration, GeneratorExit, MemoryError])
def test_no_exception_kills_the_worker_or_the_process(stream, gate, kind):
    error = kind("from work")
    assert gate.hold(stream, error) is not None
    gate.open()
    with pytest.raises(kind) as caught:
        stream.synchronize(timeout=TIMEOUT)
    assert caught.value is error
    assert stream.submit(int, "5").result(TIMEOUT) == 5


def test_synchronize_raises_the_first_error_itself_once_and_heals(stream, gate):
    error, futures = fail(stream, gate, behind=2)
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error
    stream.synchronize(timeout=TIMEOUT)
    assert stream.submit(int, "1").result(TIMEOUT) == 1
    assert isinstance(futures[0].exception(TIMEOUT), et.StreamError)


def test_a_healed_stream_can_fail_again(stream):
    for text in ("one", "two"):
        stream.submit(boom, text)
        assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)).args == (text,)


def test_every_waiting_thread_gets_the_error_and_later_calls_do_not(stream, gate):
    error = Boom("for all")
    gate.hold(stream, error)
    waiters = [blocked_in(lambda: stream.synchronize(timeout=TIMEOUT)) for _ in range(4)]
    assert not any(waiter.ended for waiter in waiters)
    gate.open()
    assert [waiter.error() for waiter in waiters] == [error] * 4
    stream.synchronize(timeout=TIMEOUT)


def test_reading_the_future_does_not_heal_the_stream(stream, gate):
    error, _ = fail(stream, gate)
    assert isinstance(stream.submit(int).exception(TIMEOUT), et.StreamError)
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error


def test_a_timeout_neither_heals_nor_loses_the_error(stream, gate):
    error = Boom("kept")
    gate.hold(stream, error)
    event = stream.record_event()
    for call in (stream.synchronize, event.synchronize):
        with pytest.raises(TimeoutError):
            call(timeout=0)
    with pytest.raises(TimeoutError):
        et.synchronize("cpu", timeout=0)
    gate.open()
    assert failure_of(lambda: event.synchronize(timeout=TIMEOUT)).__cause__ is error
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error


def test_a_failed_marker_stays_failed_for_ever(stream, gate):
    error = Boom("forever")
    gate.hold(stream, error)
    event = stream.record_event()
    gate.open()
    causes = [failure_of(lambda: event.synchronize(timeout=TIMEOUT)).__cause__ for _ in range(2)]
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error
    causes.append(failure_of(lambda: event.synchronize(timeout=TIMEOUT)).__cause__)
    assert causes == [error] * 3
    assert event.query() is True


def test_a_marker_recorded_on_a_failed_stream_fails_and_on_a_healed_one_does_not(stream, gate):
    error, _ = fail(stream, gate)
    event = stream.record_event()
    assert failure_of(lambda: event.synchronize(timeout=TIMEOUT)).__cause__ is error
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error
    event.record(stream)
    event.synchronize(timeout=TIMEOUT)


def test_a_stream_that_waits_on_a_failed_marker_fails(stream, other, gate):
    error = Boom("travels")
    gate.hold(stream, error)
    other.wait_event(stream.record_event())
    ran: list[int] = []
    skipped = other.submit(ran.append, 1)
    gate.open()
    refusal = skipped.exception(TIMEOUT)
    assert isinstance(refusal, et.StreamError)
    assert root_cause(refusal) is error
    assert ran == []
    assert root_cause(failure_of(lambda: other.synchronize(timeout=TIMEOUT))) is error
    assert other.submit(int, "2").result(TIMEOUT) == 2


def test_a_failed_marker_fails_waiters_even_after_its_stream_healed(stream, other, gate):
    error, _ = fail(stream, gate)
    event = stream.record_event()
    eventually(event.query, "the marker fails")
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error
    other.wait_event(event)
    assert root_cause(other.submit(int).exception(TIMEOUT)) is error


def test_the_first_of_two_errors_is_the_one_that_is_reported(stream, other, make_gate):
    second, _ = fail(other, make_gate(), Boom("second"))
    event = other.record_event()
    eventually(event.query, "the marker fails")
    gate = make_gate()
    first = Boom("first")
    gate.hold(stream, first)
    stream.wait_event(event)
    skipped = stream.submit(int)
    gate.open()
    assert root_cause(skipped.exception(TIMEOUT)) is first
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is first
    stream.synchronize(timeout=TIMEOUT)
    assert failure_of(lambda: other.synchronize(timeout=TIMEOUT)) is second


def test_wait_stream_carries_the_failure_over(stream, other, gate):
    error = Boom("over")
    gate.hold(stream, error)
    other.wait_stream(stream)
    skipped = other.submit(int)
    gate.open()
    assert root_cause(skipped.exception(TIMEOUT)) is error


def test_device_synchronize_raises_one_error_and_leaves_the_other_streams_failed(make_stream, make_gate):
    streams = [make_stream() for _ in range(3)]
    errors = [fail(stream, make_gate(), Boom(str(stream.stream_id)))[0] for stream in reversed(streams)][::-1]
    assert failure_of(lambda: et.synchronize("cpu", timeout=TIMEOUT)) is errors[0]
    assert streams[0].submit(int, "1").result(TIMEOUT) == 1
    assert isinstance(streams[1].submit(int).exception(TIMEOUT), et.StreamError)
    assert failure_of(lambda: streams[1].synchronize(timeout=TIMEOUT)) is errors[1]
    assert failure_of(lambda: et.synchronize("cpu", timeout=TIMEOUT)) is errors[2]
    et.synchronize("cpu", timeout=TIMEOUT)


def test_close_is_silent_about_an_error_that_synchronize_raised(make_stream, gate):
    stream = make_stream()
    error, _ = fail(stream, gate)
    assert failure_of(lambda: stream.synchronize(timeout=TIMEOUT)) is error
    stream.close(timeout=TIMEOUT)
