"""Work that submits and waits, callbacks that submit, finalizers, objects with a life of their own."""

import gc
import queue
import threading
import weakref

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


def work_that_waits_for_its_parts(device, bug):
    """The outer work is complete after the inner one, which it waits for."""
    outer, inner, x = et.Stream(device), et.Stream(device), np.zeros(8)

    def run():
        part = inner.submit(produce, x, 1)
        if not bug:
            part.result()

    outer.submit(et.work(run, name="outer", reads=())).result()
    et.host_access(reads=x)
    et.synchronize(device)


def work_that_submits_and_orders(device, bug):
    main, side, x, y = et.Stream(device), et.Stream(device), np.zeros(8), np.zeros(8)

    def run():
        side.submit(transform, x, y)
        if not bug:
            side.synchronize()

    main.submit(produce, x, 1)
    main.submit(et.work(run, name="fork", reads=()))
    main.submit(consume, y).result()
    et.synchronize(device)


def work_that_continues_itself(device, bug):
    """Each step submits the next one to the same stream."""
    stream, other, x, end = et.Stream(device), et.Stream(device), np.zeros(8), threading.Event()

    def step(n):
        stream.submit(produce, x, n)
        if n < 3:
            stream.submit(et.work(step, name="step", reads=()), n + 1)
        else:
            stream.submit(et.work(end.set, name="end", reads=()))

    stream.submit(et.work(step, name="step", reads=()), 0)
    while not (bug or end.wait(0)):
        et.synchronize(device)  # of what was submitted so far
    other.submit(consume, x).result()
    et.synchronize(device)


def buffers_come_back_when_they_are_dropped(device, bug):
    """A finalizer gives the memory of a batch back to the pool; the batch is dropped when it was used."""

    class Batch:
        def __init__(self, memory):
            self.memory = memory

    load, step, pool = et.Stream(device), et.Stream(device), [np.zeros(16)]
    for n in range(4):
        memory = pool.pop()
        batch = Batch(memory)
        weakref.finalize(batch, pool.append, memory)
        load.submit(produce, batch.memory, n)
        step.wait_event(load.record_event())
        used = step.submit(consume, batch.memory)
        if not bug:
            used.result()
        del batch
        gc.collect(0)
    et.synchronize(device)


def cache_of_weak_references(device, bug):
    class Table:
        def __init__(self, stream, n):
            self.values = np.zeros(16)
            self.ready = stream.submit(produce, self.values, n)

    cache, build, use = weakref.WeakValueDictionary(), et.Stream(device), et.Stream(device)
    for n in (1, 2, 1, 2, 3):
        table = cache.get(n)
        if table is None:
            table = cache[n] = Table(build, n)
        if not bug:
            table.ready.result()
        use.submit(consume, table.values).result()
    et.synchronize(device)


def stages_linked_by_callbacks(device, bug):
    """Each stage is submitted by the callback of the one before; the last callback wakes the main thread."""
    streams, data, end = [et.Stream(device) for _ in range(3)], [np.zeros(8) for _ in range(4)], queue.Queue()

    def stage(n):
        done = streams[n].submit(transform, data[n], data[n + 1])
        if n == 2:
            done.add_done_callback(lambda _: end.put(None))
        elif bug:
            stage(n + 1)
        else:
            done.add_done_callback(lambda _: stage(n + 1))

    stage(0)
    end.get()
    et.host_access(reads=data)
    et.synchronize(device)


def notified_by_an_event(device, bug):
    """The notifier thread submits the next chunk when an event is complete."""
    copy, compute, chunk, sums = et.Stream(device), et.Stream(device), np.zeros(8), np.zeros(8)
    left, end = [3], threading.Event()

    def again(_event):
        left[0] -= 1
        if left[0] == 0:
            return end.set()
        return one()

    def one():
        copy.submit(produce, chunk, left[0])
        if not bug:
            compute.wait_event(copy.record_event())
        compute.submit(transform, chunk, sums)
        compute.record_event().notify(again)

    one()
    while not end.wait(0):
        et.synchronize(device)
    et.host_access(reads=sums)
    et.synchronize(device)


def producer_that_is_closed(device, bug):
    """A generator whose cleanup drains its stream."""
    out = np.zeros(8)

    def batches():
        stream = et.Stream(device)
        try:
            for n in range(5):
                stream.submit(produce, out, n)
                yield stream.record_event()
        finally:
            if not bug:
                stream.synchronize()

    step = et.Stream(device)
    source = batches()
    for n, ready in enumerate(source):
        step.wait_event(ready)
        step.submit(consume, out).result()
        if n == 2:
            break
        step.synchronize()
    next(source)
    source.close()
    et.host_access(reads=out)
    et.synchronize(device)


def object_with_a_worker(device, bug):
    """An actor: a thread, a mailbox, a reply for each message."""

    class Actor(threading.Thread):
        def __init__(self):
            super().__init__(daemon=True)
            self.mailbox, self.state, self.stream = queue.Queue(), np.zeros(8), et.Stream(device)

        def run(self):
            while (message := self.mailbox.get()) is not None:
                values, reply = message
                written = self.stream.submit(transform, values, self.state)
                if not bug:
                    written.result()
                reply.put(self.state)
            self.stream.synchronize()

    actor = Actor()
    actor.start()
    for n in range(3):
        reply = queue.Queue()
        actor.mailbox.put((np.full(8, n), reply))
        et.host_access(reads=reply.get())
    actor.mailbox.put(None)
    actor.join()


def readers_and_a_writer(device, bug):
    """A lock for many readers or one writer, made of a Condition."""

    class Shared:
        def __init__(self):
            self.condition, self.readers = threading.Condition(), 0

        def read(self, use):
            with self.condition:
                self.readers += 1
            use()
            with self.condition:
                self.readers -= 1
                self.condition.notify_all()

        def write(self, use):
            if bug:
                return use()
            with self.condition:
                self.condition.wait_for(lambda: not self.readers)
                return use()

    shared, table, reading = Shared(), np.zeros(16), threading.Semaphore(0)

    def reader():
        stream = et.Stream(device)

        def use():
            used = stream.submit(consume, table)
            reading.release()
            used.result()

        shared.read(use)

    threads = [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        reading.acquire()
    shared.write(lambda: et.Stream(device).submit(produce, table, 2).result())
    for thread in threads:
        thread.join()


def swap_at_a_barrier(device, bug):
    """Two threads fill and read two buffers, and swap them at a barrier."""
    barrier, buffers = threading.Barrier(2), [np.zeros(8), np.zeros(8)]

    def side(first):
        stream = et.Stream(device)
        for n in range(4):
            mine = buffers[(first + n) % 2]
            stream.submit(produce if first else consume, mine, *([n] if first else []))
            if not (bug and first and n == 2):
                stream.synchronize()
            barrier.wait()
        stream.synchronize()

    threads = [threading.Thread(target=side, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def timer_thread_that_stops(device, bug):
    """A thread that samples until an Event is set."""
    stop, gauge, stream = threading.Event(), np.zeros(4), et.Stream(device)

    def sample():
        while True:
            stream.submit(produce, gauge, 1).result()
            if stop.wait(0.001):
                break

    thread = threading.Thread(target=sample)
    thread.start()
    stop.set()
    if not bug:
        thread.join()
    et.host_access(writes=gauge)
    thread.join()
