"""Host threads that hand over to each other, under the sanitizer."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import eventide as et
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


def hand_over_with_condition(first, second):
    condition, done = threading.Condition(), []

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


def test_nothing_stays_patched_afterwards():
    places = (threading.Thread, threading.Event, queue.Queue, threading)
    before = [dict(vars(place)) for place in places]
    with et.sanitize():
        assert threading.Lock is not before[3]["Lock"]
        with et.sanitize(predict=True):
            lock = threading.RLock()
        assert threading.Lock is not before[3]["Lock"]
    for place, names in zip(places, before, strict=True):
        assert {name: vars(place)[name] for name in names} == names
    with lock, lock:
        assert lock.acquire(timeout=1)
        lock.release()
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join(TIMEOUT)


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
