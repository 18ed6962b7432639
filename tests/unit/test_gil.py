"""Workers and the GIL: one thread state a worker, markers item by item, every thread runs."""

import functools
import threading
from itertools import pairwise

from tests.helpers import TIMEOUT


def test_a_worker_is_one_thread_to_python_for_all_its_work(stream):
    memory = threading.local()

    def remember(number):
        seen = getattr(memory, "numbers", [])
        memory.numbers = [*seen, number]
        return threading.get_ident(), len(memory.numbers)

    answers = [stream.submit(remember, number).result(TIMEOUT) for number in range(5)]
    assert len({ident for ident, _ in answers}) == 1
    assert [length for _, length in answers] == [1, 2, 3, 4, 5]


def test_each_stream_has_a_thread_of_its_own(make_stream, make_gate):
    both = threading.Barrier(2)

    def meet():
        both.wait(TIMEOUT)
        return threading.get_ident()

    futures = [make_stream().submit(meet) for _ in range(2)]
    assert len({future.result(TIMEOUT) for future in futures}) == 2


def test_futures_are_settled_item_by_item(stream, gate):
    gate.hold(stream)
    futures = [stream.submit(int)]
    for _ in range(200):
        futures.append(stream.submit(lambda before=futures[-1]: before.done()))
    gate.open()
    assert all(future.result(TIMEOUT) for future in futures[1:])


def test_the_main_thread_runs_during_an_endless_sequence_of_c_callables(stream, gate):
    """C callables never reach the evaluation loop, where Python hands the GIL to another thread: the worker must."""
    again = functools.partial(int)
    again.__setstate__((stream.submit, (again,), {}, None))  # a call submits itself again: the queue never gets shorter
    gate.hold(stream)
    for _ in range(1000):
        stream.submit(again)
    behind = stream.submit(int)
    gate.open()
    assert behind.result(TIMEOUT) == 0  # the worker has run them all once, and does not stop
    assert stream.pending >= 1000
    again.__setstate__((int, (), {}, None))
    stream.synchronize(timeout=TIMEOUT)


def test_work_of_two_streams_takes_turns(stream, other):
    stop = threading.Event()
    counts = {"stream": 0, "other": 0}

    def count(name, target):
        counts[name] += 1
        if not stop.is_set() and counts[name] < 1_000_000:
            target.submit(count, name, target)

    stream.submit(count, "stream", stream)
    other.submit(count, "other", other)
    progress = []
    for _ in range(5):
        progress.append(dict(counts))
        target = {name: seen + 1 for name, seen in progress[-1].items()}
        waiting = threading.Event()
        while any(counts[name] < goal for name, goal in target.items()) and max(counts.values()) < 1_000_000:
            waiting.wait(0.001)
    stop.set()
    for name in counts:
        assert all(first[name] < second[name] for first, second in pairwise([*progress, dict(counts)]))
