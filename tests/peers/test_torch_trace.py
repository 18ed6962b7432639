"""torch's tests of its trace callbacks, and of generic streams and events, on the runtime and the hooks."""

from __future__ import annotations

import re

import pytest

import eventide as et
from tests.helpers import TIMEOUT, hook_calls
from tests.peers.ported import ported

TRACE, EXTENSION = "test_cuda_trace.py", "test_cpp_extensions_stream_and_event.py"


@ported(TRACE, "test_event_creation_callback", "test_event_record_callback")
def test_the_first_record_of_an_event_is_its_creation(stream):
    with hook_calls("event_creation") as created, hook_calls("event_record") as recorded:
        event = et.Event("cpu")
        event.record(stream)
    assert created == [(event.event_id,)]
    assert recorded == [(event.event_id, stream.stream_id)]


@ported(TRACE, "test_event_deletion_callback")
def test_a_recorded_event_that_is_dropped_is_deleted_once(stream):
    with hook_calls("event_deletion") as deleted:
        event = et.Event("cpu")
        event.record(stream)
        number = event.event_id
        del event
    assert deleted == [(number,)]


@ported(TRACE, "test_event_wait_callback")
def test_a_wait_names_the_event_and_the_stream(stream):
    with stream, hook_calls("event_wait") as waited:
        event = et.Event("cpu")
        event.record()
        event.wait()
    assert waited == [(event.event_id, stream.stream_id)]


@ported(TRACE, "test_memory_allocation_callback", "test_memory_deallocation_callback")
def test_memory_has_the_same_address_at_its_allocation_and_its_free():
    with hook_calls("memory_allocation") as allocated, hook_calls("memory_deallocation") as freed:
        buffer = et.empty(160)
        address = buffer.ptr
        del buffer
    assert (allocated, freed) == ([(address,)], [(address,)])


@ported(TRACE, "test_stream_creation_callback")
def test_a_new_stream_is_reported_once():
    with hook_calls("stream_creation") as created:
        stream = et.Stream("cpu")
    assert created == [(stream.stream_id,)]
    stream.close(TIMEOUT)


@ported(TRACE, "test_device_synchronization_callback")
def test_a_device_synchronization_is_reported_without_arguments():
    with hook_calls("device_synchronization") as synchronized:
        et.synchronize("cpu", timeout=TIMEOUT)
    assert synchronized == [()]


@ported(TRACE, "test_stream_synchronization_callback", "test_event_synchronization_callback")
def test_synchronizations_name_what_the_host_waits_for(stream):
    event = stream.record_event()
    with hook_calls("stream_synchronization") as streams, hook_calls("event_synchronization") as events:
        stream.synchronize(TIMEOUT)
        event.synchronize(TIMEOUT)
    assert (streams, events) == ([(stream.stream_id,)], [(event.event_id,)])


@ported(TRACE, "test_all_trace_callbacks_called")
def test_every_registered_callback_is_called():
    first: list[int] = []
    second: list[int] = []
    with (
        et.hooks.register_callback_for_memory_allocation(first.append),
        et.hooks.register_callback_for_memory_allocation(second.append),
    ):
        buffer = et.empty(160)
    assert first == second == [buffer.ptr]
    buffer.free()


@ported(EXTENSION, "test_stream_event")
def test_generic_streams_and_events_of_a_device():
    stream, event, unrelated = (
        et.Stream("sim"),
        et.Event("sim", enable_timing=True),
        et.Event("sim", enable_timing=True),
    )
    assert (stream.device_type, event.device.type, event.event_id) == ("sim", "sim", 0)
    with stream:
        unrelated.record()
    stream.record_event(event=event)
    assert event.event_id != 0
    without_timing = stream.record_event()
    assert without_timing.event_id not in {0, event.event_id}
    for each in (event, unrelated, without_timing):
        each.synchronize(TIMEOUT)
    assert event.elapsed_time(unrelated) <= 0.0  # it was recorded before
    message = re.escape("Both events must be created with argument 'enable_timing=True'")
    with pytest.raises(ValueError, match=message):
        event.elapsed_time(without_timing)
    before = event.event_id
    event.record(stream=stream)
    assert event.event_id == before
    stream.close(TIMEOUT)
