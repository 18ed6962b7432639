"""Observers receive every hook whole, the end of a synchronization included (section 4)."""

import gc
import threading

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Background, Boom, blocked_in, boom, eventually, hook_calls

ENDS = ("device_synchronization_end", "stream_synchronization_end", "event_synchronization_end")


class Collector(et.hooks.Observer):
    """Keeps every record it receives, with the method that received it."""

    def __init__(self) -> None:
        self.received: list[tuple[str, et.hooks.HookRecord]] = []

    def names(self, *methods: str) -> list[str]:
        return [method for method, _ in self.received if method in methods]

    def of(self, *methods: str) -> list[et.hooks.HookRecord]:
        return [record for method, record in self.received if method in methods]

    def one(self, method: str) -> et.hooks.HookRecord:
        (record,) = self.of(method)
        return record


for _name in (*et.hooks.HOOKS, *ENDS):
    setattr(Collector, _name, lambda self, record, method=_name: self.received.append((method, record)))


@pytest.fixture
def collector():
    collector = Collector()
    with et.hooks.observe(collector):
        yield collector


def test_every_hook_has_a_documented_method_that_does_nothing():
    observer = et.hooks.Observer()
    for name in (*et.hooks.HOOKS, *ENDS):
        method = getattr(observer, name)
        assert method.__doc__
        assert method(None) is None


def test_a_record_has_object_device_thread_and_time(collector, stream):
    event = et.Event("cpu")
    event.record(stream)
    event.record(stream)
    first, second = collector.of("event_record")
    assert first.hook == second.hook == "event_record"
    assert (first.device, first.stream, first.event) == ("cpu:0", stream.stream_id, event.event_id)
    assert (first.version, second.version) == (1, 2)
    assert 0 < first.time_ns <= second.time_ns
    created = collector.one("event_creation")
    assert (created.event, created.device) == (event.event_id, "cpu:0")


def test_a_record_names_its_thread(collector, stream):
    stream.record_event()
    stream.record_event()
    Background(stream.record_event).result()
    here, again, elsewhere = [record.thread for record in collector.of("event_record")]
    assert here == again != elsewhere


def test_a_record_carries_the_stack_of_the_call(collector, stream):
    def somewhere_in_the_program():
        return stream.record_event()

    somewhere_in_the_program()
    stack = repr(collector.one("event_record").stack)
    assert "somewhere_in_the_program" in stack
    assert "test_observer.py" in stack


def test_a_wait_carries_the_version_it_is_bound_to(collector, stream, other):
    event = et.Event("cpu")
    event.record(stream)
    event.record(stream)
    other.wait_event(event)
    event.record(stream)
    waited = collector.one("event_wait")
    assert (waited.event, waited.version, waited.stream) == (event.event_id, 2, other.stream_id)


def test_work_carries_its_name_ranges_and_span(collector, stream):
    source, target = et.empty(16, device="cpu"), et.empty(16, device="cpu")

    @et.work(name="move", reads="source", writes="target")
    def move(source: et.Buffer, target: et.Buffer) -> None:
        memoryview(target)[:] = memoryview(source)

    future = stream.submit(move, source, target)
    eventually(lambda: collector.of("work_completion"), "the completion")
    submitted, completed = collector.one("work_submission"), collector.one("work_completion")
    assert (submitted.work, submitted.name, submitted.stream) == (future.work_id, "move", stream.stream_id)
    assert (submitted.reads, submitted.writes) == (((source.ptr, 16),), ((target.ptr, 16),))
    assert (completed.work, completed.stream, completed.device) == (future.work_id, stream.stream_id, "cpu:0")
    assert submitted.time_ns <= completed.time_ns
    assert 0 < completed.start_ns <= completed.end_ns


def test_memory_carries_its_address_size_and_device(collector):
    buffer = et.empty(48, device="cpu")
    pointer = buffer.ptr
    buffer.free()
    allocated, freed = collector.one("memory_allocation"), collector.one("memory_deallocation")
    assert (allocated.handle, allocated.bytes, allocated.device) == (pointer, 48, "cpu:0")
    assert (freed.handle, freed.bytes, freed.device) == (pointer, 48, "cpu:0")


def test_creation_and_deletion_of_streams_are_reported(collector):
    stream = et.Stream("cpu")
    number = stream.stream_id
    stream.close(timeout=TIMEOUT)
    del stream
    gc.collect()
    eventually(lambda: collector.of("stream_deletion"), "the deletion")
    for hook in ("stream_creation", "stream_deletion"):
        assert (collector.one(hook).stream, collector.one(hook).device) == (number, "cpu:0")


