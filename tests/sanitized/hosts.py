"""Host threads that share work: free lists, bounded queues, semaphores, barriers, conditions, event loops."""

import asyncio
import concurrent.futures
import contextlib
import os
import queue
import threading

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce


def _run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def free_list_of_buffers(device, bug):
    load, step = et.Stream(device), et.Stream(device)
    free, full = queue.Queue(), queue.Queue()
    for _ in range(2):
        free.put(np.zeros(64))

    def loader():
        for n in range(6):
            buffer = free.get()
            load.submit(produce, buffer, n)
            full.put((buffer, load.record_event()))
        full.put(None)

    thread = threading.Thread(target=loader)
    thread.start()
    while (item := full.get()) is not None:
        buffer, ready = item
        step.wait_event(ready)
        used = step.submit(consume, buffer)
        if not bug:  # the bug: the buffer is free before it was read
            used.result()
        free.put(buffer)
    thread.join()
    et.synchronize(device)


def free_list_with_events(device, bug):
    """The consumer gives a buffer back with the event after which it may be filled."""
    load, step = et.Stream(device), et.Stream(device)
    free, full = queue.SimpleQueue(), queue.SimpleQueue()
    for _ in range(3):
        free.put((np.zeros(64), None))

    def loader():
        for n in range(9):
            buffer, used = free.get()
            if used is not None and not (bug and n == 5):
                load.wait_event(used)
            load.submit(produce, buffer, n)
            full.put((buffer, load.record_event()))
        full.put(None)

    thread = threading.Thread(target=loader)
    thread.start()
    while (item := full.get()) is not None:
        buffer, ready = item
        step.wait_event(ready)
        step.submit(consume, buffer)
        free.put((buffer, step.record_event()))
    thread.join()
    et.synchronize(device)


def ring_behind_a_bounded_queue(device, bug):
    """One item waits and one is read, so three buffers are enough and two are not."""
    stream, ring, waiting = et.Stream(device), [np.zeros(16) for _ in range(2 if bug else 3)], queue.Queue(1)

    def load():
        for n in range(9):
            buffer = ring[n % len(ring)]
            buffer[:] = n
            et.host_access(writes=buffer)
            waiting.put(buffer)
        waiting.put(None)

    thread = threading.Thread(target=load)
    thread.start()
    while (buffer := waiting.get()) is not None:
        stream.submit(consume, buffer).result()
    thread.join()


def condition_and_flag(device, bug):
    condition, state, out = threading.Condition(), [], np.zeros(32)

    def worker():
        stream = et.Stream(device)
        written = stream.submit(produce, out, 3)
        if not bug:
            written.result()
        with condition:
            state.append("ready")
            condition.notify()
        stream.synchronize()

    thread = threading.Thread(target=worker)
    thread.start()
    with condition:
        condition.wait_for(lambda: state)
    et.host_access(reads=out)
    thread.join()


def semaphore_as_a_latch(device, bug):
    arrived, parts = threading.Semaphore(0), [np.zeros(16) for _ in range(3)]

    def worker(n):
        et.Stream(device).submit(produce, parts[n], n).result()
        arrived.release()

    threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(2 if bug else 3):
        arrived.acquire()
    et.host_access(reads=parts)
    for thread in threads:
        thread.join()


def barrier_between_phases(device, bug):
    ranks, width = 3, 8
    barrier, grids = threading.Barrier(ranks), np.zeros((2, ranks * width))
    stencil = et.work(lambda old, new: None, name="stencil", reads="old", writes="new")

    def rank(r):
        stream = et.Stream(device)
        for step in range(3):
            old, new = grids[step % 2], grids[(step + 1) % 2]
            first, last = r * width, (r + 1) * width
            stream.submit(stencil, old[max(first - 1, 0) : last + 1], new[first:last])
            stream.synchronize()
            if not bug:
                barrier.wait()

    _run([threading.Thread(target=rank, args=(r,)) for r in range(ranks)])


