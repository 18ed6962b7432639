"""Memory that is not an array of NumPy: bytearray, array, memoryview, ctypes, mmap, shared memory; rings of it."""

import array
import ctypes
import mmap
from multiprocessing import shared_memory

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce


@et.work(writes="out")
def fill_bytes(out, value):
    for n in range(len(out)):
        out[n] = value


@et.work(reads="x")
def add_bytes(x):
    return sum(x)


def halves_of_a_bytearray(device, bug):
    one, two, data = et.Stream(device), et.Stream(device), bytearray(64)
    view = memoryview(data)
    one.submit(fill_bytes, view[:32], 1)
    two.submit(fill_bytes, view[31:] if bug else view[32:], 2)
    et.synchronize(device)
    et.host_access(reads=data)


def every_other_byte(device, bug):
    one, two, view = et.Stream(device), et.Stream(device), memoryview(bytearray(64))
    one.submit(fill_bytes, view[::2], 1)
    two.submit(fill_bytes, view[::2] if bug else view[1::2], 2)
    et.synchronize(device)


def backwards(device, bug):
    one, two, view = et.Stream(device), et.Stream(device), memoryview(bytearray(64))
    one.submit(fill_bytes, view[:32][::-1], 1)
    two.submit(fill_bytes, view[::-1][: 33 if bug else 32], 2)
    et.synchronize(device)


def array_of_the_library(device, bug):
    one, two, samples = et.Stream(device), et.Stream(device), array.array("h", [0] * 64)
    one.submit(fill_bytes, memoryview(samples)[:32], 1)
    if not bug:
        two.wait_event(one.record_event())
    two.submit(add_bytes, samples)
    et.synchronize(device)


def fields_of_a_structure(device, bug):
    class Header(ctypes.Structure):
        _fields_ = (("size", ctypes.c_uint32 * 4), ("sum", ctypes.c_uint32 * 4))

    header, one, two = Header(), et.Stream(device), et.Stream(device)
    one.submit(fill_bytes, header.size, 1)
    two.submit(fill_bytes, header.size if bug else header.sum, 2)
    et.synchronize(device)
    et.host_access(reads=header)


def pages_of_a_map(device, bug):
    with mmap.mmap(-1, 8192) as pages:
        one, two = et.Stream(device), et.Stream(device)
        with memoryview(pages) as view, view[:4096] as first, view[4095 if bug else 4096 :] as second:
            one.submit(fill_bytes, first, 1)
            two.submit(fill_bytes, second, 2)
            et.synchronize(device)


def arrays_in_shared_memory(device, bug):
    shared = shared_memory.SharedMemory(create=True, size=1024)
    try:
        one, two = et.Stream(device), et.Stream(device)
        written, read = np.ndarray((64,), buffer=shared.buf), np.ndarray((64,), buffer=shared.buf)
        one.submit(produce, written, 1)
        if not bug:
            two.wait_event(one.record_event())
        two.submit(consume, read)
        et.synchronize(device)
        del written, read
    finally:
        shared.close()
        shared.unlink()


def cast_views(device, bug):
    one, two, data = et.Stream(device), et.Stream(device), memoryview(bytearray(64))
    numbers = data.cast("d")
    one.submit(fill_bytes, data[:16], 1)
    two.submit(fill_bytes, numbers[1 if bug else 2 : 4], 2)
    et.synchronize(device)


def slices_of_a_grid(device, bug):
    """Planes of a grid of three dimensions; two share one plane by mistake."""
    grid = np.zeros((4, 6, 5))
    for n in range(4):
        plane = grid[:, n : n + 1 + (bug and n == 1), 1:4]
        et.Stream(device).submit(produce, plane, n)
    et.synchronize(device)
    et.host_access(reads=grid)


def reshaped_and_raveled(device, bug):
    one, two, table = et.Stream(device), et.Stream(device), np.zeros((8, 8))
    one.submit(produce, table.reshape(4, 16)[:2], 1)
    two.submit(produce, table.ravel()[24:] if bug else table.ravel()[32:], 2)
    et.synchronize(device)


def frames_of_a_ring_of_bytes(device, bug):
    """A ring of bytes with events that are recorded again for each frame."""
    capture, encode, ring = et.Stream(device), et.Stream(device), memoryview(bytearray(3 * 16))
    captured, encoded = [et.Event(device) for _ in range(3)], [et.Event(device) for _ in range(3)]
    for n in range(9):
        slot = n % 3
        frame = ring[16 * slot : 16 * slot + 16]
        if n >= 3 and not (bug and n == 7):
            capture.wait_event(encoded[slot])
        capture.submit(fill_bytes, frame, n)
        captured[slot].record(capture)
        encode.wait_event(captured[slot])
        encode.submit(add_bytes, frame)
        encoded[slot].record(encode)
    et.synchronize(device)


def prefix_sums_in_rounds(device, bug):
    """Doubling distances: each round reads one array and writes the other, on a stream for each half."""
    streams, arrays = [et.Stream(device) for _ in range(2)], [np.zeros(16), np.zeros(16)]
    add = et.work(lambda old, new: None, name="add", reads="old", writes="new")
    for level in range(4):
        old, new = arrays[level % 2], arrays[(level + 1) % 2]
        for n, stream in enumerate(streams):
            stream.submit(add, old[: 8 * n + 8], new[8 * n : 8 * n + 8])
        done = [stream.record_event() for stream in streams]
        for n, stream in enumerate(streams):
            if not (bug and level == 2 and n == 1):
                stream.wait_event(done[1 - n])
    et.synchronize(device)


def ring_of_gradients(device, bug):
    """Reduce and scatter: in step s rank r adds chunk r-s-1 of its neighbour to its own."""
    ranks = 4
    streams, parts = [et.Stream(device) for _ in range(ranks)], np.zeros((ranks, ranks, 8))
    add = et.work(lambda x, total: None, name="add", reads=("x", "total"), writes="total")
    for rank, stream in enumerate(streams):
        stream.submit(produce, parts[rank], rank)
    for step in range(ranks - 1):
        done = [stream.record_event() for stream in streams]
        for rank, stream in enumerate(streams):
            chunk, before = (rank - step - 1) % ranks, (rank - 1) % ranks
            if not (bug and step == 1 and rank == 2):
                stream.wait_event(done[before])
            stream.submit(add, parts[before, chunk], parts[rank, chunk])
    et.synchronize(device)
    et.host_access(reads=parts)
