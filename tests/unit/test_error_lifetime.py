"""What the exception of failed work keeps alive."""

import asyncio
import contextlib
import gc
import weakref
from pathlib import Path

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, assert_is_freed, boom, eventually

CALLS = 200


def by_result(stream):
    future = stream.submit(boom)
    with pytest.raises(Boom):
        future.result(TIMEOUT)


def by_exception(stream):
    try:
        raise stream.submit(boom).exception(TIMEOUT)
    except Boom:
        pass


def by_await(stream):
    async def wait():
        future = stream.submit(boom)
        with contextlib.suppress(Boom):
            await future

    asyncio.run(wait())


def by_await_of_the_stream(stream):
    async def wait():
        future = stream.submit(boom)
        try:
            await stream
        except Boom:
            return future

    asyncio.run(wait())


def by_callback(stream):
    raised = []
    future = stream.submit(boom)
    future.add_done_callback(lambda done: raised.append(str(done.exception())))
    eventually(lambda: raised, "the callback runs")


def by_synchronize(stream):
    future = stream.submit(boom)
    try:
        stream.synchronize(TIMEOUT)
    except Boom:
        return future.done()


def by_event(stream):
    future = stream.submit(boom)
    event = stream.record_event()
    for wait in (event.synchronize, future.result):
        with contextlib.suppress(Boom, et.StreamError):
            wait(TIMEOUT)


def by_skipped_work(stream):
    futures = [stream.submit(boom), stream.submit(int)]
    for future in reversed(futures):
        with contextlib.suppress(Boom, et.StreamError):
            future.result(TIMEOUT)


def inside_an_except_block(stream):
    future = stream.submit(boom)
    try:
        raise KeyError(0)
    except KeyError:
        with contextlib.suppress(Boom):
            future.result(TIMEOUT)


def through_other_work(stream):
    inner = et.Stream("cpu")
    future = stream.submit(inner.submit(boom).result)
    with contextlib.suppress(Boom):
        future.result(TIMEOUT)


def native_threads():
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.parametrize(
    "way",
    [
        by_result,
        by_exception,
        by_await,
        by_await_of_the_stream,
        by_callback,
        by_synchronize,
        by_event,
        by_skipped_work,
        inside_an_except_block,
        through_other_work,
    ],
)
def test_a_function_that_handles_an_error_leaves_no_thread_and_needs_no_collector(way, no_collector):
    def call():
        way(et.Stream("cpu"))

    call()  # starts the notifier
    eventually(lambda: et.Stream("cpu").submit(boom).exception(TIMEOUT), "a worker fails")
    before = native_threads()
    for _ in range(CALLS):
        call()
    eventually(lambda: native_threads() <= before, f"the threads of {CALLS} streams end")


def test_an_exception_that_the_program_keeps_has_its_traceback(stream):
    future = stream.submit(boom)
    kept = None
    try:
        future.result(TIMEOUT)
    except Boom as error:
        kept = error
    lines = kept.__traceback__
    other = et.Stream("cpu")
    gone = weakref.ref(other)
    by_result(other)
    del other
    eventually(lambda: gone() is None, "the notifier has looked")
    assert kept.__traceback__ is lines
    assert lines.tb_frame.f_code.co_name == "test_an_exception_that_the_program_keeps_has_its_traceback"


def test_an_error_that_is_raised_again_has_the_source_lines_of_the_work(stream):
    def show():
        with pytest.raises(Boom) as caught:
            future.result(TIMEOUT)
        return caught.value

    future = stream.submit(boom)
    frames = weakref.WeakSet()

    class Local:
        pass

    def call():
        local = Local()
        frames.add(local)
        with contextlib.suppress(Boom):
            future.result(TIMEOUT)

    call()
    eventually(lambda: not frames, "the frame that caught the error is freed")
    error = show()
    names = []
    trace = error.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["show", "boom"]
    with pytest.raises(Boom) as again:
        stream.synchronize(TIMEOUT)
    assert again.value is error


def test_skipped_work_returns_the_same_exception_while_the_program_keeps_it(stream):
    stream.submit(boom)
    skipped = stream.submit(int)
    first = skipped.exception(TIMEOUT)
    assert skipped.exception(TIMEOUT) is first
    with pytest.raises(et.StreamError) as caught:
        skipped.result(TIMEOUT)
    assert caught.value is first


def test_a_stream_that_its_failed_work_refers_to_is_collected(caplog):
    def work(stream):
        raise Boom("refers to its stream")

    stream = et.Stream("cpu")
    stream.submit(work, stream)
    eventually(stream.query, "the work fails")
    reference = weakref.ref(stream)
    del stream
    assert_is_freed(reference, "the stream")
    eventually(lambda: caplog.records, "the error is logged")
    assert [str(record.exc_info[1]) for record in caplog.records] == ["refers to its stream"]


def test_a_cycle_through_an_exception_that_a_frame_keeps_is_collected():
    def call(stream):
        future = stream.submit(boom)
        error = future.exception(TIMEOUT)
        try:
            raise error
        except Boom:
            return weakref.ref(stream)

    gone = call(et.Stream("cpu"))
    eventually(lambda: gc.collect() is not None and gone() is None, "the collector finds the stream")


def handle_an_error_on_sim():
    """The frame of this function is in the traceback, and has the stream and the Future."""
    stream, error, caught = et.Stream("sim"), Boom(), []

    def fail():
        raise error

    failed = stream.submit(fail)
    try:
        stream.synchronize(TIMEOUT)
    except Boom as raised:
        caught.append(raised)
    assert failed.done()
    return weakref.ref(stream)


def test_a_handled_error_of_a_polled_device_keeps_neither_its_stream_nor_its_future():
    for reference in [handle_an_error_on_sim() for _ in range(10)]:
        assert_is_freed(reference, "the stream of a handled error")


def fail_inside_a_call():
    """sim runs the work inside synchronize: the error's frame has this one (f_back), and so the event that failed."""
    stream, event, error = et.Stream("sim"), et.Event("sim"), Boom()

    def fail():
        raise error

    stream.submit(fail)
    event.record(stream)
    with contextlib.suppress(Boom):
        stream.synchronize(TIMEOUT)
    return error, weakref.ref(event)


def test_an_error_without_its_traceback_no_longer_keeps_the_event_that_failed():
    error, reference = fail_inside_a_call()
    assert reference() is not None
    error.__traceback__ = None
    assert_is_freed(reference, "the event of an error without a traceback")
