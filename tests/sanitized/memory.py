"""Memory of devices, its lifetimes, views of arrays, several devices, and streams that come back."""

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


@et.work(reads=("total", "x"), writes="total")
def accumulate(total, x):
    total += x


def freed_in_use(device, bug):
    write, read = et.Stream(device), et.Stream(device)
    for _ in range(3):
        memory = et.empty(64, device)
        write.submit(et.work(lambda: None, name="fill", writes=memory))
        read.wait_event(write.record_event())
        read.submit(et.work(lambda: None, name="use", reads=memory))
        if not bug:
            memory.record_stream(write)
            memory.record_stream(read)
        memory.free()
    et.synchronize(device)


def staging_buffer(device, bug):
    stream, stage, copies = et.Stream(device), et.empty(64, device), [et.empty(64, device) for _ in range(3)]
    for n in range(3):
        stage[:] = bytes([n]) * 64
        copied = stream.copy(copies[n], stage)
        if not bug:
            copied.result()
    stream.synchronize()
    assert bytes(copies[2])


def copies_around_a_kernel(device, bug):
    up, run, down = et.Stream(device), et.Stream(device), et.Stream(device)
    given, results = [np.full(16, n, np.uint8) for n in range(4)], [np.zeros(16, np.uint8) for _ in range(4)]
    memory, used = [et.empty(16, device) for _ in range(2)], [None, None]
    for n in range(4):
        slot = n % 2
        if used[slot] is not None and not bug:
            up.wait_event(used[slot])
        up.copy(memory[slot], given[n])
        run.wait_event(up.record_event())
        run.submit(et.work(lambda: None, name="kernel", reads=memory[slot], writes=memory[slot]))
        down.wait_event(run.record_event())
        down.copy(results[n], memory[slot])
        used[slot] = down.record_event()
    et.synchronize(device)
    et.host_access(reads=results)


def interleaved_channels(device, bug):
    left, right, audio = et.Stream(device), et.Stream(device), np.zeros(200)
    left.submit(produce, audio[::2], 1)
    right.submit(produce, audio[::2] if bug else audio[1::2], 2)
    et.synchronize(device)


def fields_of_records(device, bug):
    one, two = et.Stream(device), et.Stream(device)
    table = np.zeros(50, [("position", "f8"), ("speed", "f8")])
    one.submit(produce, table["position"], 1)
    two.submit(produce, table["position" if bug else "speed"], 1)
    et.synchronize(device)


def blocks_of_a_matrix(device, bug):
    matrix = np.zeros((8, 8))
    for n in range(4):
        row, column = 4 * (n // 2), 4 * (n % 2)
        last = row + 4 + (bug and n == 0)
        et.Stream(device).submit(produce, matrix[row:last, column : column + 4], n)
    et.synchronize(device)
    et.host_access(reads=matrix)


def turned_views(device, bug):
    one, two, matrix = et.Stream(device), et.Stream(device), np.zeros((6, 6))
    one.submit(produce, matrix.T[:3], 1)
    two.submit(produce, matrix[::-1, 2 if bug else 3 :], 1)
    et.synchronize(device)


def temporary_arrays(device, bug):
    """Their addresses are used again."""
    one, two, total = et.Stream(device), et.Stream(device), np.zeros(512)
    for n in range(20):
        temporary = np.zeros(512)
        one.submit(produce, temporary, n)
        if not bug:
            two.wait_event(one.record_event())
        two.submit(accumulate, total, temporary)
        del temporary
    et.synchronize(device)


def two_kinds_of_device(device, bug):
    one, two, x, y = et.Stream(device), et.Stream("sim" if device == "cpu" else "cpu"), np.zeros(8), np.zeros(8)
    written = one.submit(produce, x, 1)
    if not bug:
        written.result()
    two.submit(transform, x, y).result()
    one.synchronize()


def current_streams(device, bug):
    side, main, x = et.Stream(device), et.current_stream(device), np.zeros(8)
    main.submit(produce, x, 1)
    if not bug:
        side.wait_stream(main)
    with side:
        et.current_stream(device).submit(consume, x)
    main.wait_stream(side)
    main.submit(produce, x, 2)
    et.synchronize(device)


def no_way_back(device, bug):
    main, side, x = et.Stream(device), et.Stream(device), np.zeros(8)
    for n in range(3):
        main.submit(produce, x, n)
        side.wait_stream(main)
        side.submit(consume, x)
        if not bug:
            main.wait_stream(side)
    et.synchronize(device)


def new_weights_beside_old(device, bug):
    serve, train, weights, batch = [et.Stream(device) for _ in range(2)], et.Stream(device), np.zeros(16), np.ones(16)
    for _ in range(4):
        weights = weights if bug else np.zeros(16)
        train.submit(accumulate, weights, batch)
        ready = train.record_event()
        for stream in serve:
            stream.wait_event(ready)
            stream.submit(consume, weights)
    et.synchronize(device)


def reduction_on_two_levels(device, bug):
    nodes = [[et.Stream(device) for _ in range(2)] for _ in range(2)]
    values = [[np.ones(8) for _ in range(2)] for _ in range(2)]
    for streams, parts in zip(nodes, values, strict=True):
        for stream, part in zip(streams, parts, strict=True):
            stream.submit(produce, part, 1)
        streams[0].wait_stream(streams[1])
        streams[0].submit(accumulate, *parts)
    root = nodes[0][0]
    root.wait_stream(nodes[1][0])
    root.submit(accumulate, values[0][0], values[1][0])
    reduced = root.record_event()
    for node, place in ((0, 1), (1, 0), (1, 1)):
        if not (bug and node == 0):
            nodes[node][place].wait_event(reduced)
        nodes[node][place].submit(transform, values[0][0], values[node][place])
    et.synchronize(device)


def closed_by_its_block(device, bug):
    out = np.zeros(8)
    with et.Stream.open(device) as stream:
        stream.submit(produce, out, 1)
        if bug:
            et.host_access(reads=out)
    et.host_access(reads=out)
