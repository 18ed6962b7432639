"""Blocking calls release the GIL, take a timeout, let Ctrl-C out and do not hold up other threads."""

import signal
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, blocked_in, patient_gil

# name -> (stream, event, future) -> the call; all of them block while the gate is shut
CALLS = {
    "stream.synchronize": lambda stream, event, future: stream.synchronize(timeout=TIMEOUT),
    "event.synchronize": lambda stream, event, future: event.synchronize(timeout=TIMEOUT),
    "et.synchronize": lambda stream, event, future: et.synchronize("cpu", timeout=TIMEOUT),
    "future.result": lambda stream, event, future: future.result(timeout=TIMEOUT),
    "future.exception": lambda stream, event, future: future.exception(timeout=TIMEOUT),
    "stream.close": lambda stream, event, future: stream.close(timeout=TIMEOUT),
    "stream.submit": lambda stream, event, future: stream.submit(int),
}


@pytest.fixture(params=CALLS)
def blocking(request, make_stream, gate):
    """A call that blocks until the gate opens, on a stream that is full."""
    stream = make_stream("cpu", max_pending=1)
    gate.hold(stream)
    future = stream.submit(int)
    event = stream.record_event()
    return lambda: CALLS[request.param](stream, event, future)


def test_a_blocking_call_releases_the_gil(blocking, gate):
    waiter = blocked_in(blocking)
    assert not waiter.ended  # this line runs while the call blocks, on the other thread
    gate.open()
    waiter.result()


def test_ctrl_c_interrupts_a_blocking_call_on_the_main_thread(blocking, gate):
    assert threading.current_thread() is threading.main_thread()
    about_to_block = threading.Event()
    main = threading.get_ident()

    def interrupt() -> None:
        assert about_to_block.wait(TIMEOUT)
        signal.pthread_kill(main, signal.SIGINT)

    helper = blocked_in(interrupt)
    with pytest.raises(KeyboardInterrupt), patient_gil():
        about_to_block.set()
        blocking()
    helper.result()
    gate.open()


def test_a_signal_handler_runs_while_the_main_thread_blocks(blocking, gate):
    about_to_block = threading.Event()
    main = threading.get_ident()

    def send() -> None:
        assert about_to_block.wait(TIMEOUT)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, lambda number, frame: gate.open())
    try:
        helper = blocked_in(send)
        with patient_gil():
            about_to_block.set()
            blocking()  # ends only because the handler opened the gate
        helper.result()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("timeout", [0, 0.001])
def test_every_wait_takes_a_timeout(make_stream, gate, timeout):
    stream = make_stream()
    future = gate.hold(stream)
    event = stream.record_event()
    calls = (stream.synchronize, event.synchronize, future.result, future.exception, stream.close)
    for call in (*calls, lambda timeout: et.synchronize("cpu", timeout=timeout)):
        with pytest.raises(TimeoutError):
            call(timeout=timeout)


def test_none_means_no_timeout(stream, gate):
    gate.hold(stream)
    event = stream.record_event()
    waiters = [Background(lambda: stream.synchronize(timeout=None)), Background(event.synchronize)]
    gate.open()
    assert [waiter.result() for waiter in waiters] == [None, None]


def test_work_continues_after_a_timeout(stream, gate):
    gate.hold(stream)
    ran: list[int] = []
    stream.submit(ran.append, 1)
    with pytest.raises(TimeoutError):
        stream.synchronize(timeout=0)
    stream.submit(ran.append, 2)
    gate.open()
    stream.synchronize(timeout=TIMEOUT)
    assert ran == [1, 2]


@pytest.mark.parametrize("timeout", ["1", [], object()], ids=["str", "list", "object"])
def test_a_timeout_that_is_not_a_number_is_a_type_error(stream, timeout):
    event = stream.record_event()
    for call in (stream.synchronize, event.synchronize, stream.close):
        with pytest.raises(TypeError):
            call(timeout=timeout)
    with pytest.raises(TypeError):
        et.synchronize("cpu", timeout=timeout)


def test_other_threads_use_the_stream_while_one_synchronizes_it(stream, other, gate):
    gate.hold(stream)
    waiter = blocked_in(lambda: stream.synchronize(timeout=TIMEOUT))
    event = stream.record_event()
    stream.wait_event(other.record_event())
    assert stream.query() is False
    assert event.query() is False
    assert stream.submit(int).cancel() is True
    last = stream.submit(int, "8")
    assert not waiter.ended
    gate.open()
    assert last.result(TIMEOUT) == 8
    waiter.result()


def test_a_callback_may_use_the_stream_that_is_being_synchronized(stream, gate):
    gate.hold(stream)
    submitted: list[et.Future] = []

    def use(stream_id: int) -> None:
        submitted.append(stream.submit(int, "9"))
        gate.open()

    with et.hooks.on("stream_synchronization", use):
        stream.synchronize(timeout=TIMEOUT)
    assert submitted[0].result(TIMEOUT) == 9
