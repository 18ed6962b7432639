"""A blocking call inside work that closes a cycle raises at that call, naming who is in it."""

import itertools
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT


def error_of(call):
    """The DeadlockError that the call raises, as a value, so that the work that makes the call does not fail."""
    try:
        call()
    except et.DeadlockError as error:
        return error
    return None


OWN = {
    "stream.synchronize": lambda stream, event, future: stream.synchronize(timeout=TIMEOUT),
    "event.synchronize": lambda stream, event, future: event.synchronize(timeout=TIMEOUT),
    "et.synchronize": lambda stream, event, future: et.synchronize("cpu", timeout=TIMEOUT),
    "stream.close": lambda stream, event, future: stream.close(timeout=TIMEOUT),
    "own future.result": lambda stream, event, future: future[0].result(timeout=TIMEOUT),
    "own future.exception": lambda stream, event, future: future[0].exception(timeout=TIMEOUT),
    "later future.result": lambda stream, event, future: future[1].result(timeout=TIMEOUT),
}


@pytest.mark.parametrize("name", OWN)
def test_blocking_on_the_own_stream_inside_work_is_a_deadlock(make_stream, gate, name):
    stream = make_stream("cpu", name="knot")
    futures: list[et.Future] = []
    events: list[et.Event] = []

    def work():
        gate()
        return error_of(lambda: OWN[name](stream, events[0], futures))

    futures.append(stream.submit(work))
    futures.append(stream.submit(int, "3"))
    events.append(stream.record_event())
    gate.open()
    error = futures[0].result(TIMEOUT)
    assert isinstance(error, et.DeadlockError)
    assert f"stream {stream.stream_id} 'knot' (cpu:0)" in str(error)
    assert futures[1].result(TIMEOUT) == 3
    stream.synchronize(timeout=TIMEOUT)
    assert not stream.closed


def test_a_deadlock_without_a_timeout_is_found_as_well(stream):
    error = stream.submit(error_of, stream.synchronize).result(TIMEOUT)
    assert isinstance(error, et.DeadlockError)


def test_an_uncaught_deadlock_fails_the_work_that_made_the_call(stream):
    future = stream.submit(lambda: stream.synchronize(timeout=TIMEOUT))
    assert isinstance(future.exception(TIMEOUT), et.DeadlockError)
    with pytest.raises(et.DeadlockError):
        stream.synchronize(timeout=TIMEOUT)


def test_submitting_to_the_full_own_stream_inside_work_is_a_deadlock(make_stream):
    stream = make_stream("cpu", max_pending=1)

    def work():
        stream.submit(int)
        return error_of(lambda: stream.submit(int))

    assert isinstance(stream.submit(work).result(TIMEOUT), et.DeadlockError)
    stream.synchronize(timeout=TIMEOUT)


def test_waiting_for_work_that_waits_for_an_event_behind_the_caller_is_a_deadlock(make_stream, gate):
    first, second = make_stream("cpu", name="alpha"), make_stream("cpu", name="beta")
    queued: list[et.Future] = []

    def work():
        gate()
        return error_of(lambda: queued[0].result(timeout=TIMEOUT))

    outcome = first.submit(work)
    event = first.record_event()
    second.wait_event(event)
    queued.append(second.submit(int, "2"))
    gate.open()
    error = outcome.result(TIMEOUT)
    assert isinstance(error, et.DeadlockError)
    for name, number in (("alpha", first.stream_id), ("beta", second.stream_id)):
        assert f"stream {number} '{name}' (cpu:0)" in str(error)
    assert f"waits for event {event.event_id} of stream {first.stream_id} 'alpha'" in str(error)
    assert queued[0].result(TIMEOUT) == 2


