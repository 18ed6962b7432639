"""Pipelines and data loaders: stages on streams, batches that are reused, threads that load."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import eventide as et
from tests.sanitized.buffers import consume, produce, transform


def three_stages(device, bug):
    read, work, write = (et.Stream(device, name=name) for name in ("read", "work", "write"))
    for n in range(4):
        raw, cooked = np.zeros(64), np.zeros(64)
        read.submit(produce, raw, n)
        if not bug:
            work.wait_event(read.record_event())
        work.submit(transform, raw, cooked)
        write.wait_event(work.record_event())
        write.submit(consume, cooked)
    write.synchronize()
    et.synchronize(device)


def fan_out_and_in(device, bug):
    main, helpers = et.Stream(device), [et.Stream(device) for _ in range(3)]
    source, parts = np.zeros(90), [np.zeros(90) for _ in range(3)]
    main.submit(produce, source, 1)
    ready = main.record_event()
    for n, helper in enumerate(helpers):
        helper.wait_event(ready)
        helper.submit(transform, source, parts[n])
        if not (bug and n == 2):  # the bug: the last one is forgotten
            main.wait_event(helper.record_event())
    main.submit(et.work(lambda: sum(map(np.sum, parts)), name="join", reads=parts)).result()
    et.synchronize(device)


def loader_thread(device, bug):
    step = et.Stream(device, name="step")
    batches = queue.Queue(2)

    def load():
        stream = et.Stream(device, name="loader")
        for n in range(4):
            batch = np.zeros(64)
            stream.submit(produce, batch, n)
            batches.put((batch, None if bug else stream.record_event()))  # without the event it is not known when
        stream.synchronize()
        batches.put(None)

    thread = threading.Thread(target=load)
    thread.start()
    while (item := batches.get()) is not None:
        batch, ready = item
        if ready is not None:
            step.wait_event(ready)
        step.submit(consume, batch)
    thread.join()
    step.synchronize()


def prefetch_with_an_executor(device, bug):
    step, batch = et.Stream(device), [np.zeros(32), np.zeros(32)]

    def load(n):
        out = batch[0 if bug else n % 2]  # the bug: the next batch is loaded into the one in use
        out[:] = n
        et.host_access(writes=out)
        return out

    with ThreadPoolExecutor(1) as executor:
        coming = executor.submit(load, 0)
        for n in range(1, 5):
            now = coming.result()
            coming = executor.submit(load, n)
            step.submit(consume, now)
            coming.result() if bug else step.synchronize()
            if not bug:
                coming.result()
        coming.result()
    step.synchronize()


def batch_is_reused(device, bug):
    load, step = et.Stream(device), et.Stream(device)
    batch = np.zeros(512)
    for n in range(5):
        load.submit(produce, batch, n)
        step.wait_event(load.record_event())
        done = step.submit(consume, batch)
        if not bug:
            done.result()  # before the next one is loaded
    step.synchronize()


def copy_to_the_device_and_back(device, bug):
    up, run = et.Stream("cpu"), et.Stream("cpu")  # sim does not copy
    host, there = np.ones(64), et.empty(512)
    up.copy(there, host)
    if not bug:
        run.wait_event(up.record_event())
    run.submit(et.work(lambda: None, name="kernel", reads=there, writes=there))
    run.copy(host, there)
    run.synchronize()
    up.synchronize()
    et.host_access(reads=host)
