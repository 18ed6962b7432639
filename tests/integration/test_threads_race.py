"""Events, pools and streams shared by threads that run freely: nothing is lost, doubled, stuck or torn."""

from __future__ import annotations

import itertools
import random
import threading
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import eventide as et
from tests.helpers import Background, Boom, Gate, blocked_in

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 30.0  # seconds
THREADS = 6


def _together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run the tasks on threads of their own, started together; their results."""
    start = threading.Barrier(len(tasks))

    def task(call: Callable[[], Any]) -> Any:
        start.wait(LIMIT)
        return call()

    backgrounds = [Background(partial(task, call)) for call in tasks]
    return [background.result() for background in backgrounds]


def test_every_verb_of_one_event_from_every_thread() -> None:
    """Each record is a version of its own; each notify is heard once; times are never against the versions."""
    rounds = 150
    streams = [et.Stream("cpu") for _ in range(THREADS)]
    event, first = et.Event("cpu", enable_timing=True), et.Event("cpu", enable_timing=True)
    first.record(streams[0])
    event.record(streams[0])
    first.synchronize(LIMIT)
    ran, heard = itertools.count(), itertools.count()

    def use(number: int) -> dict[str, int]:
        rng, stream, done = random.Random(number), streams[number], {"record": 0, "notify": 0, "submit": 0}
        for _ in range(rounds):
            verb = rng.choice(["record", "wait", "query", "synchronize", "notify", "elapsed", "submit"])
            if verb == "record":
                event.record(stream)
            elif verb == "wait":
                stream.wait_event(event)
            elif verb == "query":
                assert event.query() in {True, False}
            elif verb == "synchronize":
                event.synchronize(LIMIT)
            elif verb == "notify":
                event.notify(lambda _: next(heard))
            elif verb == "submit":
                stream.submit(next, ran)
            else:
                _elapsed_or_still_pending(first, event)
            done[verb] = done.get(verb, 0) + 1
        return done

    done = _together(*(lambda number=number: use(number) for number in range(THREADS)))  # type: ignore[misc]
    for stream in streams:
        stream.close(LIMIT)
    assert event.version == 1 + sum(counts["record"] for counts in done)
    assert event.query()
    assert next(ran) == sum(counts["submit"] for counts in done)
    _flush_notifier()
    assert next(heard) == sum(counts["notify"] for counts in done)


def _elapsed_or_still_pending(start: et.Event, end: et.Event) -> None:
    """Whichever version was the newest when asked: later than `start`, or not done yet."""
    try:
        assert start.elapsed_time(end) >= 0.0
    except RuntimeError as error:
        assert "synchronize" in str(error)


def _flush_notifier() -> None:
    """Callbacks run one after the other on one thread: when this one is heard, all asked for before it have been."""
    told, gate = threading.Event(), Gate()
    with closing(et.Stream("cpu")) as stream:
        gate.hold(stream).add_done_callback(lambda _: told.set())
        gate.open()
        assert told.wait(LIMIT)


def test_all_threads_in_synchronize_of_one_event_return() -> None:
    with closing(et.Stream("cpu")) as stream:
        for _ in range(50):
            gate, event = Gate(), et.Event("cpu")
            gate.hold(stream)
            event.record(stream)
            waiting = [blocked_in(lambda event=event: event.synchronize()) for _ in range(3)]  # type: ignore[misc]
            assert not any(call.over for call in waiting)
            gate.open()
            for call in waiting:
                call.result()


def test_threads_that_synchronize_while_others_record_return() -> None:
    """A synchronize is bound to the version it saw: records that go on for ever do not keep it."""
    stop, event = threading.Event(), et.Event("cpu")
    with closing(et.Stream("cpu", max_pending=8)) as stream:
        event.record(stream)

        def record() -> int:
            count = 0
            while not stop.is_set():
                stream.submit(int)
                event.record(stream)
                count += 1
            return count

        def synchronize() -> int:
            for _ in range(100):
                event.synchronize(LIMIT)
            return 100

        recording = Background(record)
        try:
            for background in [Background(synchronize) for _ in range(3)]:
                assert background.result() == 100
        finally:
            stop.set()
        recorded = recording.result()
        assert event.version == 1 + recorded


def test_an_error_reaches_every_thread_in_synchronize_of_the_stream_and_heals_once() -> None:
    with closing(et.Stream("cpu")) as stream:
        for _ in range(30):
            gate, error = Gate(), Boom("shared")
            gate.hold(stream, error)
            waiting = [blocked_in(lambda: stream.synchronize(LIMIT)) for _ in range(3)]
            gate.open()
            assert [call.error() for call in waiting] == [error] * 3
            stream.synchronize(LIMIT)
            assert stream.submit(int).result(LIMIT) == 0


def test_a_pool_under_unknown_ids_from_every_thread() -> None:
    """One thread's mistake leaves no lock behind and no event in two hands."""
    pool, stream = et.EventPool("cpu"), et.Stream("cpu")
    in_hand: set[int] = set()
    hand = threading.Lock()

    def use(number: int) -> int:
        rng, mistakes = random.Random(number), 0
        for _ in range(200):
            name = pool.acquire_id(enable_timing=True)
            with hand:
                assert name not in in_hand, f"event {name} is in two hands"
                in_hand.add(name)
            pool.record(name, stream)
            wrong: list[Callable[[int], object]] = [pool.query, pool.release, pool.record, pool.wait, pool.synchronize]
            with pytest.raises(et.EventError):
                rng.choice(wrong)(10**12 + number)
            mistakes += 1
            pool.synchronize(name, LIMIT)
            assert pool.query(name)
            with hand:
                in_hand.remove(name)
            pool.release(name)
            event = pool.acquire()
            event.record(stream)
            del event
        return mistakes

    try:
        assert _together(*(lambda number=number: use(number) for number in range(THREADS))) == [200] * THREADS  # type: ignore[misc]
    finally:
        stream.close(LIMIT)
    stats = pool.stats()
    assert stats.in_use == 0
    assert stats.created == stats.cached <= 2 * THREADS
    assert stats.created + stats.reused == 2 * 200 * THREADS


