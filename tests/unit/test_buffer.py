"""`et.empty` and `Buffer`: buffer protocol, DLPack, free, use after free, record_stream."""

import ctypes
import gc
import itertools
import subprocess
import sys

import numpy as np
import pytest

import eventide as et
from tests.helpers import TIMEOUT, eventually, hook_calls


@pytest.fixture
def buffer():
    return et.empty(64, device="cpu")


def test_a_buffer_without_a_device_is_on_the_current_device():
    assert et.empty(8).device == et.current_stream().device


def test_the_buffer_protocol_shares_the_memory_and_is_writable(buffer):
    view = memoryview(buffer)
    assert (view.nbytes, view.readonly, view.c_contiguous) == (64, False, True)
    view[0:5] = b"hello"
    assert ctypes.string_at(buffer.ptr, 5) == b"hello"
    numbers = np.frombuffer(buffer, dtype=np.int32)
    numbers[1] = 7
    assert bytes(view[4:8]) == (7).to_bytes(4, "little")


def test_dlpack_shares_the_memory(buffer):
    array = np.from_dlpack(buffer)
    assert array.nbytes == 64
    assert array.ctypes.data == buffer.ptr
    memoryview(buffer)[3] = 9
    assert array.view(np.uint8).reshape(-1)[3] == 9


def test_dlpack_reports_host_memory(buffer):
    assert buffer.__dlpack_device__() == (1, 0)  # kDLCPU


def test_two_buffers_do_not_overlap():
    buffers = [et.empty(1000, device="cpu") for _ in range(10)]
    starts = sorted(buffer.ptr for buffer in buffers)
    assert all(second - first >= 1000 for first, second in itertools.pairwise(starts))


def test_free_releases_the_memory_once(buffer):
    pointer = buffer.ptr
    with hook_calls("memory_deallocation") as freed:
        buffer.free()
        assert buffer.freed is True
        del buffer
        gc.collect()
    assert freed.count((pointer,)) == 1


USES = {
    "memoryview": lambda buffer, stream: memoryview(buffer),
    "numpy": lambda buffer, stream: np.frombuffer(buffer, dtype=np.uint8),
    "dlpack": lambda buffer, stream: buffer.__dlpack__(),
    "copy from": lambda buffer, stream: stream.copy(bytearray(64), buffer),
    "copy to": lambda buffer, stream: stream.copy(buffer, bytes(64)),
    "record_stream": lambda buffer, stream: buffer.record_stream(stream),
    "ptr": lambda buffer, stream: buffer.ptr,
}


@pytest.mark.parametrize("use", USES)
def test_use_after_free_is_a_usage_error(buffer, stream, use):
    buffer.free()
    with pytest.raises(et.UsageError, match="free"):
        USES[use](buffer, stream)


@pytest.mark.parametrize("make", [memoryview, lambda b: np.frombuffer(b, dtype=np.uint8), np.from_dlpack])
def test_free_is_refused_while_a_view_exists_and_the_view_stays_valid(buffer, make):
    view = make(buffer)
    with pytest.raises(BufferError):
        buffer.free()
    assert buffer.freed is False
    memoryview(buffer)[0] = 5
    assert view[0] == 5
    del view
    gc.collect()
    buffer.free()
    assert buffer.freed is True


@pytest.mark.parametrize("make", [memoryview, lambda b: np.frombuffer(b, dtype=np.uint8), np.from_dlpack])
def test_a_view_keeps_the_memory_of_a_dropped_buffer(make):
    with hook_calls("memory_deallocation") as freed:
        buffer = et.empty(64, device="cpu")
        pointer = buffer.ptr
        memoryview(buffer)[:] = b"k" * 64
        view = make(buffer)
        del buffer
        gc.collect()
        assert (pointer,) not in freed
        assert view.tobytes() == b"k" * 64
        del view
        gc.collect()
    assert freed.count((pointer,)) == 1


@pytest.mark.parametrize("size", [-1, -(2**40), -(2**63), -(2**64)])
def test_a_negative_size_is_a_value_error(size):
    with pytest.raises(et.UsageValueError, match=str(size)):
        et.empty(size, device="cpu")


@pytest.mark.parametrize("size", ["8", 1.5, None], ids=repr)
def test_a_size_that_is_not_an_integer_is_a_type_error(size):
    with pytest.raises(TypeError):
        et.empty(size, device="cpu")


def test_a_failed_allocation_leaves_the_device_usable():
    with pytest.raises((MemoryError, et.DeviceError)):
        et.empty(2**60, device="cpu")
    assert et.empty(8, device="cpu").nbytes == 8


@pytest.mark.parametrize("how", ["free", "drop"])
def test_record_stream_keeps_the_memory_until_the_stream_has_completed_its_work(stream, gate, how):
    buffer = et.empty(4096, device="cpu")
    memoryview(buffer)[:] = b"s" * 4096
    pointer = buffer.ptr
    gate.hold(stream)
    future = stream.submit(ctypes.string_at, pointer, 4096)
    buffer.record_stream(stream)
    if how == "free":
        buffer.free()
    del buffer
    gc.collect()
    others = [et.empty(4096, device="cpu") for _ in range(50)]
    for other in others:
        memoryview(other)[:] = b"o" * 4096
    assert pointer not in {other.ptr for other in others}
    gate.open()
    assert future.result(TIMEOUT) == b"s" * 4096


def test_record_stream_releases_the_memory_when_the_stream_completes(stream, gate):
    buffer = et.empty(32, device="cpu")
    pointer = buffer.ptr
    gate.hold(stream)
    buffer.record_stream(stream)
    with hook_calls("memory_deallocation") as freed:
        del buffer
        gc.collect()
        gate.open()
        stream.synchronize(timeout=TIMEOUT)
        eventually(lambda: (pointer,) in freed, "the deallocation")


@pytest.mark.parametrize("thing", [None, 5, "cpu"], ids=repr)
def test_record_stream_requires_a_stream(buffer, thing):
    with pytest.raises(TypeError):
        buffer.record_stream(thing)


def test_out_of_memory_is_a_memory_error_whatever_other_extensions_are_loaded():
    # DuckDB is written with the same binding library and translates std::bad_alloc into an error of its own.
    code = "import duckdb, eventide\ntry: eventide.empty(2**60)\nexcept MemoryError: print('a MemoryError')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("a MemoryError\n", 0), done.stderr


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("nbytes", [1 << 60, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**100])
def test_a_too_large_allocation_is_a_memory_error_that_names_its_size(nbytes, device):
    with pytest.raises(MemoryError, match=f"^cannot allocate {nbytes} bytes on {device}:0$"):
        et.empty(nbytes, device=device)
    assert et.empty(1, device=device).nbytes == 1


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 257])
def test_dlpack_has_the_size_of_the_buffer_and_not_of_its_alignment(nbytes):
    assert np.from_dlpack(et.empty(nbytes, device="cpu")).shape == (nbytes,)


def test_memory_that_no_machine_has_is_a_memory_error():
    with pytest.raises(MemoryError, match=r"cannot allocate 1152921504606846976 bytes on cpu:0"):
        et.empty(1 << 60)
