"""close() and cancel() against threads that submit, record and synchronize: all accepted work completes, once."""

from __future__ import annotations

import itertools
import random
import threading
import time
from contextlib import closing
from functools import partial

import pytest

import eventide as et
from tests.integration.together import LIMIT, flush_notifier, together


def test_a_submit_that_races_with_close_runs_or_raises() -> None:
    for number in range(100):
        _race_with_close(random.Random(number), max_pending=None)


def test_a_submit_that_waits_for_room_when_the_stream_is_closed_runs_or_raises() -> None:
    for number in range(50):
        _race_with_close(random.Random(number), max_pending=1)


def _race_with_close(rng: random.Random, max_pending: int | None) -> None:
    """Whatever the stream took before it was closed comes to its end: work, markers, and waits of other streams."""
    stream = et.Stream("cpu", max_pending=max_pending)
    others = [et.Stream("cpu") for _ in range(4)]
    ran = [0] * 4

    def submit(number: int) -> tuple[list[et.Future], list[et.Event]]:
        futures: list[et.Future] = []
        events: list[et.Event] = []
        try:
            while len(futures) < 60:
                futures.append(stream.submit(_count, ran, number))
                if len(futures) % 8 == 0:
                    events.append(stream.record_event())
                    others[number].wait_stream(stream)
        except et.StreamError as error:
            assert "closed" in str(error)
        return futures, events

    def close() -> None:
        time.sleep(rng.random() * 0.002)  # the random moment
        stream.close(LIMIT)

    accepted = together(*(partial(submit, number) for number in range(4)), close, close)
    for number, (futures, events) in enumerate(accepted[:4]):
        assert [future.result(LIMIT) for future in futures] == list(range(1, len(futures) + 1))
        assert ran[number] == len(futures)
        for event in events:
            event.synchronize(LIMIT)
        assert others[number].submit(int).result(LIMIT) == 0
        others[number].close(LIMIT)
    with pytest.raises(et.StreamError, match="closed"):
        stream.submit(int)


def _count(ran: list[int], number: int) -> int:
    ran[number] += 1  # only this stream's worker writes here
    return ran[number]


def test_the_device_is_synchronized_while_streams_are_made_and_closed() -> None:
    making = threading.Semaphore(0)

    def make_and_close() -> None:
        for _ in range(150):
            with closing(et.Stream("cpu")) as stream:
                stream.submit(int)
        making.release()

    def synchronize() -> int:
        rounds = 0
        for _ in range(2):
            while not making.acquire(blocking=False):
                et.synchronize("cpu", LIMIT)
                rounds += 1
        return rounds

    *_, rounds = together(make_and_close, make_and_close, synchronize)
    assert rounds > 0


def test_cancel_races_with_the_start_of_the_work() -> None:
    """In both orders the work runs or is cancelled, never both and never neither, and callbacks come once."""
    with closing(et.Stream("cpu")) as stream:
        for _ in range(20):
            _race_with_the_start(stream)


def _race_with_the_start(stream: et.Stream) -> None:
    ran: list[int] = []
    called = itertools.count()
    futures = [stream.submit(ran.append, number) for number in range(100)]
    for future in futures:
        future.add_done_callback(lambda _: next(called))
    answers = together(*(lambda: [future.cancel() for future in futures] for _ in range(2)))
    stream.synchronize(LIMIT)
    cancelled = {number for number, future in enumerate(futures) if future.cancelled()}
    assert set(ran) == set(range(100)) - cancelled
    assert len(ran) == len(set(ran))
    for answer in answers:
        assert {number for number, said in enumerate(answer) if said} == cancelled
    flush_notifier()
    assert next(called) == 100
