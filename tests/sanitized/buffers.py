"""Double and triple buffering, ring buffers, scratch memory, views."""

import numpy as np

import eventide as et


@et.work(writes="out")
def produce(out, step):
    out[:] = step


@et.work(reads="x", writes="out")
def transform(x, out):
    np.multiply(x, 2, out=out)


@et.work(reads="x")
def consume(x):
    return float(x.sum())


def double_buffering(device, bug):
    load, step = et.Stream(device, name="load"), et.Stream(device, name="step")
    buffers = [np.zeros(256), np.zeros(256)]
    used = [et.Event(device), et.Event(device)]
    for n in range(6):
        slot = n % 2
        if n >= 2 and not bug:  # the bug: the buffer is filled again while it is still read
            load.wait_event(used[slot])
        load.submit(produce, buffers[slot], n)
        step.wait_event(load.record_event())
        step.submit(consume, buffers[slot])
        used[slot].record(step)
    et.synchronize(device)


def ring_of_three(device, bug):
    decode, show = et.Stream(device), et.Stream(device)
    ring = np.zeros((3, 128))
    shown = []
    for n in range(9):
        if n >= 3:
            decode.wait_event(shown[0 if bug else n - 3])  # the bug: always that of the first frame
        decode.submit(produce, ring[n % 3], n)
        show.wait_event(decode.record_event())
        show.submit(consume, ring[n % 3])
        shown.append(show.record_event())
    decode.synchronize()
    show.synchronize()


def halves_of_one_array(device, bug):
    left, right = et.Stream(device), et.Stream(device)
    data = np.zeros(1000)
    left.submit(produce, data[:500], 1)
    right.submit(produce, data[499:] if bug else data[500:], 2)  # off by one
    et.synchronize(device)
    et.host_access(reads=data)


def scratch_memory_is_shared(device, bug):
    streams = [et.Stream(device) for _ in range(2)]
    source, results = np.ones(64), [np.zeros(64), np.zeros(64)]
    scratch = [np.zeros(64), np.zeros(64)]
    for n, stream in enumerate(streams):
        mine = scratch[0] if bug else scratch[n]
        stream.submit(transform, source, mine)
        stream.submit(transform, mine, results[n])
    et.synchronize(device)


def columns_of_a_matrix(device, bug):
    streams = [et.Stream(device) for _ in range(4)]
    matrix = np.zeros((64, 40))
    for n, stream in enumerate(streams):
        first = 10 * n
        stream.submit(produce, matrix[:, first : first + 10 + bug], n)
    et.synchronize(device)
    et.host_access(reads=matrix)


def host_reads_a_result(device, bug):
    stream, out = et.Stream(device), np.zeros(100)
    stream.submit(produce, out, 3)
    done = stream.record_event()
    if not bug:
        done.synchronize()
    et.host_access(reads=out)
    stream.synchronize()
    return out.sum()