SYNCHRONIZE = {
    "stream_synchronization": lambda stream, event, timeout: stream.synchronize(timeout=timeout),
    "event_synchronization": lambda stream, event, timeout: event.synchronize(timeout=timeout),
    "device_synchronization": lambda stream, event, timeout: et.synchronize("cpu", timeout=timeout),
}


@pytest.mark.parametrize("hook", SYNCHRONIZE)
def test_the_end_of_a_synchronization_comes_with_the_time_waited(collector, stream, gate, hook):
    gate.hold(stream)
    event = stream.record_event()
    waiter = blocked_in(lambda: SYNCHRONIZE[hook](stream, event, TIMEOUT))
    assert collector.names(hook, f"{hook}_end") == [hook]
    gate.open()
    waiter.result()
    begin, end = collector.one(hook), collector.one(f"{hook}_end")
    assert begin.hook == end.hook == hook
    assert (begin.end, end.end) == (False, True)
    assert (begin.stream, begin.event, begin.device) == (end.stream, end.event, end.device)
    assert begin.time_ns <= end.time_ns
    assert end.waited_ns > 0
    expected = {
        "stream_synchronization": (begin.stream, stream.stream_id),
        "event_synchronization": (begin.event, event.event_id),
        "device_synchronization": (begin.device, "cpu:0"),
    }
    reported, meant = expected[hook]
    assert reported == meant


@pytest.mark.parametrize("hook", SYNCHRONIZE)
def test_the_end_is_reported_when_the_wait_times_out(collector, stream, gate, hook):
    gate.hold(stream)
    event = stream.record_event()
    with pytest.raises(TimeoutError):
        SYNCHRONIZE[hook](stream, event, 0)
    assert collector.names(hook, f"{hook}_end") == [hook, f"{hook}_end"]


def test_the_end_is_reported_when_the_wait_raises_an_error(collector, stream, gate):
    gate.hold(stream, Boom())
    gate.open()
    with pytest.raises(Boom):
        stream.synchronize(timeout=TIMEOUT)
    names = ["stream_synchronization", "stream_synchronization_end"]
    assert collector.names(*names) == names


def test_an_observer_receives_only_what_it_overrides(stream):
    class Records(et.hooks.Observer):
        def __init__(self) -> None:
            self.versions: list[int] = []

        def event_record(self, record: et.hooks.HookRecord) -> None:
            self.versions.append(record.version)

    observer = Records()
    with et.hooks.observe(observer):
        event = stream.record_event()
        stream.wait_event(event)
    event.record(stream)
    assert observer.versions == [1]


def test_observe_returns_a_subscription(stream):
    collector = Collector()
    subscription = et.hooks.observe(collector)
    stream.record_event()
    subscription.close()
    subscription.close()
    assert subscription.closed
    stream.record_event()
    assert len(collector.of("event_record")) == 1


def test_an_observer_that_raises_is_logged_and_others_receive(collector, stream, caplog):
    class Broken(et.hooks.Observer):
        def event_record(self, record: et.hooks.HookRecord) -> None:
            boom("in an observer")

    with et.hooks.observe(Broken()), hook_calls("event_record") as calls:
        event = stream.record_event()
    assert len(collector.of("event_record")) == len(calls) == 1
    assert "event_record" in caplog.text
    assert "in an observer" in caplog.text
    event.synchronize(timeout=TIMEOUT)


def test_an_observer_that_does_device_work_does_not_receive_itself(stream):
    class Busy(et.hooks.Observer):
        calls = 0

        def event_record(self, record: et.hooks.HookRecord) -> None:
            self.calls += 1
            stream.record_event()

    busy = Busy()
    with et.hooks.observe(busy):
        stream.record_event()
    assert busy.calls == 1


def test_work_done_by_a_worker_is_reported_on_another_thread_than_its_submission(collector, stream):
    stream.submit(threading.get_ident)
    eventually(lambda: collector.of("work_completion"), "the completion")
    assert collector.one("work_submission").thread != collector.one("work_completion").thread


def test_fields_that_do_not_apply_are_omitted(collector, stream):
    stream.record_event()
    record = collector.one("event_record")
    assert record.work in (None, 0)
    assert record.handle in (None, 0)
    assert record.reads in (None, ())
