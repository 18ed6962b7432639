"""`EventPool`: LIFO reuse with the id kept, and a reused event has the state of a new one."""

import gc
import subprocess
import sys
import threading

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


def test_the_default_stream_of_a_pool_is_used_where_none_is_given(stream, other):
    pool = et.EventPool(stream)
    assert pool.default_stream is stream
    with other, hook_calls("event_record") as recorded, hook_calls("event_wait") as waited:
        event, number = pool.acquire(), pool.acquire_id()
        event.record()
        event.wait()
        pool.record(number)
        pool.wait(number)
        pool.acquire(stream=other).record()
        pool.record(event)
        pool.record(event, other)
    assert [where for _, where in recorded] == [stream.stream_id] * 2 + [
        other.stream_id,
        stream.stream_id,
        other.stream_id,
    ]
    assert [where for _, where in waited] == [stream.stream_id] * 2


def test_a_pool_takes_the_device_of_its_default_stream():
    stream = et.Stream("sim:1")
    assert et.EventPool(default_stream=stream).acquire().device == et.Device("sim:1")
    assert et.EventPool("sim", default_stream=stream).default_stream is stream
    with pytest.raises(et.UsageValueError, match="cannot be the default stream of a pool for 'cpu'"):
        et.EventPool("cpu", default_stream=stream)
    with pytest.raises(et.UsageTypeError, match=r"EventPool\(\) got two default streams"):
        et.EventPool(stream, default_stream=stream)
    with pytest.raises(et.UsageTypeError, match=r"EventPool\(\) needs a Stream or None, not int"):
        et.EventPool("cpu", default_stream=3)  # type: ignore[arg-type]
    stream.close(TIMEOUT)


def test_the_pool_of_a_device_is_shared_by_the_process():
    pool = et.event_pool("cpu")
    assert et.event_pool(et.Device("cpu", 0)) is pool is et.event_pool()
    assert et.event_pool("sim:1") is not et.event_pool("sim")
    assert pool.acquire().device.type == "cpu"


def test_threads_get_the_same_shared_pool():
    start, found = threading.Barrier(4), []

    def get() -> None:
        start.wait(TIMEOUT)
        found.append(et.event_pool("sim:3"))

    threads = [threading.Thread(target=get) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert len(found) == 4
    assert len({id(pool) for pool in found}) == 1


def test_the_flags_of_torchs_pool_are_accepted_by_id_and_notify_too(pool, stream, gate):
    gate.hold(stream)
    number, notified = pool.acquire_id(), []
    pool.record(number, stream, sync_event=True)
    pool.wait(number, stream, sync_event=True)
    assert pool.notify(number, notified.append) is True
    gate.open()
    pool.synchronize(number, timeout=TIMEOUT)
    assert pool.notify(number, lambda event: None) is False


def test_a_forked_child_has_shared_pools_of_its_own():
    program = """
import os, eventide as et
pool = et.event_pool("cpu")
pid = os.fork()
if pid == 0:
    mine = et.event_pool("cpu")
    stream = et.Stream("cpu")
    event = mine.acquire()
    event.record(stream)
    event.synchronize(10)
    os._exit(0 if mine is not pool else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0


def test_reset_of_a_pooled_event_keeps_it_in_use(pool, stream, other):
    event = pool.acquire(stream=stream)
    number = identify(event, stream)
    event.reset(other, enable_timing=True)
    assert (event.event_id, event.enable_timing, pool.stats().in_use) == (0, True, 1)
    with hook_calls("event_record") as recorded:
        event.record()
    assert recorded == [(number, other.stream_id)]
    event.synchronize(TIMEOUT)
    del event
    assert pool.stats() == et.PoolStats(created=1, in_use=0, cached=1, reused=0)


def test_reset_fires_deletion_and_refuses_wrong_types(stream):
    event = et.Event("cpu", blocking=True)
    number = identify(event, stream)
    with hook_calls("event_deletion") as deleted, hook_calls("event_creation") as created:
        event.reset()
        event.reset()
        assert event.blocking
        event.record(stream)
    assert (deleted, created) == ([(number,)], [(number,)])
    with pytest.raises(et.UsageTypeError, match="reset needs a Stream or None, not int"):
        event.reset(3)  # type: ignore[arg-type]
    with pytest.raises(et.UsageTypeError, match="enable_timing must be True or False, not int"):
        event.reset(None, 1)  # type: ignore[arg-type]
    assert event.version == 1