def tasks_of_a_queue(device, bug):
    jobs, results = queue.Queue(), np.zeros((8, 16))

    def worker():
        stream = et.Stream(device)
        while (n := jobs.get()) is not None:
            stream.submit(produce, results[n], n).result()
            jobs.task_done()

    threads = [threading.Thread(target=worker) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(8):
        jobs.put(n)
    if not bug:
        jobs.join()
    et.Stream(device).submit(consume, results).result()
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join()


def sum_under_a_lock(device, bug):
    lock, total = threading.Lock(), np.zeros(8)

    def worker(n):
        mine = np.zeros(8)
        et.Stream(device).submit(produce, mine, n).result()
        with contextlib.nullcontext() if bug and n == 1 else lock:
            et.host_access(reads=(total, mine), writes=total)
            np.add(total, mine, out=total)

    _run([threading.Thread(target=worker, args=(n,)) for n in range(3)])
    et.host_access(reads=total)


def promise_that_a_thread_keeps(device, bug):
    promise, out = concurrent.futures.Future(), np.zeros(16)

    def worker():
        written = et.Stream(device).submit(produce, out, 1)
        if not bug:
            written.result()
        promise.set_result(None)
        written.result()

    thread = threading.Thread(target=worker)
    thread.start()
    promise.result()
    et.host_access(reads=out)
    thread.join()


def pipe_that_wakes(device, bug):
    (read, write), out = os.pipe(), np.zeros(16)

    def worker():
        stream = et.Stream(device)
        written = stream.submit(produce, out, 1)
        if not bug:
            written.result()
        os.write(write, b"x")
        stream.synchronize()

    thread = threading.Thread(target=worker)
    thread.start()
    os.read(read, 1)
    et.host_access(writes=out)
    thread.join()
    os.close(read)
    os.close(write)


def executor_in_an_event_loop(device, bug):
    async def main():
        stream, batch = et.Stream(device), np.zeros(8)
        loaded = asyncio.get_running_loop().run_in_executor(None, lambda: et.host_access(writes=batch))
        if not bug:
            await loaded
        await stream.submit(consume, batch)
        await loaded

    asyncio.run(main())


def coroutine_of_another_thread(device, bug):
    loop, stream, out = asyncio.new_event_loop(), et.Stream(device), np.zeros(8)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def request():
        written = stream.submit(produce, out, 1)
        if not bug:
            await written

    asyncio.run_coroutine_threadsafe(request(), loop).result()
    et.host_access(reads=out)
    stream.synchronize()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def streams_that_are_lent(device, bug):
    """A pool of streams with scratch memory each; a request borrows one."""
    pool, lock, free = [et.Stream(device) for _ in range(2)], threading.Lock(), threading.Semaphore(2)
    scratch, results = {stream: np.zeros(16) for stream in pool}, [np.zeros(16) for _ in range(6)]
    double = et.work(lambda x, out: np.multiply(x, 2, out=out), name="double", reads="x", writes="out")

    def request(n):
        with free:
            with lock:
                stream = pool[0] if bug else pool.pop()
            stream.submit(produce, scratch[stream], n)
            stream.submit(double, scratch[stream], results[n]).result()
            et.host_access(writes=scratch[stream])
            if not bug:
                with lock:
                    pool.append(stream)

    _run([threading.Thread(target=request, args=(n,)) for n in range(6)])
    et.host_access(reads=results)


def checkpoint_in_a_thread(device, bug):
    train, weights, jobs = et.Stream(device), np.zeros(64), queue.Queue(1)
    step = et.work(lambda w: None, name="step", reads="w", writes="w")
    snapshot = et.work(lambda w, copy: None, name="snapshot", reads="w", writes="copy")

    def saver():
        while (item := jobs.get()) is not None:
            copy, ready = item
            ready.synchronize()
            et.host_access(reads=copy)

    thread = threading.Thread(target=saver)
    thread.start()
    for _ in range(4):
        train.submit(step, weights)
        copy = weights if bug else np.zeros(64)  # the bug: the weights themselves, which the next step changes
        if not bug:
            train.submit(snapshot, weights, copy)
        jobs.put((copy, train.record_event()))
    jobs.put(None)
    thread.join()
    train.synchronize()
