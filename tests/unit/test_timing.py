"""`elapsed_time` and `completed_at`: the checks, in their order, and what the numbers mean."""

from itertools import pairwise

import pytest

import eventide as et
from tests.helpers import TIMEOUT

NO_TIMING = "Both events must be created with argument 'enable_timing=True'."


def recorded(stream, **kwargs):
    event = et.Event("cpu", **{"enable_timing": True, **kwargs})
    event.record(stream)
    return event


def done(stream, **kwargs):
    event = recorded(stream, **kwargs)
    event.synchronize(timeout=TIMEOUT)
    return event


@pytest.mark.parametrize("end", [None, 5, "end", 1.0, object()], ids=lambda value: type(value).__name__)
def test_the_type_is_checked_first(end):
    with pytest.raises(TypeError):
        et.Event("cpu").elapsed_time(end)


def test_a_stream_is_not_an_end_event(stream):
    with pytest.raises(TypeError):
        done(stream).elapsed_time(stream)


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (False, False)])
def test_timing_is_checked_before_recording(first, second):
    with pytest.raises(ValueError) as caught:
        et.Event("cpu", enable_timing=first).elapsed_time(et.Event("cpu", enable_timing=second))
    assert NO_TIMING in str(caught.value)


def test_timing_is_checked_before_completion(stream, gate):
    gate.hold(stream)
    with pytest.raises(ValueError) as caught:
        recorded(stream).elapsed_time(recorded(stream, enable_timing=False))
    assert NO_TIMING in str(caught.value)


def test_recording_is_checked_before_completion(stream, gate):
    gate.hold(stream)
    with pytest.raises(ValueError, match="recorded"):
        recorded(stream).elapsed_time(et.Event("cpu", enable_timing=True))


@pytest.mark.parametrize("pending", ["start", "end", "both"])
def test_calling_too_early_says_to_synchronize_first(stream, other, gate, pending):
    gate.hold(stream)
    start = recorded(stream) if pending != "end" else done(other)
    end = recorded(stream) if pending != "start" else done(other)
    with pytest.raises(RuntimeError, match="synchronize") as caught:
        start.elapsed_time(end)
    assert not isinstance(caught.value, ValueError)
    gate.open()
    end.synchronize(timeout=TIMEOUT)
    start.synchronize(timeout=TIMEOUT)
    assert isinstance(start.elapsed_time(end), float)


def test_a_pending_second_record_counts_although_the_first_is_done(stream, gate):
    start, end = done(stream), done(stream)
    start.elapsed_time(end)
    gate.hold(stream)
    end.record(stream)
    with pytest.raises(RuntimeError, match="synchronize"):
        start.elapsed_time(end)


def test_timing_is_off_unless_enabled(stream):
    with pytest.raises(ValueError, match="enable_timing=True"):
        done(stream, enable_timing=False).elapsed_time(done(stream))
    plain = et.Event("cpu")
    plain.record(stream)
    plain.synchronize(timeout=TIMEOUT)
    with pytest.raises(ValueError, match="enable_timing=True"):
        plain.elapsed_time(plain)


def test_an_event_made_by_record_event_has_no_timing(stream):
    made = stream.record_event()
    made.synchronize(timeout=TIMEOUT)
    with pytest.raises(ValueError, match="enable_timing=True"):
        done(stream).elapsed_time(made)


def test_elapsed_time_may_be_negative(stream):
    first = recorded(stream)
    stream.submit(sum, range(100_000))
    second = done(stream)
    assert second.elapsed_time(first) == -first.elapsed_time(second)
    assert second.elapsed_time(first) < 0


def test_elapsed_time_of_an_event_with_itself_is_zero(stream):
    event = done(stream)
    assert event.elapsed_time(event) == 0.0


def test_back_to_back_events_of_one_stream_are_never_reversed(stream):
    events = [recorded(stream) for _ in range(300)]
    stream.synchronize(timeout=TIMEOUT)
    assert all(first.elapsed_time(second) >= 0 for first, second in pairwise(events))


def test_time_is_taken_when_the_device_passes_the_marker_not_when_the_host_queries(stream):
    first = recorded(stream)
    second = done(stream)  # the host looks at the second before it looks at the first
    fence = done(stream)
    first.synchronize(timeout=TIMEOUT)
    assert first.completed_at <= second.completed_at <= fence.completed_at


def test_time_does_not_change_once_it_is_taken(stream):
    event = done(stream)
    before = event.completed_at
    done(stream)
    event.synchronize(timeout=TIMEOUT)
    assert event.completed_at == before


def test_a_new_record_brings_a_new_time(stream):
    event = done(stream)
    before = event.completed_at
    stream.submit(sum, range(100_000))
    event.record(stream)
    event.synchronize(timeout=TIMEOUT)
    assert event.completed_at > before


def test_events_of_two_streams_share_a_clock(stream, other):
    start = recorded(stream)
    other.wait_event(start)
    end = done(other)
    assert start.elapsed_time(end) >= 0


def test_a_marker_on_an_idle_stream_has_the_time_of_its_record(stream, other):
    times = []
    for target in (other, stream, other):
        if target is other:
            other.submit(sum, range(1000))
        times.append(done(target).completed_at)  # the one in the middle has no work before it
    assert times == sorted(times)


def test_completed_at_makes_the_same_checks(stream, other, gate):
    with pytest.raises(ValueError, match="enable_timing=True"):
        done(other, enable_timing=False).completed_at
    with pytest.raises(ValueError, match="recorded"):
        et.Event("cpu", enable_timing=True).completed_at
    gate.hold(stream)
    with pytest.raises(RuntimeError, match="synchronize"):
        recorded(stream).completed_at


def test_time_lies_around_the_work_between_two_events(stream):
    spans: list[tuple[int, int, int]] = []
    with et.hooks.on("work_completion", lambda *span: spans.append(span)):
        start = recorded(stream)
        work = stream.submit(sum, range(1000)).work_id
        end = recorded(stream)
        stream.close(timeout=TIMEOUT)
    (begun, ended) = next(span[1:] for span in spans if span[0] == work)
    assert start.completed_at <= begun <= ended <= end.completed_at
