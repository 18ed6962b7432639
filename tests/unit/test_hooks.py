"""What each hook passes on real actions, and when it fires: before or after the act (section 4, rule 4)."""

import ctypes
import gc

import pytest

import eventide as et
from tests.helpers import TIMEOUT, eventually, hook_calls

# The ten hooks of torch, then those of Eventide.
HOOKS = (
    "event_creation",
    "event_deletion",
    "event_record",
    "event_wait",
    "memory_allocation",
    "memory_deallocation",
    "stream_creation",
    "device_synchronization",
    "stream_synchronization",
    "event_synchronization",
    "stream_deletion",
    "work_submission",
    "work_completion",
    "collective_launch",
    "memory_use",
    "host_access",
    "host_signal",
    "host_wait",
)


def test_there_are_eighteen_hooks():
    assert set(et.hooks.HOOKS) == set(HOOKS)
    assert len(et.hooks.HOOKS) == 18


@pytest.mark.parametrize("verb", ["event.record", "stream.record_event"])
def test_record_passes_the_event_and_the_stream_it_was_recorded_on(stream, other, verb):
    event = et.Event("cpu")
    with other, hook_calls("event_record") as calls:
        if verb == "event.record":
            event.record(stream)
        else:
            stream.record_event(event)
    assert calls == [(event.event_id, stream.stream_id)]
    assert all(type(number) is int for number in calls[0])


@pytest.mark.parametrize("verb", ["event.wait", "stream.wait_event"])
def test_wait_passes_the_event_and_the_stream_that_waits(stream, other, verb):
    event = stream.record_event()
    with hook_calls("event_wait") as calls:
        if verb == "event.wait":
            event.wait(other)
        else:
            other.wait_event(event)
    assert calls == [(event.event_id, other.stream_id)]


def test_wait_stream_is_reported_as_a_record_and_a_wait(stream, other):
    with hook_calls("event_record") as recorded, hook_calls("event_wait") as waited:
        other.wait_stream(stream)
    assert [call[1] for call in recorded] == [stream.stream_id]
    assert [call[1] for call in waited] == [other.stream_id]
    assert recorded[0][0] == waited[0][0] != 0


def test_record_fires_after_the_act(stream):
    event = et.Event("cpu")
    seen: list[tuple[int, int]] = []
    with et.hooks.on("event_record", lambda *_: seen.append((event.version, event.event_id))):
        event.record(stream)
        event.record(stream)
    assert seen == [(1, event.event_id), (2, event.event_id)]


def test_wait_fires_after_the_act(stream, other, gate):
    gate.hold(stream)
    event = stream.record_event()
    ran: list[str] = []

    def submit_behind(*_: int) -> None:
        other.submit(ran.append, "behind the wait")

    with et.hooks.on("event_wait", submit_behind):
        other.wait_event(event)
    stream.submit(int)
    ran.append("gate")
    gate.open()
    other.synchronize(timeout=TIMEOUT)
    assert ran == ["gate", "behind the wait"]


def test_submission_fires_after_the_act(stream, gate):
    gate.hold(stream)
    seen: list[int] = []
    with et.hooks.on("work_submission", lambda *_: seen.append(stream.pending)):
        stream.submit(int)
        stream.submit(int)
    assert seen == [1, 2]


def test_submission_passes_stream_work_name_and_ranges(stream):
    buffer = et.empty(64, device="cpu")

    @et.work(name="fill", writes="target")
    def fill(target: et.Buffer) -> None:
        memoryview(target)[:] = b"x" * 64

    with hook_calls("work_submission") as calls:
        future = stream.submit(fill, buffer)
    assert calls == [(stream.stream_id, future.work_id, "fill", (), ((buffer.ptr, 64),))]
    future.result(TIMEOUT)


def test_a_copy_is_reported_with_what_it_reads_and_writes(stream):
    source, target = et.empty(32, device="cpu"), et.empty(32, device="cpu")
    with hook_calls("work_submission") as calls:
        future = stream.copy(target, source)
    ((queue, work, name, reads, writes),) = calls
    assert (queue, work) == (stream.stream_id, future.work_id)
    assert "copy" in name
    assert (reads, writes) == (((source.ptr, 32),), ((target.ptr, 32),))


def test_completion_passes_the_work_and_its_span(stream):
    with hook_calls("work_completion") as calls:
        futures = [stream.submit(sum, range(1000)) for _ in range(3)]
        eventually(lambda: len(calls) == 3, "three completions")
    assert [call[0] for call in calls] == [future.work_id for future in futures]
    moments = [moment for call in calls for moment in call[1:]]
    assert moments == sorted(moments)
    assert moments[0] > 0


def test_stream_creation_and_deletion_pass_the_stream():
    with hook_calls("stream_creation") as created, hook_calls("stream_deletion") as deleted:
        stream = et.Stream("cpu")
        number = stream.stream_id
        assert created == [(number,)]
        assert deleted == []
        stream.close(timeout=TIMEOUT)
        del stream
        gc.collect()
        eventually(lambda: deleted, "the deletion")
    assert deleted == [(number,)]


def test_allocation_fires_after_the_memory_is_available():
    seen: list[bytes] = []

    def use(pointer: int) -> None:
        ctypes.memset(pointer, 0x61, 4)
        seen.append(ctypes.string_at(pointer, 4))

    with et.hooks.on("memory_allocation", use), hook_calls("memory_allocation") as calls:
        buffer = et.empty(4, device="cpu")
    assert calls == [(buffer.ptr,)]
    assert seen == [b"aaaa"]
    assert bytes(memoryview(buffer)) == b"aaaa"


@pytest.mark.parametrize("how", ["free", "drop"])
def test_deallocation_fires_once_before_the_memory_is_released(how):
    buffer = et.empty(8, device="cpu")
    memoryview(buffer)[:] = b"still it"
    pointer = buffer.ptr
    seen: list[bytes] = []

    def look(freed: int) -> None:
        if freed == pointer:
            seen.append(ctypes.string_at(pointer, 8))

    with et.hooks.on("memory_deallocation", look):
        if how == "free":
            buffer.free()
        del buffer
        gc.collect()
    assert seen == [b"still it"]


def test_stream_synchronization_fires_before_blocking(stream, gate):
    gate.hold(stream)
    calls: list[int] = []

    def let_go(number: int) -> None:
        calls.append(number)
        gate.open()

    with et.hooks.on("stream_synchronization", let_go):
        stream.synchronize(timeout=TIMEOUT)
    assert calls == [stream.stream_id]


def test_event_synchronization_fires_before_blocking(stream, gate):
    gate.hold(stream)
    event = stream.record_event()
    calls: list[int] = []

    def let_go(number: int) -> None:
        calls.append(number)
        gate.open()

    with et.hooks.on("event_synchronization", let_go):
        event.synchronize(timeout=TIMEOUT)
    assert calls == [event.event_id]


def test_device_synchronization_fires_once_before_blocking_and_passes_nothing(stream, gate):
    gate.hold(stream)
    calls: list[tuple[object, ...]] = []

    def let_go(*arguments: object) -> None:
        calls.append(arguments)
        gate.open()

    with et.hooks.on("device_synchronization", let_go):
        et.synchronize("cpu", timeout=TIMEOUT)
    assert calls == [()]