def test_a_submit_that_races_with_close_runs_or_raises() -> None:
    for number in range(100):
        _race_with_close(random.Random(number), max_pending=None)


def test_a_submit_that_waits_for_room_when_the_stream_is_closed_runs_or_raises() -> None:
    for number in range(50):
        _race_with_close(random.Random(number), max_pending=1)


def _race_with_close(rng: random.Random, max_pending: int | None) -> None:
    stream = et.Stream("cpu", max_pending=max_pending)
    ran = [0] * 4

    def submit(number: int) -> tuple[list[et.Future], bool]:
        futures: list[et.Future] = []
        try:
            while len(futures) < 60:
                futures.append(stream.submit(_count, ran, number))
        except et.StreamError as error:
            assert "closed" in str(error)
            return futures, True
        return futures, False

    def close() -> tuple[list[et.Future], bool]:
        time.sleep(rng.random() * 0.002)  # the random moment
        stream.close(LIMIT)
        return [], True

    tasks = [lambda number=number: submit(number) for number in range(4)]  # type: ignore[misc]
    accepted = _together(*tasks, close, close)
    for number, (futures, _refused) in enumerate(accepted[:4]):
        assert [future.result(LIMIT) for future in futures] == list(range(1, len(futures) + 1))
        assert ran[number] == len(futures)
    with pytest.raises(et.StreamError, match="closed"):
        stream.submit(int)


def _count(ran: list[int], number: int) -> int:
    ran[number] += 1  # only this stream's worker writes here
    return ran[number]


def test_cancel_races_with_the_start_of_the_work() -> None:
    """Whoever wins, the work runs or is cancelled, never both and never neither, and callbacks come once."""
    with closing(et.Stream("cpu")) as stream:
        for _ in range(20):
            _race_with_the_start(stream)


def _race_with_the_start(stream: et.Stream) -> None:
    ran: list[int] = []
    called = itertools.count()
    futures = [stream.submit(ran.append, number) for number in range(100)]
    for future in futures:
        future.add_done_callback(lambda _: next(called))
    answers = _together(*(lambda: [future.cancel() for future in futures] for _ in range(2)))
    stream.synchronize(LIMIT)
    cancelled = {number for number, future in enumerate(futures) if future.cancelled()}
    assert set(ran) == set(range(100)) - cancelled
    assert len(ran) == len(set(ran))
    for answer in answers:
        assert {number for number, said in enumerate(answer) if said} == cancelled
    _flush_notifier()
    assert next(called) == 100
