"""Servers, callbacks, thread pools and stencils."""

import asyncio
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


def asyncio_server(device, bug):
    async def handle(number, model, stream, answers):
        answer = np.zeros(16)
        stream.submit(transform, model, answer)
        if not bug:
            await stream.record_event()
        et.host_access(reads=answer)
        answers.append(answer[0])
        await stream.record_event()

    async def main():
        model, answers = np.ones(16), []
        streams = [et.Stream(device) for _ in range(2)]
        await asyncio.gather(*(handle(n, model, streams[n % 2], answers) for n in range(6)))

    asyncio.run(main())


def asyncio_with_threads(device, bug):
    async def main():
        shared, stream, other = np.zeros(32), et.Stream(device), et.Stream(device)

        def load():
            stream.submit(produce, shared, 1)
            if not bug:
                stream.synchronize()

        await asyncio.to_thread(load)
        await asyncio.wrap_future(other.submit(consume, shared))
        stream.synchronize()

    asyncio.run(main())


def model_is_replaced(device, bug):
    """A server whose model is updated while requests run."""
    serve, update = et.Stream(device), et.Stream(device)
    model = np.ones(64)
    requests = [serve.submit(consume, model) for _ in range(3)]
    if bug:
        update.submit(produce, model, 2)
    else:
        fresh = np.zeros(64)
        update.submit(produce, fresh, 2)
        serve.wait_event(update.record_event())
        requests.append(serve.submit(consume, fresh))
    for request in requests:
        request.result()
    et.synchronize(device)


def completion_callback(device, bug):
    stream, out, seen = et.Stream(device), np.zeros(32), queue.Queue()
    stream.submit(produce, out, 5)
    done = stream.record_event()
    if bug:
        seen.put(None)  # a callback that is called at once
    else:
        done.notify(lambda _: seen.put(None))
        stream.synchronize()
    seen.get()
    et.host_access(reads=out)
    stream.synchronize()


def callback_of_a_future(device, bug):
    stream, other, out = et.Stream(device), et.Stream(device), np.zeros(32)
    finished = threading.Event()
    future = stream.submit(produce, out, 5)
    (finished.set() if bug else future.add_done_callback(lambda _: finished.set()))
    if not bug:
        future.result()
    finished.wait()
    other.submit(consume, out).result()
    stream.synchronize()


def pool_of_threads(device, bug):
    results, together = [np.zeros(16) for _ in range(4)], threading.Barrier(4)

    def job(n):
        together.wait()
        stream = et.Stream(device)
        stream.submit(produce, results[0 if bug and n == 3 else n], n)
        stream.synchronize()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(job, range(4)))
    et.host_access(reads=results)


def pool_of_multiprocessing(device, bug):
    stream, data = et.Stream(device), np.zeros(64)

    def fill(n):
        et.host_access(writes=data[n * 16 : n * 16 + 16])
        data[n * 16 : n * 16 + 16] = n

    with ThreadPool(4) as pool:
        waiting = pool.map_async(fill, range(4))
        if not bug:
            waiting.get()
        stream.submit(consume, data).result()
        waiting.get()


def halo_exchange(device, bug):
    ranks = [et.Stream(device, name=f"rank {n}") for n in range(3)]
    fields, halos = [np.zeros(34) for _ in ranks], [np.zeros(2) for _ in ranks]
    stencil = et.work(lambda field, halo: None, name="stencil", reads="halo", writes="field")
    for _ in range(2):
        ready = []
        for n, stream in enumerate(ranks):
            stream.submit(stencil, fields[n], halos[n])
            ready.append(stream.record_event())
        for n, stream in enumerate(ranks):
            neighbours = [m for m in (n - 1, n + 1) if 0 <= m < 3]
            for m in neighbours if not bug else neighbours[:1]:
                stream.wait_event(ready[m])
            edges = [fields[m][0:1] if m > n else fields[m][-1:] for m in neighbours]
            stream.submit(et.work(lambda: None, name="pull", reads=edges, writes=halos[n]))
        pulled = [stream.record_event() for stream in ranks]
        for stream in ranks:  # before the next step changes the fields
            for event in pulled:
                stream.wait_event(event)
    et.synchronize(device)


def stencil_of_two_grids(device, bug):
    top, bottom = et.Stream(device), et.Stream(device)
    old, new = np.zeros((32, 32)), np.zeros((32, 32))
    for _ in range(3):
        top.submit(transform, old[:17] if bug else old[:16], new[:17] if bug else new[:16])  # the bug: one row too many
        bottom.submit(transform, old[16:], new[16:])
        done = top.record_event(), bottom.record_event()
        top.wait_event(done[1])
        bottom.wait_event(done[0])
        old, new = new, old
    et.synchronize(device)
