"""Pools of threads: as_completed, wait, map, nested submits, callbacks, initializers, priorities."""

import concurrent.futures
import multiprocessing.dummy
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


def results_as_they_complete(device, bug):
    """No call of result(): a Future that is yielded is done."""
    parts = [np.zeros(16) for _ in range(4)]

    def job(n):
        stream = et.Stream(device)
        written = stream.submit(produce, parts[n], n)
        if not bug:
            written.result()
        return stream

    with ThreadPoolExecutor(2) as pool:
        jobs = {pool.submit(job, n): n for n in range(4)}
        for done in concurrent.futures.as_completed(jobs):
            et.host_access(reads=parts[jobs[done]])
    et.synchronize(device)


def the_first_that_completes(device, bug):
    parts, go = [np.zeros(16) for _ in range(2)], threading.Event()

    def job(n):
        if n:
            go.wait()
        et.Stream(device).submit(produce, parts[n], n).result()

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(job, n) for n in range(2)]
        concurrent.futures.wait(jobs, return_when=concurrent.futures.FIRST_COMPLETED)
        go.set()
        et.host_access(reads=parts if bug else parts[0])
        concurrent.futures.wait(jobs)
        et.host_access(reads=parts)


def wait_for_futures_of_streams(device, bug):
    streams, parts = [et.Stream(device) for _ in range(3)], [np.zeros(16) for _ in range(3)]
    written = [stream.submit(produce, part, 1) for stream, part in zip(streams, parts, strict=True)]
    concurrent.futures.wait(written[: 2 if bug else 3])
    et.Stream(device).submit(et.work(lambda: None, name="sum", reads=parts)).result()
    et.synchronize(device)


def futures_of_streams_as_they_complete(device, bug):
    streams, parts = [et.Stream(device) for _ in range(3)], [np.zeros(16) for _ in range(3)]
    written = {stream.submit(produce, parts[n], n): n for n, stream in enumerate(streams)}
    for done in concurrent.futures.as_completed(written):
        et.host_access(reads=parts[(written[done] + bug) % 3])
    et.synchronize(device)


def jobs_that_submit_jobs(device, bug):
    tree = np.zeros(8)

    def node(first, last):
        if last - first == 1:
            stream = et.Stream(device)
            written = stream.submit(produce, tree[first:last], first)
            if not (bug and first == 3):
                written.result()
            return [stream]
        middle = (first + last) // 2
        both = pool.submit(node, first, middle), pool.submit(node, middle, last)
        streams = both[0].result() + both[1].result()
        et.host_access(reads=tree[first:last])
        return streams

    with ThreadPoolExecutor(16) as pool:
        pool.submit(node, 0, 8).result()
    et.synchronize(device)


def pool_that_is_left(device, bug):
    """No call of result(): shutdown joins the threads."""
    data = np.zeros(40)

    def fill(n):
        et.host_access(writes=data[10 * n : 10 * n + 10])

    pool = ThreadPoolExecutor(4)
    for n in range(4):
        pool.submit(fill, n)
    pool.shutdown(wait=not bug)
    et.Stream(device).submit(consume, data).result()
    pool.shutdown()


def a_stream_for_each_thread(device, bug):
    own, results = threading.local(), np.zeros((6, 8))

    def prepare():
        own.stream, own.scratch = et.Stream(device), np.zeros(8)

    def job(n):
        scratch = shared if bug else own.scratch
        own.stream.submit(produce, scratch, n)
        own.stream.submit(transform, scratch, results[n]).result()
        together.wait()

    shared, together = np.zeros(8), threading.Barrier(2)
    with ThreadPoolExecutor(2, initializer=prepare) as pool:
        list(pool.map(job, range(6)))
    et.host_access(reads=results)


