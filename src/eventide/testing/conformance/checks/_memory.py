"""Buffers and copies."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise

from eventide.errors import DeviceError, StreamError, UsageError, UsageValueError
from eventide.runtime import Buffer, empty
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import check
from eventide.testing.conformance._expect import equal, expect, raises
from eventide.testing.conformance._tools import boom


@check("buffer")
def a_buffer_has_its_size_address_and_device(bench: Bench) -> None:
    buffers = [empty(100, bench.device) for _ in range(8)]
    for buffer in buffers:
        expect(isinstance(buffer, Buffer), "empty() gives a Buffer")
        equal((buffer.nbytes, len(buffer), buffer.device), (100, 100, bench.where), "size and device")
    starts = sorted(buffer.ptr for buffer in buffers)
    expect(all(second - first >= 100 for first, second in pairwise(starts)), "buffers do not overlap")


@check("buffer")
def a_freed_buffer_refuses_to_be_used(bench: Bench) -> None:
    stream, buffer = bench.stream(), empty(16, bench.device)
    buffer.free()
    buffer.free()
    expect(buffer.freed, "freed is True")
    raises(UsageError, lambda: buffer.ptr, "the address of a freed buffer", "free")
    raises(UsageError, lambda: buffer.record_stream(stream), "record_stream of a freed buffer", "free")


@check("buffer", "host_visible")
def the_host_reads_and_writes_a_buffer_and_work_sees_it(bench: Bench) -> None:
    stream, buffer = bench.stream(), empty(8, bench.device)
    memoryview(buffer)[:] = b"eight by"
    equal(stream.submit(lambda: bytes(memoryview(buffer))).result(bench.timeout), b"eight by", "what work reads")
    stream.submit(lambda: memoryview(buffer).__setitem__(slice(0, 5), b"seven")).result(bench.timeout)
    equal(bytes(memoryview(buffer)), b"seven by", "what the host reads")
    view = memoryview(buffer)
    raises(BufferError, buffer.free, "free() while a view exists")
    view.release()
    buffer.free()


@check("record-stream")
def memory_lives_until_the_streams_given_to_record_stream_are_past_it(bench: Bench) -> None:
    stream, freed = bench.stream(), bench.hook_calls("memory_deallocation")
    buffer = empty(4096, bench.device)
    address = buffer.ptr
    hold = bench.hold(stream)
    stream.submit(int)
    buffer.record_stream(stream)
    buffer.free()
    del buffer
    gc.collect()
    others = [empty(4096, bench.device) for _ in range(20)]
    expect(bench.virtual or address not in {other.ptr for other in others}, "memory in use is not given out again")
    hold.release()
    stream.synchronize(timeout=bench.timeout)
    bench.eventually(lambda: stream.query() and (address,) in freed, "the deallocation")


@check("allocation-failure")
def memory_that_is_not_there_is_an_error_and_leaves_the_device_usable_from_every_thread(bench: Bench) -> None:
    # Other runtimes raise this error with a lock held, and every other thread waits forever.
    raises((MemoryError, DeviceError), lambda: empty(2**60, bench.device), "an exabyte")
    stream = bench.stream()
    equal(bench.background(lambda: empty(8, bench.device).nbytes).result(), 8, "memory for another thread")
    equal(bench.background(lambda: stream.submit(int, "3").result(bench.timeout)).result(), 3, "work of another one")


@check("copy", "copy")
def copies_go_in_every_direction_in_the_order_of_the_stream(bench: Bench) -> None:
    stream, there, back = bench.stream(), empty(8, bench.device), bytearray(8)
    source, second = bytearray(b"old text"), empty(8, bench.device)
    hold = bench.hold(stream)
    stream.submit(source.__setitem__, slice(0, 3), b"new")
    stream.copy(there, source)
    stream.copy(second, there)
    future = stream.copy(back, second)
    bench.stays(lambda: not future.done() and back == bytes(8), "a copy waits for its turn")
    hold.release()
    equal(future.result(bench.timeout), None, "the value of a copy")
    equal(bytes(back), b"new text", "what was copied back")


@check("copy", "copy")
def a_copy_that_cannot_be_is_refused_and_changes_nothing(bench: Bench) -> None:
    stream, buffer = bench.stream(), empty(8, bench.device)
    raises(UsageValueError, lambda: stream.copy(buffer, b"abc"), "sizes that differ", "8")
    raises(TypeError, lambda: stream.copy(buffer, 5), "a copy of a number")
    raises(UsageValueError, lambda: stream.copy(bytearray(4), memoryview(bytes(8))[::2]), "strides", "contiguous")
    stream.synchronize(timeout=bench.timeout)
    equal(stream.submit(int, "3").result(bench.timeout), 3, "work afterwards")


@check("copy", "copy")
def a_copy_behind_a_failure_is_not_made(bench: Bench) -> None:
    stream, target = bench.stream(), bytearray(3)
    hold = bench.hold(stream)
    stream.submit(boom)
    future = stream.copy(target, b"new")
    hold.release()
    refusal = future.exception(bench.timeout)
    expect(isinstance(refusal, StreamError), f"the copy fails with StreamError, not {refusal!r}")
    equal(bytes(target), bytes(3), "its target")


@check("copy", "copy")
def both_ends_of_a_copy_live_until_it_is_over(bench: Bench) -> None:
    stream, target = bench.stream(), bytearray(16)
    source = empty(16, bench.device)
    stream.copy(source, b"m" * 16).result(bench.timeout)
    reference = weakref.ref(source)
    hold = bench.hold(stream)
    future = stream.copy(target, source)
    del source
    gc.collect()
    hold.release()
    future.result(bench.timeout)
    equal(bytes(target), b"m" * 16, "what was copied from a buffer that was dropped")
    bench.is_freed(reference, "the source")
