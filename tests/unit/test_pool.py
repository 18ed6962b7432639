"""`EventPool`: LIFO reuse with the id kept, and a reused event has the state of a new one."""

import gc

import pytest

import eventide as et
from tests.helpers import TIMEOUT, hook_calls


def identify(event, stream):
    """The id of an event, which shows from its first record on."""
    event.record(stream)
    return event.event_id


def test_an_acquired_event_has_no_visible_id_until_it_is_recorded(pool, stream):
    event = pool.acquire()
    assert isinstance(event, et.Event)
    assert (event.event_id, event.version, event.query()) == (0, 0, True)
    event.record(stream)
    event.synchronize(timeout=TIMEOUT)
    assert event.event_id > 0


def test_statistics_count_created_used_cached_and_reused(pool):
    assert pool.stats() == et.PoolStats(created=0, in_use=0, cached=0, reused=0)
    first, second = pool.acquire(), pool.acquire()
    assert pool.stats() == et.PoolStats(created=2, in_use=2, cached=0, reused=0)
    del first
    assert pool.stats() == et.PoolStats(created=2, in_use=1, cached=1, reused=0)
    third = pool.acquire()
    assert pool.stats() == et.PoolStats(created=2, in_use=2, cached=0, reused=1)
    del second, third
    assert pool.stats() == et.PoolStats(created=2, in_use=0, cached=2, reused=1)


def test_an_event_returns_itself_when_it_is_dropped_and_keeps_its_id(pool, stream):
    event = pool.acquire()
    number = identify(event, stream)
    del event
    again = pool.acquire()
    assert identify(again, stream) == number


def test_the_event_released_last_is_acquired_first(pool, stream):
    events = [pool.acquire() for _ in range(3)]
    numbers = [identify(event, stream) for event in events]
    for index in (1, 0, 2):
        pool.release(events[index])
    events.clear()
    again = [pool.acquire() for _ in range(3)]
    assert [identify(event, stream) for event in again] == [numbers[2], numbers[0], numbers[1]]


def test_an_event_in_use_is_never_acquired_again(pool, stream):
    events = [pool.acquire() for _ in range(10)]
    assert len({identify(event, stream) for event in events}) == 10


def test_empty_cache_deletes_cached_events_and_keeps_events_in_use(pool, stream):
    kept, dropped = pool.acquire(), pool.acquire()
    number, old = identify(kept, stream), identify(dropped, stream)
    del dropped
    pool.empty_cache()
    assert pool.stats() == et.PoolStats(created=2, in_use=1, cached=0, reused=0)
    fresh = pool.acquire()
    assert identify(fresh, stream) not in {number, old}
    assert pool.stats().created == 3
    assert kept.event_id == number


def test_a_reused_event_has_the_state_of_a_new_one(pool, stream):
    event = pool.acquire(enable_timing=True)
    event.record(stream)
    event.record(stream)
    event.synchronize(timeout=TIMEOUT)
    del event
    again = pool.acquire(enable_timing=True)
    assert pool.stats().reused == 1
    assert (again.event_id, again.version, again.query()) == (0, 0, True)
    with pytest.raises(ValueError, match="recorded"):
        again.elapsed_time(again)


def test_a_reused_event_that_was_released_while_pending_has_the_state_of_a_new_one(pool, stream, other, gate):
    event = pool.acquire()
    gate.hold(stream)
    number = identify(event, stream)
    assert event.query() is False
    pool.release(event)
    del event
    again = pool.acquire()
    assert pool.stats().reused == 1
    assert again.query() is True
    again.synchronize(timeout=0)
    other.wait_event(again)
    assert other.submit(int, "2").result(TIMEOUT) == 2
    again.record(other)
    again.synchronize(timeout=TIMEOUT)
    assert again.event_id == number


def test_a_reused_event_recorded_on_the_same_stream_waits_for_its_own_record(pool, stream, make_gate):
    first, second = make_gate(), make_gate()
    event = pool.acquire()
    first.hold(stream)
    event.record(stream)
    del event
    again = pool.acquire()
    stream.submit(second)
    again.record(stream)
    first.open()
    second.reached()  # the marker of the previous owner has been passed
    assert again.query() is False
    second.open()
    again.synchronize(timeout=TIMEOUT)
    assert again.query() is True


def test_a_wait_stays_bound_to_the_marker_of_the_previous_owner(pool, make_stream, gate):
    held, waiting, idle = make_stream(), make_stream(), make_stream()
    ran: list[str] = []
    gate.hold(held)
    held.submit(ran.append, "first")
    event = pool.acquire()
    event.record(held)
    waiting.wait_event(event)
    future = waiting.submit(ran.append, "second")
    del event
    again = pool.acquire()
    again.record(idle)
    again.synchronize(timeout=TIMEOUT)
    assert not future.done()
    gate.open()
    future.result(TIMEOUT)
    assert ran == ["first", "second"]


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_timing_is_what_the_new_owner_requested(pool, stream, before, after):
    event = pool.acquire(enable_timing=before)
    event.record(stream)
    del event
    again = pool.acquire(enable_timing=after)
    again.record(stream)
    again.synchronize(timeout=TIMEOUT)
    assert pool.stats().reused == 1
    if after:
        assert again.elapsed_time(again) == 0.0
    else:
        with pytest.raises(ValueError, match="enable_timing=True"):
            again.elapsed_time(again)


def test_the_stream_given_to_acquire_is_the_default_of_record_and_wait(pool, stream):
    event = pool.acquire(stream=stream)
    assert event.version == 0  # it is not recorded by acquire
    with hook_calls("event_record") as recorded, hook_calls("event_wait") as waited:
        event.record()
        event.wait()
    assert recorded == waited == [(event.event_id, stream.stream_id)]


def test_the_stream_of_the_previous_owner_is_forgotten(pool, stream, other):
    event = pool.acquire(stream=stream)
    del event
    again = pool.acquire()
    with other, hook_calls("event_record") as recorded:
        again.record()
    assert recorded == [(again.event_id, other.stream_id)]


def test_a_pooled_event_is_deleted_on_return_and_created_at_its_next_record(pool, stream):
    with hook_calls("event_creation") as created, hook_calls("event_deletion") as deleted:
        event = pool.acquire()
        number = identify(event, stream)
        del event
        assert deleted == [(number,)]
        again = pool.acquire()
        assert created == [(number,)]
        again.record(stream)
        assert created == [(number,), (number,)]
        unrecorded = pool.acquire()
        del unrecorded
    assert deleted == [(number,)]


def test_an_event_outlives_its_pool(stream, gate):
    pool = et.EventPool("cpu")
    event = pool.acquire()
    gate.hold(stream)
    event.record(stream)
    del pool
    gc.collect()
    assert event.query() is False
    gate.open()
    event.synchronize(timeout=TIMEOUT)
