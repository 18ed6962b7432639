"""A stream that is dropped: an error that was not raised is logged, and the worker leaves nothing behind."""

import ctypes

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, boom, eventually


def handle_an_error():
    with pytest.raises(Boom):
        et.Stream("cpu").submit(boom).result(TIMEOUT)


def test_an_error_raised_by_its_future_after_the_stream_is_dropped_is_not_logged(caplog):
    for _ in range(50):
        with pytest.raises(Boom):
            et.Stream("cpu").submit(boom).result(TIMEOUT)
    et.Stream("cpu").submit(boom, "the last one")
    eventually(lambda: caplog.records, "an error that nothing showed is logged")
    assert [str(record.exc_info[1]) for record in caplog.records] == ["the last one"]


def test_an_error_is_logged_when_the_last_future_that_could_raise_it_is_dropped(caplog):
    future = et.Stream("cpu").submit(boom, "never looked at")
    eventually(future.done, "the work fails")
    handle_an_error()
    assert caplog.records == []
    del future
    eventually(lambda: caplog.records, "the error is logged")
    assert "never looked at" in caplog.text


def thread_states():
    """How many PyThreadStates the interpreter has."""
    head, step = ctypes.pythonapi.PyInterpreterState_ThreadHead, ctypes.pythonapi.PyThreadState_Next
    head.restype = step.restype = ctypes.c_void_p
    head.argtypes = step.argtypes = [ctypes.c_void_p]
    current = ctypes.pythonapi.PyInterpreterState_Get
    current.restype = ctypes.c_void_p
    count, state = 0, head(current())
    while state:
        count, state = count + 1, step(state)
    return count


def test_a_dropped_stream_with_an_error_leaves_no_thread_state(caplog):
    handle_an_error()  # starts the threads that stay
    before = thread_states()
    for _ in range(50):
        et.Stream("cpu").submit(boom)
    eventually(lambda: len(caplog.records) == 50, "every error is logged")
    eventually(lambda: thread_states() <= before, "the thread states of 50 workers go")
