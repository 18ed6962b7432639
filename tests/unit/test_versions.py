"""An event is a name for its newest marker: never recorded, bound waits, newest query."""

import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, blocked_in


def test_version_counts_the_records(stream):
    event = et.Event("cpu")
    versions = [event.version]
    for _ in range(3):
        event.record(stream)
        versions.append(event.version)
    assert versions == [0, 1, 2, 3]


def test_a_never_recorded_event_answers_done_and_its_synchronize_returns(stream, gate):
    event = et.Event("cpu")
    gate.hold(stream)
    assert event.query() is True
    assert event.synchronize(timeout=TIMEOUT) is None
    assert et.Event().query() is True


def test_a_wait_on_a_never_recorded_event_holds_nothing(stream, gate, other):
    event = et.Event("cpu")
    other.wait_event(event)
    event.wait(other)
    gate.hold(stream)
    event.record(stream)  # too late for the waits above
    assert other.submit(int, "1").result(TIMEOUT) == 1


def test_wait_binds_to_the_version_recorded_when_it_is_called(stream, other, gate):
    event = et.Event("cpu")
    event.record(stream)
    other.wait_event(event)
    gate.hold(stream)
    event.record(stream)
    assert other.submit(int, "3").result(TIMEOUT) == 3
    assert event.query() is False


def test_query_refers_to_the_newest_version(stream, other, gate):
    event = et.Event("cpu")
    event.record(other)
    event.synchronize(timeout=TIMEOUT)
    assert event.query() is True
    gate.hold(stream)
    event.record(stream)
    assert event.query() is False
    event.record(other)
    event.synchronize(timeout=TIMEOUT)
    assert event.query() is True


def test_synchronize_binds_to_the_version_recorded_when_it_is_called(stream, other, gate):
    event = et.Event("cpu")
    held = gate.hold(stream)
    event.record(stream)
    waiter = blocked_in(lambda: (event.synchronize(timeout=TIMEOUT), held.done()))
    event.record(other)
    event.synchronize(timeout=TIMEOUT)
    gate.open()
    assert waiter.result() == (None, True)


def test_synchronize_waits_for_the_newest_version_though_an_older_one_is_done(stream, gate):
    event = et.Event("cpu")
    event.record(stream)
    event.synchronize(timeout=TIMEOUT)
    gate.hold(stream)
    event.record(stream)
    with pytest.raises(TimeoutError):
        event.synchronize(timeout=0)
    gate.open()
    event.synchronize(timeout=TIMEOUT)


def test_two_threads_in_synchronize_of_one_event_both_return(stream, gate):
    gate.hold(stream)
    event = stream.record_event()
    waiters = [blocked_in(lambda: event.synchronize(timeout=TIMEOUT)) for _ in range(4)]
    assert not any(waiter.ended for waiter in waiters)
    gate.open()
    assert [waiter.result() for waiter in waiters] == [None] * 4


def test_an_event_is_safe_to_use_from_several_threads(make_stream):
    event = et.Event("cpu")
    start = threading.Barrier(4)

    def use(stream: et.Stream) -> None:
        start.wait(TIMEOUT)
        for _ in range(250):
            event.record(stream)
            event.wait(stream)
            event.query()
        event.synchronize(timeout=TIMEOUT)

    threads = [Background(lambda stream=make_stream(): use(stream)) for _ in range(4)]
    for thread in threads:
        thread.result()
    assert event.version == 1000
    event.synchronize(timeout=TIMEOUT)
    assert event.query() is True


def test_a_stream_is_busy_while_its_last_work_runs(stream, gate):
    future = gate.hold(stream)
    assert stream.pending == 0
    assert stream.query() is False
    gate.open()
    future.result(TIMEOUT)
    stream.synchronize(timeout=TIMEOUT)
    assert stream.query() is True


def test_synchronize_waits_whatever_stream_and_thread_it_is_called_from(stream, other, gate):
    future = gate.hold(stream)

    def elsewhere() -> bool:
        with other:
            stream.synchronize(timeout=TIMEOUT)
            return future.done()

    waiter = blocked_in(elsewhere)
    assert not waiter.ended
    gate.open()
    assert waiter.result() is True


def test_device_synchronize_waits_for_every_stream(make_stream, make_gate):
    gates = [make_gate() for _ in range(3)]
    futures = [gate.hold(make_stream()) for gate in gates]
    waiter = blocked_in(lambda: (et.synchronize("cpu", timeout=TIMEOUT), [future.done() for future in futures]))
    for gate in gates:
        assert not waiter.ended
        gate.open()
    assert waiter.result() == (None, [True, True, True])


def test_wait_stream_orders_behind_what_was_submitted_and_no_more(stream, other, make_gate):
    before, after = make_gate(), make_gate()
    ran: list[str] = []
    before.hold(stream)
    stream.submit(ran.append, "stream")
    other.wait_stream(stream)
    future = other.submit(ran.append, "other")
    stream.submit(after)
    before.open()
    future.result(TIMEOUT)  # although the stream is held again by what came later
    assert ran == ["stream", "other"]


def test_a_stream_may_wait_for_itself(stream):
    stream.wait_event(stream.record_event())
    stream.wait_stream(stream)
    assert stream.submit(int, "4").result(TIMEOUT) == 4


def test_record_and_wait_take_the_current_stream_by_default(stream, other, gate):
    event = et.Event("cpu")
    gate.hold(stream)
    with stream:
        event.record()
    assert event.query() is False
    ran: list[str] = []
    with other:
        event.wait()
    future = other.submit(ran.append, "other")
    assert not future.done()
    ran.append("gate")
    gate.open()
    future.result(TIMEOUT)
    assert ran == ["gate", "other"]


def test_record_event_returns_the_event_it_was_given(stream):
    event = et.Event("cpu")
    assert stream.record_event(event) is event
    assert stream.record_event(event=event) is event
    assert event.version == 2