@pytest.mark.parametrize("verb", ["stream", "event", "close"])
def test_every_blocking_call_sees_a_cycle_through_queued_waits(make_stream, gate, verb):
    first, second, third = make_stream(), make_stream(), make_stream()
    events: list[et.Event] = []

    def block():
        if verb == "stream":
            third.synchronize(timeout=TIMEOUT)
        elif verb == "event":
            events[0].synchronize(timeout=TIMEOUT)
        else:
            third.close(timeout=TIMEOUT)

    def work():
        gate()
        return error_of(block)

    outcome = first.submit(work)
    second.wait_stream(first)
    second.submit(int)
    third.wait_stream(second)
    third.submit(int)
    events.append(third.record_event())
    gate.open()
    assert isinstance(outcome.result(TIMEOUT), et.DeadlockError)
    third.synchronize(timeout=TIMEOUT)


def test_a_ring_of_three_works_is_broken_once(make_stream):
    streams = [make_stream() for _ in range(3)]
    all_run = threading.Barrier(3)
    futures: list[et.Future] = []
    started = threading.Event()

    def work(partner):
        all_run.wait(TIMEOUT)
        assert started.wait(TIMEOUT)
        return error_of(lambda: futures[partner].result(timeout=TIMEOUT))

    futures.extend(stream.submit(work, (number + 1) % 3) for number, stream in enumerate(streams))
    started.set()
    errors = [future.result(TIMEOUT) for future in futures]
    assert [type(error) for error in errors if error is not None] == [et.DeadlockError]


def test_a_chain_of_any_number_of_streams_is_searched(gate):
    """On a thread with a stack of 512 KiB: a search by recursion needed twice that."""
    cpu = et.Stream("cpu")
    gate.hold(cpu)
    streams = [et.Stream("sim") for _ in range(10_000)]
    streams[0].wait_event(cpu.record_event())
    for first, second in itertools.pairwise(streams):
        second.wait_event(first.record_event())
    last, raised = streams[-1], []

    def search():
        own = et.Stream("sim")
        raised.append(own.submit(last.synchronize, 0.0).exception(TIMEOUT))  # runs here: sim has no threads

    before = threading.stack_size(1 << 19)
    thread = threading.Thread(target=search)
    thread.start()
    threading.stack_size(before)
    thread.join(TIMEOUT)
    assert [type(error) for error in raised] == [TimeoutError]
    gate.open()
    last.synchronize(TIMEOUT)


def test_completed_work_can_be_queried_inside_work(stream):
    earlier = stream.submit(int, "4")
    event = stream.record_event()

    def work():
        event.synchronize(timeout=TIMEOUT)
        return earlier.result(TIMEOUT)

    assert stream.submit(work).result(TIMEOUT) == 4


def test_an_edge_of_the_wait_graph_is_removed_when_its_call_returns(stream, other):
    def wait_for(partner):
        return error_of(lambda: partner.submit(int).result(TIMEOUT))

    for _ in range(3):
        assert stream.submit(wait_for, other).result(TIMEOUT) is None
        assert other.submit(wait_for, stream).result(TIMEOUT) is None


def test_an_edge_of_the_wait_graph_is_removed_when_its_call_times_out(stream, other, make_gate):
    first, second = make_gate(), make_gate()
    events: list[et.Event] = []

    def back():
        first()
        return error_of(lambda: events[0].synchronize(timeout=TIMEOUT))

    def work():
        with pytest.raises(TimeoutError):
            partner.result(timeout=0.001)
        return second("timed out")

    partner = other.submit(back)
    outcome = stream.submit(work)
    events.append(stream.record_event())
    second.reached()  # the stream waits for the other one no more
    with et.hooks.on("event_synchronization", lambda _: second.open()):
        first.open()
        assert partner.result(TIMEOUT) is None
    assert outcome.result(TIMEOUT) == "timed out"


def test_query_and_cancel_inside_own_work_do_not_block(stream, gate):
    gate.hold(stream)
    ours = stream.submit(lambda: (stream.query(), later.cancel()))
    later = stream.submit(int)
    gate.open()
    assert ours.result(TIMEOUT) == (False, True)
