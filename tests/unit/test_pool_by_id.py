"""`EventPool` by id: every verb, unknown ids, and a pool that stays usable from every thread."""

import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, hook_calls

UNKNOWN = 2**40

VERBS = {
    "record": lambda pool, event, stream: pool.record(event, stream),
    "wait": lambda pool, event, stream: pool.wait(event, stream),
    "synchronize": lambda pool, event, stream: pool.synchronize(event, timeout=TIMEOUT),
    "query": lambda pool, event, stream: pool.query(event),
    "elapsed_time": lambda pool, event, stream: pool.elapsed_time(event, event),
    "release": lambda pool, event, stream: pool.release(event),
}


def test_acquire_id_gives_the_real_id_at_once_and_the_hooks_carry_it(pool, stream):
    number = pool.acquire_id()
    assert number > 0
    with (
        hook_calls("event_creation") as created,
        hook_calls("event_record") as recorded,
        hook_calls("event_wait") as waited,
    ):
        pool.record(number, stream)
        pool.wait(number, stream)
    assert created == [(number,)]
    assert recorded == waited == [(number, stream.stream_id)]


def test_every_verb_takes_an_event(pool, stream, gate):
    start, end = pool.acquire(enable_timing=True), pool.acquire(enable_timing=True)
    pool.record(start, stream)
    gate.hold(stream)
    pool.record(end, stream)
    assert (start.version, end.version) == (1, 1)
    assert pool.query(end) is False
    gate.open()
    pool.synchronize(end, timeout=TIMEOUT)
    pool.wait(end, stream)
    assert pool.elapsed_time(start, end) == start.elapsed_time(end)
    pool.release(end)
    assert pool.stats().cached == 1


def test_a_wait_by_id_holds_the_stream(pool, stream, other, gate):
    ran: list[str] = []
    number = pool.acquire_id()
    gate.hold(stream)
    stream.submit(ran.append, "first")
    pool.record(number, stream)
    pool.wait(number, other)
    future = other.submit(ran.append, "second")
    gate.open()
    future.result(TIMEOUT)
    assert ran == ["first", "second"]


def test_record_and_wait_by_id_take_the_current_stream(pool, stream):
    number = pool.acquire_id()
    with stream, hook_calls("event_record") as recorded, hook_calls("event_wait") as waited:
        pool.record(number)
        pool.wait(number)
    assert recorded == waited == [(number, stream.stream_id)]


def test_an_id_is_kept_in_use_until_it_is_released(pool):
    numbers = [pool.acquire_id() for _ in range(3)]
    assert pool.stats().in_use == 3
    pool.empty_cache()
    assert all(pool.query(number) for number in numbers)
    for number in numbers:
        pool.release(number)
    assert pool.stats() == et.PoolStats(created=3, in_use=0, cached=3, reused=0)
    assert pool.acquire_id() == numbers[-1]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("unknown", [UNKNOWN, 0, -1, "released"])
def test_an_unknown_id_is_an_event_error_that_names_it(pool, stream, verb, unknown):
    number = unknown
    if unknown == "released":
        number = pool.acquire_id()
        pool.release(number)
    with pytest.raises(et.EventError, match=str(number)):
        VERBS[verb](pool, number, stream)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("thing", [None, "1", 1.5, object()], ids=["None", "str", "float", "object"])
def test_what_is_neither_id_nor_event_is_a_type_error(pool, stream, verb, thing):
    with pytest.raises(TypeError):
        VERBS[verb](pool, thing, stream)


def test_an_unknown_id_leaves_the_pool_usable_from_every_thread(pool, make_stream):
    start = threading.Barrier(4)

    def use(stream):
        start.wait(TIMEOUT)
        refused = 0
        for _ in range(20):
            for verb in VERBS.values():
                try:
                    verb(pool, UNKNOWN, stream)
                except et.EventError:
                    refused += 1
            number = pool.acquire_id()
            pool.record(number, stream)
            pool.synchronize(number, timeout=TIMEOUT)
            pool.release(number)
        return refused

    threads = [Background(lambda stream=make_stream(): use(stream)) for _ in range(4)]
    assert [thread.result() for thread in threads] == [20 * len(VERBS)] * 4
    assert pool.stats().in_use == 0


def test_no_two_threads_ever_hold_the_same_id(pool):
    held: set[int] = set()
    lock = threading.Lock()
    start = threading.Barrier(4)

    def use():
        start.wait(TIMEOUT)
        doubles = 0
        for _ in range(200):
            number = pool.acquire_id()
            with lock:
                doubles += number in held
                held.add(number)
            with lock:
                held.discard(number)
            pool.release(number)
        return doubles

    threads = [Background(use) for _ in range(4)]
    assert [thread.result() for thread in threads] == [0, 0, 0, 0]
    stats = pool.stats()
    assert stats.created <= 4
    assert stats.created + stats.reused == 800


def test_releasing_an_event_of_another_pool_is_an_event_error(pool):
    foreign = et.EventPool("cpu").acquire()
    for event in (foreign, et.Event("cpu")):
        with pytest.raises(et.EventError):
            pool.release(event)
    assert pool.stats().cached == 0


def test_releasing_twice_is_an_event_error_and_the_event_is_acquired_once(pool):
    event = pool.acquire()
    pool.release(event)
    with pytest.raises(et.EventError):
        pool.release(event)
    del event
    assert pool.stats() == et.PoolStats(created=1, in_use=0, cached=1, reused=0)


def test_a_released_event_cannot_be_used_by_its_previous_owner(pool, stream):
    old = pool.acquire()
    pool.release(old)
    new = pool.acquire()
    for verb in (old.record, old.query, old.synchronize, old.wait):
        with pytest.raises(et.EventError):
            verb()
    assert new.version == 0
    del old
    assert pool.stats().in_use == 1
