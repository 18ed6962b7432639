"""`Stream.copy`: buffers and host arrays, in the order of the stream."""

import gc
import weakref

import numpy as np
import pytest

import eventide as et
from tests.helpers import TIMEOUT, assert_is_freed


@pytest.fixture
def buffer():
    return et.empty(16, device="cpu")


def test_copies_go_between_buffers_and_host_arrays_in_every_direction(stream, buffer):
    other = et.empty(16, device="cpu")
    array = np.zeros(4, dtype=np.int32)
    stream.copy(buffer, np.arange(4, dtype=np.int32))
    stream.copy(other, buffer)
    future = stream.copy(array, other)
    assert isinstance(future, et.Future)
    future.result(TIMEOUT)
    assert array.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "source", [b"sixteen bytes...", bytearray(b"sixteen bytes..."), memoryview(b"sixteen bytes...")]
)
def test_anything_with_the_buffer_protocol_is_a_source(stream, buffer, source):
    stream.copy(buffer, source).result(TIMEOUT)
    assert bytes(memoryview(buffer)) == b"sixteen bytes..."


def test_a_copy_runs_in_stream_order_and_later_work_sees_its_result(stream, buffer, gate):
    source = bytearray(b"a" * 16)
    gate.hold(stream)
    stream.submit(source.__setitem__, slice(None), b"b" * 16)
    copied = stream.copy(buffer, source)
    seen = stream.submit(lambda: bytes(memoryview(buffer)))
    assert not copied.done()
    gate.open()
    assert seen.result(TIMEOUT) == b"b" * 16


def test_part_of_an_array_can_be_copied(stream):
    array = np.zeros(8, dtype=np.uint8)
    stream.copy(array[2:5], b"xyz").result(TIMEOUT)
    assert array.tobytes() == b"\0\0xyz\0\0\0"


def test_sizes_that_differ_are_a_value_error_that_names_both(stream, buffer):
    with pytest.raises(et.UsageValueError, match=r"16.*3|3.*16"):
        stream.copy(buffer, b"abc")
    with pytest.raises(et.UsageValueError):
        stream.copy(bytearray(3), buffer)


def test_memory_that_is_not_contiguous_is_a_value_error(stream, buffer):
    strided = np.zeros(32, dtype=np.uint8)[::2]
    fortran = np.zeros((4, 4), dtype=np.uint8, order="F")
    for array in (strided, fortran):
        with pytest.raises(et.UsageValueError, match="contiguous"):
            stream.copy(buffer, array)
        with pytest.raises(et.UsageValueError, match="contiguous"):
            stream.copy(array, buffer)


def test_a_target_that_is_read_only_is_refused(stream, buffer):
    with pytest.raises((TypeError, ValueError, BufferError)):
        stream.copy(b"0123456789abcdef", buffer)


@pytest.mark.parametrize("thing", [None, 5, "text", object()], ids=["None", "int", "str", "object"])
def test_an_object_without_memory_is_a_type_error(stream, buffer, thing):
    with pytest.raises(TypeError):
        stream.copy(buffer, thing)
    with pytest.raises(TypeError):
        stream.copy(thing, buffer)


def test_a_refused_copy_does_not_change_the_stream(stream, buffer):
    with pytest.raises(et.UsageValueError):
        stream.copy(buffer, b"abc")
    stream.synchronize(timeout=TIMEOUT)
    assert stream.submit(int, "3").result(TIMEOUT) == 3


def test_source_and_destination_live_until_the_copy_completes(stream, gate):
    target, source = np.zeros(16, dtype=np.uint8), np.full(16, 7, dtype=np.uint8)
    view = target[:]
    references = weakref.ref(target), weakref.ref(source)
    gate.hold(stream)
    stream.copy(target, source)
    del target, source
    gc.collect()
    assert references[1]() is not None
    gate.open()
    stream.synchronize(timeout=TIMEOUT)
    assert view.tolist() == [7] * 16
    assert_is_freed(references[1], "the source")


def test_a_buffer_that_is_dropped_while_it_is_copied_is_kept_for_the_copy(stream, gate):
    target = bytearray(16)
    source = et.empty(16, device="cpu")
    memoryview(source)[:] = b"m" * 16
    gate.hold(stream)
    future = stream.copy(target, source)
    del source
    gc.collect()
    gate.open()
    future.result(TIMEOUT)
    assert target == b"m" * 16


def test_a_copy_can_be_cancelled(stream, gate):
    target = bytearray(3)
    gate.hold(stream)
    future = stream.copy(target, b"new")
    assert future.cancel() is True
    gate.open()
    stream.synchronize(timeout=TIMEOUT)
    assert target == bytearray(3)


def test_a_copy_of_zero_bytes_is_allowed(stream):
    assert stream.copy(bytearray(), b"").exception(TIMEOUT) is None


@pytest.mark.parametrize("over", ["result", "synchronize", "event"])
def test_source_and_destination_are_released_when_the_host_observes_completion(stream, over):
    for _ in range(500):  # the host looks at many moments: before, while and after the worker releases them
        buffer, back = et.empty(64, device="cpu"), bytearray(64)
        stream.copy(buffer, bytes(64))
        future = stream.copy(back, buffer)
        event = stream.record_event()
        {"result": future.result, "synchronize": stream.synchronize, "event": event.synchronize}[over]()
        back.append(1)  # refused while it is exported
        buffer.free()
