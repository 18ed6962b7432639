"""What Futures, barriers and queues tell orders; what the locks inside of them happen to order does not."""

import asyncio
import concurrent.futures
import queue
import sys
import threading
import weakref
from concurrent.futures import as_completed, wait  # imported by name before anything is patched

import numpy as np
import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background
from tests.unit.declared_work import fill
from tests.unit.test_handover_promises import until


def filled_by_threads(parts):
    """A Future for each part, set by a thread of its own; all are set, which no call has returned yet."""
    futures = [concurrent.futures.Future() for _ in parts]

    def worker(part, future):
        et.host_access(writes=part)
        future.set_result(None)

    threads = [Background(lambda pair=pair: worker(*pair)) for pair in zip(parts, futures, strict=True)]
    until(lambda: all(future._state == "FINISHED" for future in futures))
    return futures, threads


@pytest.mark.parametrize(("others", "races"), [(True, 1), (False, 0)])
def test_as_completed_orders_what_it_yields(others, races):
    with et.sanitize() as findings:
        parts = np.zeros((2, 4))
        futures, threads = filled_by_threads(parts)
        yielded = as_completed(futures)
        first = futures.index(next(yielded))
        et.host_access(reads=parts[1 - first if others else first])
        list(yielded)
        et.host_access(reads=parts)
        for thread in threads:
            thread.result()
    assert [f.kind for f in findings] == ["race"] * races


def test_as_completed_keeps_no_future_that_it_has_yielded():
    with et.sanitize(), concurrent.futures.ThreadPoolExecutor(1) as pool:
        futures = [pool.submit(int) for _ in range(2)]
        yielded = as_completed(futures)
        next(yielded)
        futures.clear()
        gone = weakref.ref(next(yielded))
        assert gone() is None


@pytest.mark.parametrize("when", [concurrent.futures.FIRST_COMPLETED, concurrent.futures.ALL_COMPLETED])
def test_wait_orders_what_it_returns_as_done(when):
    with et.sanitize() as findings:
        parts = np.zeros((2, 4))
        futures, threads = filled_by_threads(parts)
        done, _ = wait(futures, TIMEOUT, return_when=when)
        et.host_access(reads=[parts[futures.index(future)] for future in done])
        wait([concurrent.futures.Future()], 0)
        for thread in threads:
            thread.result()
    assert list(findings) == []


def test_a_pending_wait_for_futures_of_streams_is_after_their_work():
    with et.sanitize() as findings, et.Stream.open("cpu") as one, et.Stream.open("cpu") as two:
        go, parts = threading.Event(), np.zeros((2, 4))
        one.submit(et.work(lambda: go.wait(TIMEOUT), reads=()))
        futures = [one.submit(fill, parts[0]), two.submit(fill, parts[1])]
        waiting = Background(lambda: (wait(futures, TIMEOUT), et.host_access(reads=parts)))
        go.set()
        waiting.result()
    assert list(findings) == []


@pytest.mark.parametrize(("awaited", "races"), [(False, 1), (True, 0)])
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_a_coroutine_is_after_work_when_it_has_awaited_it(device, awaited, races):
    """Also if the work is complete before: asyncio delivers the result in a later step."""

    async def main():
        with et.Stream.open(device) as one, et.Stream.open(device) as two:
            array = np.zeros(4)
            written = one.submit(fill, array)
            wrapped = asyncio.wrap_future(written)
            if awaited:
                await wrapped
            last = two.submit(fill, array)
            await wrapped
            await last

    with et.sanitize() as findings:
        asyncio.run(main())
    assert [f.kind for f in findings] == ["race"] * races


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_await_of_a_complete_event_gives_the_others_a_turn(device):
    turns = []

    async def one(name, stream):
        for _ in range(2):
            await stream.record_event()
            turns.append(name)

    async def main():
        with et.Stream.open(device) as stream:
            await asyncio.gather(one("a", stream), one("b", stream))

    asyncio.run(main())
    assert sorted(turns[:2]) == ["a", "b"]


@pytest.mark.parametrize(("late", "races"), [(True, 1), (False, 0)])
def test_a_barrier_orders_its_rounds(late, races):
    """Who leaves a round late is not after what another thread did before it arrived for the next one."""
    parts, arrived = np.zeros((2, 4)), []

    class Slow(threading.Barrier):
        def _exit(self):
            super()._exit()
            if threading.current_thread() is slow:  # it has the lock: no thread arrives meanwhile
                self._cond.release()
                until(lambda: arrived)
                self._cond.acquire()

    with et.sanitize() as findings:
        barrier = Slow(2) if late else threading.Barrier(2)

        def other():
            et.host_access(writes=parts[0])
            barrier.wait(TIMEOUT)
            et.host_access(writes=parts[1])
            arrived.append(1)
            barrier.wait(TIMEOUT)

        def mine():
            barrier.wait(TIMEOUT)
            et.host_access(reads=parts[0])
            if late:
                et.host_access(reads=parts[1])
            barrier.wait(TIMEOUT)
            et.host_access(reads=parts[1])

        slow = threading.Thread(target=mine)
        thread = Background(other)
        slow.start()
        slow.join(TIMEOUT)
        thread.result()
    assert [f.kind for f in findings] == ["race"] * races


def test_the_action_of_a_barrier_is_between_its_rounds():
    array = np.zeros((2, 4))
    with et.sanitize() as findings:
        barrier = threading.Barrier(2, action=lambda: et.host_access(writes=array))

        def side(n):
            et.host_access(writes=array[n])
            barrier.wait(TIMEOUT)
            et.host_access(reads=array)

        thread = Background(lambda: side(1))
        side(0)
        thread.result()
    assert list(findings) == []


def test_a_broken_barrier_raises_as_ever():
    with et.sanitize():
        barrier = threading.Barrier(2)
        with pytest.raises(threading.BrokenBarrierError):
            barrier.wait(0)
        barrier.reset()
        thread = Background(lambda: barrier.wait(TIMEOUT))
        assert barrier.wait(TIMEOUT) in {0, 1}
        thread.result()


def test_the_same_item_on_a_stack_is_that_of_the_last_put():
    array = np.zeros(4)
    with et.sanitize() as findings:
        stack = queue.LifoQueue()
        stack.put("free")
        thread = Background(lambda: (et.host_access(writes=array), stack.put("free")))
        until(lambda: stack.qsize() == 2)
        stack.get()
        et.host_access(reads=array)
        thread.result()
    assert list(findings) == []


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Queue.shutdown came with Python 3.13")
def test_who_finds_a_queue_shut_down_is_after_that():
    array = np.zeros(4)
    with et.sanitize() as findings:
        waiting = queue.Queue()
        thread = Background(lambda: (et.host_access(writes=array), waiting.shutdown()))
        with pytest.raises(queue.ShutDown):
            waiting.get(timeout=TIMEOUT)
        et.host_access(reads=array)
        thread.result()
    assert list(findings) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: threading.Lock,
        lambda: threading.RLock,
        lambda: threading.Semaphore(1).acquire,
        lambda: threading.Semaphore(1).release,
        lambda: threading.Event().set,
        lambda: threading.Event().is_set,
        lambda: threading.Condition().acquire,
        lambda: queue.Queue().qsize,
        lambda: concurrent.futures.Future().done,
    ],
)
def test_a_traced_function_can_be_the_work_itself(make):
    """Then no frame of Python has called it."""
    with et.sanitize(), et.Stream.open("cpu") as stream:
        stream.submit(et.work(make(), name="itself", reads=())).result(TIMEOUT)
