"""Callbacks, cancelled and failed work, events that are used again, generators."""

import asyncio
import contextlib
import itertools
import queue
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


def callbacks_in_a_chain(device, bug):
    first, second, x, y, end = et.Stream(device), et.Stream(device), np.zeros(8), np.zeros(8), threading.Event()

    def then(_):
        second.submit(transform, x, y).add_done_callback(lambda _: end.set())

    written = first.submit(produce, x, 1)
    then(None) if bug else written.add_done_callback(then)
    end.wait()
    et.host_access(reads=y)
    et.synchronize(device)


def refilled_by_a_callback(device, bug):
    """A ring; the notifier thread fills a slot again when it was read."""
    load, step, slots = et.Stream(device), et.Stream(device), [np.zeros(8), np.zeros(8)]
    ready, numbers, open_slots = queue.Queue(), itertools.count(), 2

    def fill(slot):
        n = next(numbers)
        if n < 6:
            load.submit(produce, slots[slot], n)
        ready.put((slot, load.record_event()) if n < 6 else None)

    fill(0)
    fill(1)
    while open_slots:
        item = ready.get()
        if item is None:
            open_slots -= 1
            continue
        slot, filled = item
        step.wait_event(filled)
        step.submit(consume, slots[slot])
        if bug:
            fill(slot)
        else:
            step.record_event().notify(lambda _, slot=slot: fill(slot))
    et.synchronize(device)


def coroutines_with_a_queue(device, bug):
    async def main():
        full, free, load, step = asyncio.Queue(2), asyncio.Queue(), et.Stream(device), et.Stream(device)
        for _ in range(2):
            free.put_nowait(np.zeros(16))

        async def producer():
            for n in range(6):
                buffer = await free.get()
                written = load.submit(produce, buffer, n)
                if not bug:
                    await written
                await full.put(buffer)
            await full.put(None)

        async def consumer():
            while (buffer := await full.get()) is not None:
                await step.submit(consume, buffer)
                await free.put(buffer)

        await asyncio.gather(producer(), consumer())
        await load

    asyncio.run(main())


def cancelled_request(device, bug):
    """What was cancelled in time does not run, so its memory is free."""
    serve, other, out, go = et.Stream(device), et.Stream(device), np.zeros(8), threading.Event()
    if device == "cpu":  # work of sim runs in submit()
        serve.submit(et.work(go.wait, name="earlier request", reads=()))
    request = serve.submit(produce, out, 1)
    if not bug and not request.cancel():
        request.result()
    other.submit(produce, out, 2)
    go.set()
    et.synchronize(device)


def error_and_recovery(device, bug):
    def broken(out):
        raise ValueError("a bad batch")

    stream, other, out = et.Stream(device), et.Stream(device), np.zeros(8)
    stream.submit(et.work(broken, writes="out"), out)
    if not bug:
        with contextlib.suppress(ValueError):
            stream.synchronize()
    other.submit(produce, out, 2).result()
    with contextlib.suppress(ValueError):
        stream.synchronize()


def attempts(device, bug):
    def flaky(out, n):
        if n < 2:
            raise OSError("try again")

    stream, out = et.Stream(device), np.zeros(8)
    for n in range(3):
        attempt = stream.submit(et.work(flaky, writes="out"), out, n)
        if bug:
            et.host_access(writes=out)
        with contextlib.suppress(OSError):
            attempt.result()
            break
        et.host_access(writes=out)
        with contextlib.suppress(OSError):
            stream.synchronize()
    et.host_access(reads=out)


def pooled_events(device, bug):
    pool, write, read, x = et.EventPool(device), et.Stream(device), et.Stream(device), np.zeros(8)
    for n in range(4):
        written, used = pool.acquire(), pool.acquire()
        if bug:  # too early: it was not recorded since it was acquired
            read.wait_event(written)
        write.submit(produce, x, n)
        written.record(write)
        if not bug:
            read.wait_event(written)
        read.submit(consume, x)
        used.record(read)
        write.wait_event(used)
        pool.release(written)
        pool.release(used)
    et.synchronize(device)


def event_that_is_recorded_again(device, bug):
    one, two, x, y, event = et.Stream(device), et.Stream(device), np.zeros(8), np.zeros(8), et.Event(device)
    event.record(one)
    if bug:  # that is the record before the work
        two.wait_event(event)
    one.submit(produce, x, 1)
    event.record(one)
    if not bug:
        two.wait_event(event)
    two.submit(transform, x, y)
    et.synchronize(device)


def generator_that_prefetches(device, bug):
    load, step, ring = et.Stream(device), et.Stream(device), [np.zeros(16) for _ in range(2 if bug else 3)]

    def batches():
        used = deque()
        for n in range(8):
            buffer = ring[n % len(ring)]
            if len(used) == 2 and not bug:
                load.wait_event(used.popleft())
            load.submit(produce, buffer, n)
            used.append((yield buffer, load.record_event()))

    source = batches()
    item = next(source)
    with contextlib.suppress(StopIteration):
        while True:
            buffer, ready = item
            step.wait_event(ready)
            step.submit(consume, buffer)
            item = source.send(step.record_event())
    et.synchronize(device)


def timer_that_flushes(device, bug):
    stream, log = et.Stream(device), np.zeros(8)
    stream.submit(produce, log, 1)

    def flush():
        if not bug:
            stream.synchronize()
        et.host_access(reads=log)

    timer = threading.Timer(0, flush)
    timer.start()
    timer.join()
    stream.synchronize()


def slices_of_an_executor(device, bug):
    data, together = np.zeros(64), threading.Barrier(4)

    def job(n):
        together.wait()  # a thread each
        part = data[n * 16 : n * 16 + (24 if bug and n < 3 else 16)]
        et.Stream(device).submit(produce, part, n).result()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(job, range(4)))
    et.host_access(reads=data)


def work_that_dispatches(device, bug):
    main, helpers = et.Stream(device), [et.Stream(device) for _ in range(2)]
    parts, events = [np.zeros(8), np.zeros(8)], queue.Queue()

    def dispatch():
        for helper, part in zip(helpers, parts, strict=True):
            helper.submit(produce, part, 1)
            events.put(helper.record_event())

    main.submit(et.work(dispatch, reads=())).result()
    both = [events.get(), events.get()]
    for event in both[:1] if bug else both:
        main.wait_event(event)
    main.submit(et.work(lambda: None, name="join", reads=parts)).result()
    et.synchronize(device)


def polled(device, bug):
    stream, out = et.Stream(device), np.zeros(8)
    stream.submit(produce, out, 1)
    event = stream.record_event()
    while not bug and not event.query():
        pass
    et.host_access(reads=out)
    stream.synchronize()
