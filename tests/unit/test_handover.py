"""Host threads that hand over to each other, under the sanitizer."""

import asyncio
import multiprocessing.connection
import os
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest

import eventide as et
from eventide.backends.sim import Sim
from tests.helpers import TIMEOUT, Background
from tests.unit.declared_work import fill, total


def hand_over_with_queue(first, second):
    q: queue.Queue[int] = queue.Queue()
    thread = threading.Thread(target=lambda: (first(), q.put(1)))
    thread.start()
    q.get(timeout=TIMEOUT)
    second()
    thread.join(TIMEOUT)


def hand_over_with_join(first, second):
    thread = threading.Thread(target=first)
    thread.start()
    thread.join(TIMEOUT)
    second()


def hand_over_with_start(first, second):
    first()
    thread = threading.Thread(target=second)
    thread.start()
    thread.join(TIMEOUT)


def hand_over_with_event(first, second):
    event = threading.Event()
    thread = threading.Thread(target=lambda: (first(), event.set()))
    thread.start()
    assert event.wait(TIMEOUT)
    second()
    thread.join(TIMEOUT)


def hand_over_with_lock(first, second):
    lock = threading.Lock()
    lock.acquire()
    thread = threading.Thread(target=lambda: (first(), lock.release()))
    thread.start()
    with lock:
        second()
    thread.join(TIMEOUT)


def hand_over_with_condition(first, second, condition=None):
    condition, done = condition or threading.Condition(), []

    def work():
        first()
        with condition:
            done.append(1)
            condition.notify_all()

    thread = threading.Thread(target=work)
    thread.start()
    with condition:
        assert condition.wait_for(lambda: done, TIMEOUT)
    second()
    thread.join(TIMEOUT)


def hand_over_with_semaphore(first, second):
    semaphore = threading.Semaphore(0)
    thread = threading.Thread(target=lambda: (first(), semaphore.release()))
    thread.start()
    assert semaphore.acquire(timeout=TIMEOUT)
    second()
    thread.join(TIMEOUT)


def hand_over_with_future(first, second):
    with ThreadPoolExecutor(1) as executor:
        executor.submit(first).result(TIMEOUT)
        second()


def hand_over_with_simple_queue(first, second):
    q = queue.SimpleQueue()
    thread = threading.Thread(target=lambda: (first(), q.put(1)))
    thread.start()
    assert q.get(timeout=TIMEOUT) == 1
    second()
    thread.join(TIMEOUT)


def hand_over_with_event_loop(first, second):
    async def main():
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        thread = threading.Thread(target=lambda: (first(), loop.call_soon_threadsafe(done.set)))
        thread.start()
        await asyncio.wait_for(done.wait(), TIMEOUT)
        second()
        thread.join(TIMEOUT)

    asyncio.run(main())


def hand_over_with_to_thread(first, second):
    async def main():
        await asyncio.to_thread(first)
        second()

    asyncio.run(main())


def hand_over_with_thread_pool(first, second):
    with ThreadPool(1) as workers:
        workers.apply(first)
        second()


def hand_over_with_map_of_a_thread_pool(first, second):
    with ThreadPool(1) as workers:
        list(workers.imap(lambda call: call(), [first]))
        second()


def hand_over_with_pipe(first, second):
    read, write = os.pipe()
    thread = threading.Thread(target=lambda: (first(), os.write(write, b"1")))
    thread.start()
    assert os.read(read, 1) == b"1"
    second()
    thread.join(TIMEOUT)
    os.close(read)
    os.close(write)


def hand_over_with_closed_pipe(first, second):
    read, write = os.pipe()
    thread = threading.Thread(target=lambda: (first(), os.close(write)))
    thread.start()
    assert os.read(read, 1) == b""
    second()
    thread.join(TIMEOUT)
    os.close(read)


def hand_over_with_pair_of_sockets(first, second):
    here, there = socket.socketpair()
    with here, there:
        thread = threading.Thread(target=lambda: (first(), there.sendall(b"1")))
        thread.start()
        assert here.recv(1) == b"1"
        second()
        thread.join(TIMEOUT)


def hand_over_with_connection(first, second):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def client():
            with socket.create_connection(server.getsockname()) as there:
                first()
                there.send(b"1")

        thread = threading.Thread(target=client)
        thread.start()
        here, _ = server.accept()
        with here, here.makefile("rb") as file:
            assert file.read(1) == b"1"
            second()
        thread.join(TIMEOUT)