def callbacks_of_a_pool(device, bug):
    """The callback of a job runs in the thread of the pool and hands over to the main thread."""
    parts, done = [np.zeros(8) for _ in range(3)], queue.SimpleQueue()

    def job(n):
        stream = et.Stream(device)
        written = stream.submit(produce, parts[n], n)
        if not bug:
            written.result()
        return n, written

    with ThreadPoolExecutor(3) as pool:
        for n in range(3):
            pool.submit(job, n).add_done_callback(lambda future: done.put(future.result()))
        for _ in range(3):
            n, written = done.get()
            et.host_access(writes=parts[n])
            written.result()


def countdown_of_callbacks(device, bug):
    """The last of several callbacks sets an Event."""
    streams, parts = [et.Stream(device) for _ in range(3)], [np.zeros(8) for _ in range(3)]
    lock, left, end = threading.Lock(), [2 if bug else 3], threading.Event()

    def one_less(_):
        with lock:
            left[0] -= 1
            if left[0] == 0:
                end.set()

    for n, stream in enumerate(streams):
        written = stream.submit(produce, parts[n], n)
        if not (bug and n == 2):
            written.add_done_callback(one_less)
    end.wait()
    et.host_access(reads=parts)
    et.synchronize(device)


def jobs_by_priority(device, bug):
    jobs, results = queue.PriorityQueue(), np.zeros((4, 8))
    ready = queue.LifoQueue()

    def worker():
        stream = et.Stream(device)
        while True:
            _, n = jobs.get()
            if n is None:
                break
            written = stream.submit(produce, results[n], n)
            if not bug:
                written.result()
            ready.put(n)
        stream.synchronize()

    thread = threading.Thread(target=worker)
    thread.start()
    for n in range(4):
        jobs.put((4 - n, n))
    for _ in range(4):
        et.host_access(reads=results[ready.get()])
    jobs.put((9, None))
    thread.join()


def free_list_on_a_stack(device, bug):
    """Numbers of free slots on a stack; two threads take and give back."""
    slots, free = np.zeros((2, 16)), queue.LifoQueue()
    for n in range(2):
        free.put(n)

    def request(number):
        stream = et.Stream(device)
        slot = free.get()
        written = stream.submit(produce, slots[slot], number)
        if not bug:
            written.result()
        free.put(slot)
        stream.synchronize()

    threads = [threading.Thread(target=request, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def results_in_any_order(device, bug):
    data = np.zeros((6, 8))

    def fill(n):
        stream = et.Stream(device)
        written = stream.submit(produce, data[n], n)
        if not bug:
            written.result()
        return n, stream

    with ThreadPool(2) as pool:
        for n, _ in pool.imap_unordered(fill, range(6)):
            et.host_access(reads=data[n])
    et.synchronize(device)


def asynchronous_results(device, bug):
    data, seen = np.zeros((3, 8)), []

    def fill(n):
        et.host_access(writes=data[n])
        return n

    with ThreadPool(3) as pool:
        asked = [pool.apply_async(fill, (n,), callback=seen.append) for n in range(3)]
        for one in asked if not bug else ():
            one.get()
        et.Stream(device).submit(consume, data).result()
        for one in asked:
            one.wait()


def threads_named_as_processes(device, bug):
    data = np.zeros((2, 8))

    def fill(n):
        stream = et.Stream(device)
        stream.submit(produce, data[n], n)
        stream.synchronize()

    workers = [multiprocessing.dummy.Process(target=fill, args=(n,)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers[: 1 if bug else 2]:
        worker.join()
    et.host_access(reads=data)
    for worker in workers:
        worker.join()


def asked_whether_it_is_done(device, bug):
    """Polls Futures, and reads what is done."""
    streams, parts = [et.Stream(device) for _ in range(2)], [np.zeros(8) for _ in range(2)]
    waiting = {n: stream.submit(produce, parts[n], n) for n, stream in enumerate(streams)}
    if bug:
        et.host_access(reads=parts[1])
    while waiting:
        for n in [n for n, future in waiting.items() if future.done()]:
            et.host_access(writes=parts[n])
            del waiting[n]
        next(iter(streams)).synchronize() if device == "cpu" else et.synchronize(device)
