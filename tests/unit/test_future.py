"""Where work runs, and `et.Future` as a future of the standard library."""

import concurrent.futures
import logging
import threading
import weakref

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, assert_is_freed, boom, eventually, hook_calls


def test_submit_returns_a_future_of_the_standard_library(stream):
    future = stream.submit(pow, 2, 5)
    assert isinstance(future, et.Future)
    assert isinstance(future, concurrent.futures.Future)
    assert future.result(TIMEOUT) == 32


def test_submit_passes_every_argument_as_an_executor_does(stream):
    def work(*args, **kwargs):
        return args, kwargs

    future = stream.submit(work, 1, 2, fn=3, self=4, name=5, args=6)
    assert future.result(TIMEOUT) == ((1, 2), {"fn": 3, "self": 4, "name": 5, "args": 6})


def test_work_runs_when_the_stream_reaches_it_and_not_in_submit(stream, gate):
    ran: list[int] = []
    gate.hold(stream)
    future = stream.submit(lambda: ran.append(threading.get_ident()))
    assert ran == []
    assert not future.done()
    gate.open()
    future.result(TIMEOUT)
    assert len(ran) == 1
    assert ran[0] != threading.get_ident()


def test_a_future_goes_from_pending_over_running_to_done(stream, gate):
    running = gate.hold(stream, "value")
    pending = stream.submit(int)
    assert (running.running(), running.done(), running.cancelled()) == (True, False, False)
    assert (pending.running(), pending.done(), pending.cancelled()) == (False, False, False)
    gate.open()
    assert (running.result(TIMEOUT), pending.result(TIMEOUT)) == ("value", 0)
    assert (running.running(), running.done(), running.cancelled()) == (False, True, False)
    assert running.exception(TIMEOUT) is None


def test_every_future_is_done_once_its_stream_is_synchronized(stream):
    futures = [stream.submit(int) for _ in range(100)]
    stream.synchronize(timeout=TIMEOUT)
    assert all(future.done() for future in futures)


def test_result_and_exception_time_out_and_lose_nothing(stream, gate):
    future = gate.hold(stream, "kept")
    for ask in (future.result, future.exception):
        with pytest.raises(concurrent.futures.TimeoutError):
            ask(timeout=0)
        with pytest.raises(TimeoutError):
            ask(0.001)
    gate.open()
    assert future.result(timeout=TIMEOUT) == "kept"


def test_an_exception_that_is_returned_is_a_value(stream):
    future = stream.submit(Boom, "a value")
    assert isinstance(future.result(TIMEOUT), Boom)
    assert future.exception(TIMEOUT) is None
    stream.synchronize(timeout=TIMEOUT)


def test_cancel_of_pending_work_skips_it_and_is_no_error(stream, gate):
    ran: list[str] = []
    gate.hold(stream)
    cancelled = stream.submit(ran.append, "cancelled")
    event = stream.record_event()
    last = stream.submit(ran.append, "last")
    assert cancelled.cancel() is True
    assert cancelled.cancel() is True
    assert (cancelled.cancelled(), cancelled.done(), cancelled.running()) == (True, True, False)
    gate.open()
    last.result(TIMEOUT)
    event.synchronize(timeout=TIMEOUT)
    stream.synchronize(timeout=TIMEOUT)
    assert ran == ["last"]
    for ask in (cancelled.result, cancelled.exception):
        with pytest.raises(concurrent.futures.CancelledError):
            ask(TIMEOUT)


def test_running_and_completed_work_cannot_be_cancelled(stream, gate):
    future = gate.hold(stream, 1)
    assert future.cancel() is False
    gate.open()
    assert future.result(TIMEOUT) == 1
    assert future.cancel() is False
    assert not future.cancelled()


def test_cancel_wakes_calls_that_wait_for_the_result(stream, gate):
    gate.hold(stream)
    future = stream.submit(int)
    notified: list[et.Future] = []
    future.add_done_callback(notified.append)
    assert future.cancel()
    gate.open()
    done, _ = concurrent.futures.wait([future], timeout=TIMEOUT)
    assert done == {future}
    eventually(lambda: notified == [future], "the callback of a cancelled future")