def hand_over_with_multiprocessing_pipe(first, second, duplex=False):
    here, there = multiprocessing.Pipe(duplex)
    thread = threading.Thread(target=lambda: (first(), there.send(1)))
    thread.start()
    assert here.recv() == 1
    second()
    thread.join(TIMEOUT)


def hand_over_with_multiprocessing_pair(first, second):
    hand_over_with_multiprocessing_pipe(first, second, duplex=True)


def hand_over_with_timer(first, second):
    """What a Timer, a thread and an executor call is a function of the program, not one of theirs."""
    event = threading.Event()
    thread = threading.Thread(target=lambda: (first(), threading.Timer(0, event.set).start()))
    thread.start()
    assert event.wait(TIMEOUT)
    second()
    thread.join(TIMEOUT)


def hand_over_with_event_as_job(first, second):
    event = threading.Event()
    with ThreadPoolExecutor(2) as executor:
        executor.submit(lambda: (first(), executor.submit(event.set)))
        assert executor.submit(event.wait).result(TIMEOUT)
        second()


def hand_over_with_done(first, second):
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(first)
        while not future.done():
            time.sleep(0)
        second()


def hand_over_with_older_condition(first, second, condition=threading.Condition()):
    hand_over_with_condition(first, second, condition)


HAND_OVERS = [value for name, value in list(globals().items()) if name.startswith("hand_over_with_")]


def meet(hand_over, stream, other, predict):
    array = np.zeros(4)

    def first():
        stream.submit(fill, array)
        stream.synchronize(TIMEOUT)

    with et.sanitize(predict=predict) as findings:
        hand_over(first, lambda: other.submit(fill, array))
    return findings


@pytest.mark.parametrize("hand_over", HAND_OVERS)
def test_a_hand_over_between_threads_orders_their_accesses(stream, other, hand_over):
    assert list(meet(hand_over, stream, other, False)) == []


@pytest.mark.parametrize("hand_over", HAND_OVERS)
def test_prediction_ignores_the_hand_over_and_says_possible(stream, other, hand_over):
    (finding,) = meet(hand_over, stream, other, True)
    assert (finding.kind, finding.certainty) == ("race", "possible")
    assert "possible race" in et.sanitizer.plain_text(et.sanitizer.Findings((finding,)))


