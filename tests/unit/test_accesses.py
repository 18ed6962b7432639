"""What can be declared as memory, and what is reported when it cannot."""

import ctypes

import numpy as np
import pytest

import eventide as et
from eventide.runtime.access._access import accesses_of
from tests.helpers import TIMEOUT, hook_calls


class Collector(et.hooks.Observer):
    def __init__(self) -> None:
        self.records: list[et.hooks.HookRecord] = []

    def work_submission(self, record: et.hooks.HookRecord) -> None:
        self.records.append(record)

    host_access = work_submission


@pytest.fixture
def collector():
    collector = Collector()
    with et.hooks.observe(collector):
        yield collector


def test_memory_in_lists_tuples_and_dicts_is_found():
    a, b, c = (np.zeros(4, dtype=np.uint8) for _ in range(3))
    nested = {"weights": [a, (b, None)], "count": 3, "rest": {"c": c}}
    assert [address for address, _ in accesses_of(nested)] == [x.ctypes.data for x in (a, b, c)]


def test_whatever_has_an_array_interface_is_memory():
    array = np.zeros(6, dtype="<M8[ns]")

    class OnADevice:
        @property
        def __cuda_array_interface__(self):
            return {**array.__array_interface__, "version": 3}

    assert accesses_of(OnADevice()) == ((array.ctypes.data, 48),)

    class Text:
        __array_interface__ = np.zeros(3, dtype="<U5").__array_interface__

    assert accesses_of(Text())[0][1] == 60


def test_an_object_with_the_interface_of_a_torch_tensor_is_read_by_its_strides():
    array = np.zeros((8, 8), dtype=np.float32)

    class Tensor:
        shape = (8, 2)

        def data_ptr(self):
            return array.ctypes.data + 8

        def element_size(self):
            return 4

        def stride(self):
            return (8, 1)

    assert accesses_of(Tensor()) == ((array.ctypes.data + 8, 7 * 32 + 8, 8, 32, False),)


def test_strides_of_dlpack_and_of_memoryviews_are_kept():
    array = np.arange(12, dtype=np.int32)
    expected = ((array.ctypes.data, 44, 4, 8, False),)
    evens = array[::2]
    assert accesses_of(memoryview(evens))[0][:4] == (array.ctypes.data, 44, 4, 8)

    class OnlyDlpack:
        def __dlpack__(self):
            return evens.__dlpack__()

    assert accesses_of(OnlyDlpack()) == expected


def test_an_empty_view_touches_nothing():
    assert accesses_of(np.zeros((0, 5))) == ()


def test_work_that_declares_nothing_is_unknown_and_work_that_declares_none_is_known(stream, collector):
    for work in (int, et.work(int), et.work(int, reads=()), et.work(int, writes=[])):
        stream.submit(work).result(TIMEOUT)
    assert [record.accesses_known for record in collector.records] == [False, False, True, True]


def test_the_accesses_of_a_copy_are_known_without_a_declaration(stream, collector):
    source, target = et.empty(16), np.zeros(16, dtype=np.uint8)
    stream.copy(target, source).result(TIMEOUT)
    (record,) = collector.records
    assert record.accesses_known
    assert (record.reads, record.writes) == (((source.ptr, 16),), ((target.ctypes.data, 16),))


def test_a_native_call_may_declare_its_accesses(stream, collector):
    array = np.zeros(4, dtype=np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    stream.submit_native(call, reads=array[:2], writes=[array[2:]]).result(TIMEOUT)
    stream.submit_native(call).result(TIMEOUT)
    first, second = collector.records
    assert (first.reads, first.writes) == (((array.ctypes.data, 16),), ((array.ctypes.data + 16, 16),))
    assert (first.accesses_known, second.accesses_known) == (True, False)
    with pytest.raises(et.UsageTypeError, match="are objects; got the name 'x'"):
        stream.submit_native(call, reads="x")


def test_a_declaration_without_memory_is_logged_once_and_leaves_the_accesses_unknown(stream, collector, caplog):
    @et.work(reads="x", name="uses_a_set_of_things")
    def use(x):
        return None

    for _ in range(3):
        stream.submit(use, object()).result(TIMEOUT)
    assert [record.accesses_known for record in collector.records] == [False] * 3
    (message,) = [r.getMessage() for r in caplog.records]
    assert "uses_a_set_of_things" in message
    assert "reads and writes take Buffers, arrays and tensors, and lists of them, not object" in message


def test_nothing_is_looked_up_without_listeners(stream):
    inspected = []

    class Curious:
        @property
        def __array_interface__(self):
            inspected.append(self)
            raise AttributeError

    @et.work(reads="x")
    def use(x):
        return None

    stream.submit(use, Curious()).result(TIMEOUT)
    et.host_access(reads=Curious())
    assert inspected == []
    with hook_calls("work_submission"):
        stream.submit(use, Curious()).result(TIMEOUT)
    assert inspected


def test_the_host_may_declare_its_own_accesses(collector):
    a, b = np.zeros(4), et.empty(8)
    et.host_access(reads=[a[:2]], writes=b)
    (record,) = collector.records
    assert (record.hook, record.accesses_known) == ("host_access", True)
    assert (record.reads, record.writes) == (((a.ctypes.data, 16),), ((b.ptr, 8),))


def test_host_memory_that_cannot_be_determined_is_logged_once_and_the_program_continues(collector, caplog):
    for _ in range(2):
        et.host_access(reads=3.5)
    assert collector.records == []
    assert len(caplog.records) == 1
    assert "not float" in caplog.text


def test_bytes_of_a_buffer_are_read_and_written_by_the_host(collector):
    buffer = et.empty(8)
    buffer[:] = b"eventide"
    buffer[0] = ord("E")
    assert bytes(buffer) == b"Eventide"
    assert (buffer[-1], buffer[2:4]) == (ord("e"), b"en")
    seen = [
        (len(r.reads), (r.reads or r.writes)[0][0] - buffer.ptr, (r.reads or r.writes)[0][1]) for r in collector.records
    ]
    assert seen == [(0, 0, 8), (0, 0, 1), (1, 0, 8), (1, 7, 1), (1, 2, 2)]
    with pytest.raises(IndexError, match="byte 8 is outside of a Buffer of 8 bytes"):
        buffer[8]


def test_an_access_to_a_buffer_inside_work_belongs_to_the_work(stream, collector):
    buffer = et.empty(8)
    buffer[:] = bytes(8)
    assert stream.submit(et.work(bytes, reads=[buffer]), buffer).result(TIMEOUT) == bytes(8)
    assert [record.hook for record in collector.records] == ["host_access", "work_submission"]


def test_record_stream_is_reported(stream):
    buffer = et.empty(8)
    with hook_calls("memory_use") as used:
        buffer.record_stream(stream)
        buffer.record_stream(stream)
    assert used == [(buffer.ptr, stream.stream_id)] * 2
