"""A hand-over orders what it promises, and not what the locks inside of a queue or an executor happen to order."""

import asyncio
import concurrent.futures
import queue
import threading
import time

import numpy as np
import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background


def until(happened):
    """Wait for it by memory alone, which hands nothing over."""
    end = time.monotonic() + TIMEOUT
    while not happened():
        assert time.monotonic() < end
        time.sleep(0)


@pytest.mark.parametrize(("acquired", "races"), [(1, 1), (2, 0)])
def test_an_acquisition_receives_one_release_of_a_semaphore(acquired, races):
    parts = np.zeros((2, 4))
    with et.sanitize() as findings:
        semaphore = threading.Semaphore(0)
        workers = [Background(lambda part=part: (et.host_access(writes=part), semaphore.release())) for part in parts]
        until(lambda: semaphore._value == 2)
        for _ in range(acquired):
            semaphore.acquire()
        et.host_access(reads=parts)
        for worker in workers:
            worker.result()
    assert [(f.kind, f.doubt) for f in findings] == [("race", "unseen")] * races


def test_the_first_permits_of_a_semaphore_order_nothing():
    array = np.zeros(4)
    with et.sanitize() as findings:
        semaphore = threading.BoundedSemaphore(2)
        written = []

        def worker():
            with semaphore:
                et.host_access(writes=array)
            written.append(1)

        thread = Background(worker)
        until(lambda: written)
        with semaphore:
            et.host_access(writes=array)
        with semaphore:
            et.host_access(reads=array)  # after the two, as far as the semaphore counts
        thread.result()
        with pytest.raises(ValueError, match="too many"):
            semaphore.release()
    assert [f.kind for f in findings] == ["race"]


@pytest.mark.parametrize(("puts", "races"), [(1, 1), (2, 0)])
def test_a_bounded_queue_orders_a_put_after_the_get_that_made_room(puts, races):
    array, read = np.zeros(4), []
    with et.sanitize() as findings:
        waiting = queue.Queue(1)

        def consumer():
            waiting.get()
            et.host_access(reads=array)
            read.append(waiting.empty())
            for _ in range(puts):
                waiting.get()

        waiting.put(0)
        thread = Background(consumer)
        until(lambda: read)
        for n in range(puts):
            waiting.put(n)
        et.host_access(writes=array)
        thread.result()
    assert [f.kind for f in findings] == ["race"] * races


@pytest.mark.parametrize(("joined", "races"), [(False, 1), (True, 0)])
def test_only_join_waits_for_the_tasks_of_a_queue(joined, races):
    array = np.zeros(4)
    with et.sanitize() as findings:
        jobs = queue.Queue()

        def worker():
            jobs.get()
            et.host_access(writes=array)
            jobs.task_done()

        thread = Background(worker)
        jobs.put(1)
        until(lambda: jobs.unfinished_tasks == 0)
        jobs.join() if joined else jobs.qsize()
        et.host_access(reads=array)
        thread.result()
    assert [f.kind for f in findings] == ["race"] * races


def test_a_submission_to_an_executor_receives_nothing_of_its_threads():
    array = np.zeros(4)
    with et.sanitize() as findings, concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: et.host_access(writes=array))
        until(lambda: pool._idle_semaphore._value == 1)
        pool.submit(int)
        et.host_access(reads=array)
    assert [f.kind for f in findings] == ["race"]


@pytest.mark.parametrize(("awaited", "races"), [(False, 1), (True, 0)])
def test_a_coroutine_receives_the_result_of_a_thread_when_it_awaits_it(awaited, races):
    array = np.zeros(4)

    async def main():
        future = concurrent.futures.Future()
        thread = Background(lambda: (et.host_access(writes=array), future.set_result(None)))
        until(lambda: future._state == "FINISHED")
        wrapped = asyncio.wrap_future(future)
        if awaited:
            await wrapped
        et.host_access(reads=array)
        thread.result()
        await wrapped

    with et.sanitize() as findings:
        asyncio.run(main())
    assert [f.kind for f in findings] == ["race"] * races


def test_counting_begins_again_with_the_next_sanitizer():
    waiting, array = queue.Queue(1), np.zeros(4)
    with et.sanitize():
        waiting.put(1)
    waiting.get()
    for _ in range(2):
        waiting.put(1)
        waiting.get()
    with et.sanitize() as findings:
        waiting.put(1)

        def consumer():
            et.host_access(writes=array)
            waiting.get()

        thread = Background(consumer)
        waiting.put(2)
        et.host_access(writes=array)
        thread.result()
    assert list(findings) == []