def test_threads_without_a_hand_over_race(stream, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        workers = [Background(lambda s=s: (s.submit(fill, array), s.synchronize(TIMEOUT))) for s in (stream, other)]
        for worker in workers:
            worker.result()
    assert [f.kind for f in findings] == ["race"]


OLDER_LOCK = threading.Lock()
OLDER_QUEUE: queue.SimpleQueue[int] = queue.SimpleQueue()


@pytest.mark.parametrize("how", ["a lock made before", "a queue made before", "memory alone"])
def test_a_hand_over_that_may_be_unseen_makes_a_finding_possible(stream, other, how):
    OLDER_LOCK.acquire()
    flag = []
    give, take = {
        "a lock made before": (OLDER_LOCK.release, lambda: OLDER_LOCK.acquire(timeout=TIMEOUT)),
        "a queue made before": (lambda: OLDER_QUEUE.put(1), lambda: OLDER_QUEUE.get(timeout=TIMEOUT)),
        "memory alone": (lambda: flag.append(1), lambda: [time.sleep(0) for _ in iter(lambda: bool(flag), True)]),
    }[how]
    array = np.zeros(4)
    with et.sanitize() as findings:
        thread = threading.Thread(
            target=lambda: (stream.submit(fill, array), stream.synchronize(TIMEOUT), give()), daemon=True
        )
        thread.start()
        take()
        other.submit(total, array).result(TIMEOUT)
        thread.join(TIMEOUT)
    if OLDER_LOCK.locked():
        OLDER_LOCK.release()
    assert [(f.kind, f.certainty, f.doubt) for f in findings] == [("race", "possible", "unseen")]
    assert (
        "a host thread, or a work without accesses, is after 'fill'; its hand-over, if not traced, orders the two"
        in str(findings)
    )


def test_a_race_that_no_hand_over_can_order_is_certain(stream, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        stream.submit(fill, array)  # no thread has waited for it
        Background(lambda: other.submit(total, array).result(TIMEOUT)).result()
    assert [(f.kind, f.certainty) for f in findings] == [("race", "certain")]


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("between", [True, False])
def test_work_without_accesses_may_signal_what_comes_before_it(device, between):
    """Its function has another purpose: it may hand over through memory alone."""
    array, flag = np.zeros(4), []
    with et.sanitize() as findings, et.Stream.open(device) as one, et.Stream.open(device) as two:
        one.submit(fill, array)
        if between:
            one.submit(et.work(flag.append, name="signal", reads=()), 1)
        two.submit(total, array)
        two.synchronize(TIMEOUT)
        one.synchronize(TIMEOUT)
    assert [(f.kind, f.doubt) for f in findings] == [("race", "unseen" if between else "")]


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_work_may_be_the_signal_itself(device):
    """Also where the function is called from Python, as on sim."""
    array, event = np.zeros(4), threading.Event()
    with et.sanitize() as findings, et.Stream.open(device) as one, et.Stream.open(device) as two:
        one.submit(fill, array)
        one.submit(et.work(event.set, reads=()))
        assert event.wait(TIMEOUT)
        two.submit(total, array)
        two.synchronize(TIMEOUT)
    assert list(findings) == []


def test_sockets_behave_as_before():
    with et.sanitize():
        one, two = socket.socketpair()
        with one, two:
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)
            two.send(b"12")
            buffer = bytearray(2)
            assert (one.recv_into(buffer), bytes(buffer)) == (2, b"12")
        with socket.socket() as unconnected, pytest.raises(OSError, match="not connected"):
            unconnected.recv(1)
        here, there = multiprocessing.Pipe()
        there.close()
        with pytest.raises(EOFError):
            here.recv()
        here.close()
        with pytest.raises(OSError, match="closed"):
            here.send(1)


def test_our_own_locks_order_nothing():
    """Such as those of a device in Python: they would hide races of the program."""
    tokens = []

    class Tokens(et.hooks.Observer):
        def host_signal(self, record):
            tokens.append(record.name)

    with et.sanitize(), et.hooks.observe(Tokens()):
        et.Device.register(Sim(), name="sim_with_new_locks")
        with et.Stream.open("sim_with_new_locks") as one:
            one.submit(int).result(TIMEOUT)
    et.Device.unregister("sim_with_new_locks")
    assert tokens == []


def test_nothing_stays_patched_afterwards():
    places = (threading.Thread, threading.Event, queue.Queue, threading, queue, os, asyncio.BaseEventLoop, socket)
    places += (socket.socket, multiprocessing.connection.Connection)
    before = [dict(vars(place)) for place in places]
    with et.sanitize():
        assert threading.Lock is not before[3]["Lock"]
        with et.sanitize(predict=True):
            lock = threading.RLock()
        assert threading.Lock is not before[3]["Lock"]
    for place, names in zip(places, before, strict=True):
        assert dict(vars(place)) == names
    with lock, lock:
        assert lock.acquire(timeout=1)
        lock.release()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join(TIMEOUT)


def test_a_simple_queue_behaves_as_before():
    older = queue.SimpleQueue()
    with et.sanitize():
        q = queue.SimpleQueue()
        q.put_nowait(1)
        q.put(2, False)
        assert (q.qsize(), q.get_nowait(), q.get(), q.empty()) == (2, 1, 2, True)
        with pytest.raises(queue.Empty):
            q.get(timeout=0)
        assert isinstance(older, queue.SimpleQueue)
        assert isinstance(q, type(older))
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(1 << 20, b"")
    q.put(3)
    assert q.get() == 3


def test_items_put_before_the_sanitizer_started_are_returned_unchanged():
    waiting: queue.Queue[str] = queue.PriorityQueue()
    waiting.put("b")
    with et.sanitize():
        waiting.put("a")
        assert (waiting.get(), waiting.get()) == ("a", "b")
        with pytest.raises(queue.Empty):
            waiting.get_nowait()
        full: queue.Queue[int] = queue.Queue(1)
        full.put_nowait(1)
        with pytest.raises(queue.Full):
            full.put(1, timeout=0)
        assert full.get() == 1


def test_work_submitted_by_work_is_ordered_after_earlier_work_of_that_stream(stream, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        stream.submit(fill, array)
        stream.submit(et.work(lambda: other.submit(total, array), reads=())).result(TIMEOUT).result(TIMEOUT)
    assert list(findings) == []