def test_wait_returns_at_the_first_completion(stream, other, gate):
    held, quick = gate.hold(stream), other.submit(int)
    done, not_done = concurrent.futures.wait([held, quick], TIMEOUT, concurrent.futures.FIRST_COMPLETED)
    assert (done, not_done) == ({quick}, {held})
    gate.open()
    assert concurrent.futures.wait([held, quick], TIMEOUT) == ({held, quick}, set())


def test_wait_returns_at_the_first_exception(stream, other, gate):
    held, failed = gate.hold(stream), other.submit(boom)
    done, not_done = concurrent.futures.wait([held, failed], TIMEOUT, concurrent.futures.FIRST_EXCEPTION)
    assert (done, not_done) == ({failed}, {held})


def test_wait_takes_futures_of_streams_and_executors_together(stream, gate):
    held = gate.hold(stream)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        foreign = executor.submit(gate.open)
        assert concurrent.futures.wait([held, foreign], TIMEOUT) == ({held, foreign}, set())


def test_as_completed_yields_futures_in_the_order_of_completion(make_stream, make_gate):
    gates = [make_gate() for _ in range(3)]
    futures = [gate.hold(make_stream(), number) for number, gate in enumerate(gates)]
    order: list[int] = []
    gates[2].open()
    for future in concurrent.futures.as_completed(futures, timeout=TIMEOUT):
        order.append(future.result(TIMEOUT))
        gates[{2: 0, 0: 1, 1: 1}[order[-1]]].open()
    assert order == [2, 0, 1]


def test_a_callback_of_a_pending_future_runs_on_the_notifier_thread(stream, gate):
    notified: list[tuple[et.Future, str]] = []
    future = gate.hold(stream)
    future.add_done_callback(lambda done: notified.append((done, threading.current_thread().name)))
    assert notified == []
    gate.open()
    eventually(lambda: notified, "the callback")
    assert notified == [(future, "eventide-notifier")]


def test_a_callback_of_a_done_future_runs_at_once(stream):
    future = stream.submit(int)
    future.result(TIMEOUT)
    notified: list[int] = []
    future.add_done_callback(lambda done: notified.append(threading.get_ident()))
    assert notified == [threading.get_ident()]


def test_callbacks_run_in_order_and_one_that_raises_does_not_stop_the_others(stream, gate, caplog):
    notified: list[int] = []
    future = gate.hold(stream)
    future.add_done_callback(lambda _: notified.append(1))
    future.add_done_callback(lambda _: boom())
    future.add_done_callback(lambda _: notified.append(2))
    with caplog.at_level(logging.ERROR):
        gate.open()
        eventually(lambda: len(notified) == 2, "both callbacks")
    assert notified == [1, 2]
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [Boom]


def test_a_callback_may_read_the_result_of_its_future(stream, gate):
    notified: list[str] = []
    future = gate.hold(stream, "value")
    future.add_done_callback(lambda done: notified.append(done.result()))
    gate.open()
    eventually(lambda: notified, "the callback")
    assert notified == ["value"]


def test_the_work_id_is_unique_and_the_one_that_hooks_carry(stream):
    with hook_calls("work_submission") as submitted:
        futures = [stream.submit(int) for _ in range(5)]
    assert [call[1] for call in submitted] == [future.work_id for future in futures]
    assert len({future.work_id for future in futures}) == 5
    assert 0 not in {future.work_id for future in futures}


def test_a_completed_future_keeps_neither_function_nor_arguments(stream):
    class Argument:
        pass

    argument = Argument()
    future = stream.submit(bool, argument)
    assert future.result(TIMEOUT) is True
    reference = weakref.ref(argument)
    del argument
    assert_is_freed(reference, "an argument of finished work")
    assert weakref.ref(future)() is future
