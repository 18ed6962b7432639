"""What a type checker sees of the runtime: mypy --strict checks this file, and the tests run it."""

from typing import assert_type

import numpy as np

import eventide as et
from eventide.trace import Result


@et.work(reads="source", writes=["target"], duration=1e-6)
def copy(source: memoryview, target: memoryview) -> int:
    target[:] = source
    return len(source)


def length(text: str) -> int:
    return len(text)


def test_a_future_has_the_type_of_its_work() -> None:
    with et.Stream.open("cpu") as stream:
        assert_type(stream, et.Stream)
        future = stream.submit(length, "four")
        assert_type(future.result(), int)
        assert future.result() == 4
        assert stream.submit(copy, memoryview(b"abc"), memoryview(bytearray(3))).result() == 3


def test_reads_and_writes_take_buffers_arrays_and_containers_of_them() -> None:
    buffer, array = et.empty(8), np.zeros(2)
    et.host_access(reads=buffer, writes=[array, memoryview(bytearray(4))])
    et.host_access(reads={"weights": array, "step": 3}, writes=(buffer, None))
    assert et.work(int, reads=[buffer, array], writes=()).reads == (buffer, array)


def test_the_methods_of_a_trace_have_types() -> None:
    trace = et.Trace({})
    assert_type(trace.summary(), Result)
    assert_type(trace.idle(by="stream"), Result)
    assert_type(trace.report(), str)
    assert trace.critical_path().wall == 0
