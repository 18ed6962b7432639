"""Events, pools and streams shared by threads that run freely: nothing is lost, doubled, stuck or torn."""

from __future__ import annotations

import itertools
import random
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import eventide as et
from tests.helpers import Background, Boom, Gate, blocked_in
from tests.integration.together import LIMIT, flush_notifier, together

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 6


def test_every_verb_of_one_event_from_every_thread() -> None:
    """Each record is a version of its own; each notify is received once; times are never against the versions."""
    rounds = 150
    streams = [et.Stream("cpu") for _ in range(THREADS)]
    event, first = et.Event("cpu", enable_timing=True), et.Event("cpu", enable_timing=True)
    first.record(streams[0])
    event.record(streams[0])
    first.synchronize(LIMIT)
    ran, received = itertools.count(), itertools.count()

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
                event.notify(lambda _: next(received))
            elif verb == "submit":
                stream.submit(next, ran)
            else:
                _elapsed_or_still_pending(first, event)
            done[verb] = done.get(verb, 0) + 1
        return done

    done = together(*(lambda number=number: use(number) for number in range(THREADS)))  # type: ignore[misc]
    for stream in streams:
        stream.close(LIMIT)
    assert event.version == 1 + sum(counts["record"] for counts in done)
    assert event.query()
    assert next(ran) == sum(counts["submit"] for counts in done)
    flush_notifier()
    assert next(received) == sum(counts["notify"] for counts in done)


def _elapsed_or_still_pending(start: et.Event, end: et.Event) -> None:
    """The version that was the newest at the query: later than `start`, or not done yet."""
    try:
        assert start.elapsed_time(end) >= 0.0
    except RuntimeError as error:
        assert "synchronize" in str(error)


def test_all_threads_in_synchronize_of_one_event_return() -> None:
    with closing(et.Stream("cpu")) as stream:
        for _ in range(50):
            gate, event = Gate(), et.Event("cpu")
            gate.hold(stream)
            event.record(stream)
            waiting = [blocked_in(lambda event=event: event.synchronize()) for _ in range(3)]  # type: ignore[misc]
            assert not any(call.ended for call in waiting)
            gate.open()
            for call in waiting:
                call.result()


def test_threads_that_synchronize_while_others_record_return() -> None:
    """A synchronize is bound to the version it saw: records that never end do not delay it."""
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
        assert together(*(lambda number=number: use(number) for number in range(THREADS))) == [200] * THREADS  # type: ignore[misc]
    finally:
        stream.close(LIMIT)
    stats = pool.stats()
    assert stats.in_use == 0
    assert stats.created == stats.cached <= 2 * THREADS
    assert stats.created + stats.reused == 2 * 200 * THREADS


def test_callbacks_are_added_and_removed_while_hooks_fire() -> None:
    """One that stays receives everything once, whatever happens to the others; one that left receives nothing more."""
    stop = threading.Event()
    received, late = itertools.count(), itertools.count()

    def fire() -> int:
        with closing(et.Stream("cpu")) as stream:
            event = et.Event("cpu")
            for _ in range(500):
                event.record(stream)
        return 500

    def come_and_go() -> int:
        rounds = 0
        while not stop.is_set():
            closed = threading.Event()
            here = threading.get_ident()

            def listen(*_: int, closed: threading.Event = closed, here: int = here) -> None:
                if closed.is_set() and threading.get_ident() == here:
                    next(late)

            subscription = et.hooks.on("event_record", listen)
            subscription.close()
            closed.set()
            event = et.Event("cpu")
            event.record(et.default_stream("cpu"))
            rounds += 1
        return rounds

    def fire_and_stop() -> int:
        try:
            return fire()
        finally:
            stop.set()

    with et.hooks.on("event_record", lambda *_: next(received)):
        *fired, rounds, more = together(fire, fire, fire_and_stop, come_and_go, come_and_go)
    assert next(received) == sum(fired) + rounds + more
    assert next(late) == 0
