"""What a host thread observes and signals: the hooks of the host."""

import asyncio
import gc

import pytest

import eventide as et
from tests.helpers import TIMEOUT, eventually, hook_calls


class Collector(et.hooks.Observer):
    def __init__(self) -> None:
        self.records: list[et.hooks.HookRecord] = []

    def event_synchronization(self, record: et.hooks.HookRecord) -> None:
        self.records.append(record)

    event_synchronization_end = stream_synchronization = stream_synchronization_end = event_synchronization
    device_synchronization = device_synchronization_end = memory_deallocation = event_synchronization


@pytest.fixture
def collector():
    collector = Collector()
    with et.hooks.observe(collector):
        yield collector


def test_result_reports_that_its_work_is_complete(stream):
    future = stream.submit(int)
    with hook_calls("host_wait") as waits:
        future.result(TIMEOUT)
        future.exception(TIMEOUT)
        assert future.done()
    assert waits == [(0, stream.stream_id, 0, future.work_id)] * 3


def test_a_pending_future_reports_nothing(stream, gate):
    gate.hold(stream)
    future = stream.submit(int)
    with hook_calls("host_wait") as waits:
        assert not future.done()
        assert not stream.query()
        with pytest.raises(TimeoutError):
            future.result(0)
    assert waits == []


def test_cancel_reports_once_that_the_work_will_not_run(stream, gate):
    gate.hold(stream)
    future = stream.submit(int)
    with hook_calls("host_wait") as waits:
        assert future.cancel()
        assert future.cancel()
        assert future.done()
    assert waits == [(0, stream.stream_id, 0, future.work_id)]


def test_queries_that_return_true_are_reported(stream, gate):
    event = et.Event("cpu")
    with hook_calls("host_wait") as waits:
        assert event.query()  # never recorded: there is nothing to observe
        gate.hold(stream)
        event.record(stream)
        assert not event.query()
        gate.open()
        event.synchronize(TIMEOUT)
        stream.synchronize(TIMEOUT)
        assert event.query()
        assert stream.query()
    assert waits == [(0, stream.stream_id, event.event_id, 0), (0, stream.stream_id, 0, 0)]


def test_a_callback_reports_a_host_wait_for_its_subject(stream, gate):
    gate.hold(stream)
    future = stream.submit(int)
    event = stream.record_event()
    seen = []
    with hook_calls("host_wait") as waits:
        future.add_done_callback(lambda _: seen.append("future"))
        event.notify(lambda _: seen.append("event"))
        gate.open()
        eventually(lambda: len(seen) == 2, "both callbacks")
        assert set(waits) == {(0, stream.stream_id, 0, future.work_id), (0, stream.stream_id, event.event_id, 0)}


def test_start_and_end_of_a_synchronization_have_the_same_number(collector, stream):
    event = stream.record_event()
    event.synchronize(TIMEOUT)
    stream.synchronize(TIMEOUT)
    et.synchronize("cpu", TIMEOUT)
    begins, ends = collector.records[::2], collector.records[1::2]
    assert [r.handle for r in begins] == [r.handle for r in ends]
    assert len({r.handle for r in begins}) == 3
    assert [r.outcome for r in ends] == ["ok"] * 3
    assert [r.end for r in begins + ends] == [False] * 3 + [True] * 3


@pytest.mark.parametrize("verb", ["event", "stream", "device"])
def test_a_synchronization_that_timed_out_is_reported_as_such(collector, stream, gate, verb):
    gate.hold(stream)
    event = stream.record_event()
    what = {"event": event.synchronize, "stream": stream.synchronize, "device": lambda t: et.synchronize("cpu", t)}
    with pytest.raises(TimeoutError):
        what[verb](0)
    _, end = collector.records
    assert (end.end, end.outcome, end.name) == (True, "cancelled", "gave up")


def test_awaiting_is_a_synchronization_with_two_ends(collector, stream, gate):
    async def both() -> None:
        gate.hold(stream)
        event = stream.record_event()
        waiting = asyncio.gather(event, stream)
        await asyncio.sleep(0)
        gate.open()
        await asyncio.wait_for(waiting, TIMEOUT)

    asyncio.run(both())
    ends = {r.handle: r.hook for r in collector.records if r.end}
    assert ends == {r.handle: r.hook for r in collector.records if not r.end}
    assert sorted(ends.values()) == ["event_synchronization", "stream_synchronization"]


def test_dropped_memory_is_distinguished_from_freed_memory(collector):
    kept, dropped = et.empty(8), et.empty(16)
    kept.free()
    del dropped
    gc.collect()
    assert [(r.bytes, r.name) for r in collector.records] == [(8, ""), (16, "dropped")]
