"""Event loops: queues of coroutines, groups of tasks, locks and conditions of asyncio, threads beside the loop."""

import asyncio
import contextlib
import queue
import threading

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


def server_with_workers(device, bug):
    """Requests in a queue, coroutines that serve them, a Future for each answer."""

    async def worker(requests, stream, scratch):
        while (item := await requests.get()) is not None:
            batch, answer, done = item
            stream.submit(transform, batch, scratch)
            stream.submit(transform, scratch, answer)
            await stream.record_event()
            done.set_result(None)

    async def main():
        requests, loop = asyncio.Queue(4), asyncio.get_running_loop()
        scratch = [np.zeros(8) for _ in range(2)]
        workers = [asyncio.create_task(worker(requests, et.Stream(device), scratch[0 if bug else n])) for n in range(2)]
        answers = []
        for n in range(6):
            answers.append((np.full(8, n), np.zeros(8), loop.create_future()))
            await requests.put(answers[-1])
        for _, answer, done in answers:
            await done
            et.host_access(reads=answer)
        for _ in workers:
            await requests.put(None)
        await asyncio.gather(*workers)

    asyncio.run(main())


def group_of_tasks(device, bug):
    async def part(stream, out, n):
        written = stream.submit(produce, out, n)
        if not (bug and n == 1):
            await written

    async def main():
        streams, data = [et.Stream(device) for _ in range(3)], np.zeros((3, 8))
        async with asyncio.TaskGroup() as group:
            for n, stream in enumerate(streams):
                group.create_task(part(stream, data[n], n))
        await et.Stream(device).submit(consume, data)
        for stream in streams:
            await stream

    asyncio.run(main())


def as_each_completes(device, bug):
    async def main():
        streams, data = [et.Stream(device) for _ in range(3)], np.zeros((3, 8))

        async def fill(n):
            written = streams[n].submit(produce, data[n], n)
            if not bug:
                await written
            return n

        for one in asyncio.as_completed([fill(n) for n in range(3)]):
            et.host_access(reads=data[await one])
        for stream in streams:
            await stream

    asyncio.run(main())


def lock_of_coroutines(device, bug):
    """A model that coroutines use in turn, on streams of their own."""

    async def main():
        lock, model = asyncio.Lock(), np.zeros(16)

        async def update(stream, n):
            async with contextlib.nullcontext() if bug else lock:
                await stream.submit(produce, model, n)

        await asyncio.gather(*(update(et.Stream(device), n) for n in range(3)))
        et.host_access(reads=model)

    asyncio.run(main())


def at_most_two_at_a_time(device, bug):
    """A semaphore of asyncio and two buffers."""

    async def main():
        room, free = asyncio.Semaphore(3 if bug else 2), [np.zeros(8), np.zeros(8)]
        if bug:
            free.append(free[0])

        async def request(n):
            async with room:
                buffer = free.pop()
                await et.Stream(device).submit(produce, buffer, n)
                free.append(buffer)

        await asyncio.gather(*(request(n) for n in range(6)))

    asyncio.run(main())


def condition_of_coroutines(device, bug):
    async def main():
        changed, ready, stream, out = asyncio.Condition(), [], et.Stream(device), np.zeros(8)

        async def writer():
            written = stream.submit(produce, out, 1)
            if not bug:
                await written
            async with changed:
                ready.append(1)
                changed.notify_all()

        async def reader():
            async with changed:
                await changed.wait_for(lambda: ready)
            et.host_access(reads=out)

        await asyncio.gather(reader(), writer())
        await stream

    asyncio.run(main())


def stream_of_results(device, bug):
    """An asynchronous generator with two buffers."""

    async def frames(stream, buffers):
        for n in range(6):
            buffer = buffers[n % 2]
            written = stream.submit(produce, buffer, n)
            if not bug:
                await written
            yield buffer

    async def main():
        stream, show = et.Stream(device), et.Stream(device)
        async for frame in frames(stream, [np.zeros(8), np.zeros(8)]):
            await show.submit(consume, frame)
        await stream

    asyncio.run(main())


def loader_thread_and_loop(device, bug):
    """A thread loads, and wakes the loop by call_soon_threadsafe."""

    async def main():
        loop, ready, step = asyncio.get_running_loop(), asyncio.Queue(), et.Stream(device)

        def load():
            stream = et.Stream(device)
            for n in range(4):
                batch = np.zeros(8)
                written = stream.submit(produce, batch, n)
                if not bug:
                    written.result()
                loop.call_soon_threadsafe(ready.put_nowait, batch)
            loop.call_soon_threadsafe(ready.put_nowait, None)
            stream.synchronize()

        thread = threading.Thread(target=load)
        thread.start()
        while (batch := await ready.get()) is not None:
            await step.submit(consume, batch)
        thread.join()

    asyncio.run(main())


def event_of_the_loop(device, bug):
    async def main():
        loop, filled, batch = asyncio.get_running_loop(), asyncio.Event(), np.zeros(8)

        def load():
            et.host_access(writes=batch)
            loop.call_soon_threadsafe(filled.set)
            if bug:
                et.host_access(writes=batch)

        thread = threading.Thread(target=load)
        thread.start()
        await filled.wait()
        await et.Stream(device).submit(consume, batch)
        thread.join()

    asyncio.run(main())


def blocking_queue_in_a_thread(device, bug):
    """Coroutines wait for a queue of threads by to_thread."""
    batches = queue.Queue(1)

    def load():
        stream = et.Stream(device)
        for n in range(3):
            batch = np.zeros(8)
            stream.submit(produce, batch, n)
            batches.put((batch, None if bug else stream.record_event()))
        batches.put(None)
        stream.synchronize()

    async def main():
        step = et.Stream(device)
        loading = asyncio.to_thread(load)
        task = asyncio.create_task(loading)
        while (item := await asyncio.to_thread(batches.get)) is not None:
            batch, ready = item
            if ready is not None:
                step.wait_event(ready)
            await step.submit(consume, batch)
        await task

    asyncio.run(main())


def two_loops(device, bug):
    """Loops in two threads; the second queries the first."""
    stream, model, loop = et.Stream(device), np.zeros(8), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def update():
        written = stream.submit(produce, model, 2)
        if not bug:
            await written

    async def client():
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(update(), loop))
        et.host_access(reads=model)

    asyncio.run(client())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    stream.synchronize()
