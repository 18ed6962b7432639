"""The device `sim`: when things happen. All times are virtual and exact; a call costs 1000 ns unless said."""

from __future__ import annotations

import pytest

import eventide as et
from eventide.backends import Sim
from tests.sim_driver import Driver, FakeWork, free


@pytest.fixture
def drive() -> Driver:
    return Driver()


# Time


def test_time_begins_at_zero_and_reading_it_costs_nothing(drive):
    assert [drive.now, drive.now] == [0, 0]


def test_each_call_that_queues_costs_a_microsecond(drive):
    stream = drive.stream()
    drive.submit(stream)
    assert drive.now == 1000
    marker = drive.mark(stream)
    assert drive.now == 2000
    drive.wait(stream, marker)
    assert drive.now == 3000
    token = drive.sim.gate(stream)
    assert drive.now == 4000
    drive.sim.open(token)
    assert drive.now == 5000


def test_submitting_only_queues_and_flushing_runs(drive):
    stream = drive.stream()
    work = FakeWork(drive.sim)
    drive.sim.submit(stream, work)
    assert work.ran_at == []
    drive.sim.flush(stream)
    assert work.ran_at == [1000]


def test_work_runs_in_the_call_that_passes_its_start(drive):
    stream = drive.stream()
    drive.submit(stream, 2.5e-6)  # 1000 to 3500
    second = drive.submit(stream)  # 2000
    drive.mark(stream)  # 3000
    assert second.ran_at == []
    drive.mark(stream)  # 4000
    assert second.ran_at == [3500]


def test_work_without_a_duration_takes_the_configured_default(drive):
    stream = drive.stream()
    drive.submit(stream)
    assert drive.join(drive.mark(stream)) == 2000
    other = free(duration=70e-9)
    stream = other.stream()
    other.submit(stream)
    other.submit(stream)
    assert other.join(other.mark(stream)) == 140


def test_durations_are_seconds_rounded_to_a_nanosecond():
    drive = free()
    stream = drive.stream()
    drive.submit(stream, 1.005e-6)  # times 1e9 this is a little less than 1005
    assert drive.join(drive.mark(stream)) == 1005


@pytest.mark.parametrize("duration", [-1e-9, float("inf"), float("nan")])
def test_an_invalid_duration_is_refused(drive, duration):
    with pytest.raises(ValueError, match="duration as a number of seconds from 0 on; got"):
        drive.submit(drive.stream(), duration)


def test_a_marker_on_an_idle_stream_has_the_time_of_its_record(drive):
    stream = drive.stream()
    first, second = drive.mark(stream), drive.mark(stream)
    assert [drive.join(first), drive.join(second)] == [1000, 2000]


# The host queries and waits


def test_joining_goes_straight_to_the_time_of_the_marker(drive):
    stream = drive.stream()
    drive.submit(stream, 3600.0)
    assert drive.join(drive.mark(stream)) == 3600 * 10**9 + 1000
    assert drive.now == 3600 * 10**9 + 1000


def test_joining_a_completed_marker_takes_no_time(drive):
    marker = drive.mark(drive.stream())
    drive.join(marker)
    assert drive.now == 1000


def test_joining_runs_what_starts_up_to_the_time_of_the_marker_and_nothing_later(drive):
    stream, other = drive.stream(), drive.stream()
    drive.submit(stream, 1e-3)
    marker = drive.mark(stream)
    behind, later = drive.submit(stream), drive.submit(stream)
    drive.submit(other, 2e-3)
    assert drive.join(marker) == 1_001_000
    assert (behind.ran_at, later.ran_at) == ([1_001_000], [])
    assert drive.now == 1_001_000


def test_querying_a_pending_marker_moves_time_until_it_is_done(drive):
    stream = drive.stream()
    drive.submit(stream, 5e-6)  # 1000 to 6000
    marker = drive.mark(stream)  # 2000
    queries = 1
    while not drive.done(marker):
        queries += 1
    assert (queries, drive.now) == (4, 6000)
    assert drive.done(marker)
    assert drive.now == 6000


def test_polling_after_a_slice_of_a_wait_costs_nothing(drive):
    # How many slices a wait has depends on how fast the machine is; virtual time must not.
    stream = drive.stream()
    drive.sim.gate(stream)
    marker = drive.mark(stream)
    for _ in range(5):
        drive.sim.join(marker, 0.0)
        assert not drive.done(marker)
    assert drive.now == 2000
    assert not drive.done(marker)  # queried without waiting
    assert drive.now == 3000


# Streams


def test_streams_overlap_in_time():
    drive = free()
    markers = []
    for duration in (3e-6, 2e-6):
        stream = drive.stream()
        drive.submit(stream, duration)
        markers.append(drive.mark(stream))
    assert [drive.join(marker) for marker in markers] == [3000, 2000]
    assert drive.now == 3000


def test_a_stream_waits_for_a_marker_of_another_device():
    drive = free(devices=64)
    first, second = drive.stream(0), drive.stream(63)
    drive.submit(first, 5e-6)
    marker = drive.mark(first)
    drive.submit(first, 1.0)  # behind the marker: no call waits for it
    drive.submit(second, 1e-6)
    drive.wait(second, marker)
    work = drive.submit(second, 2e-6)
    assert drive.join(drive.mark(second)) == 7000
    assert work.ran_at == [5000]


def test_a_wait_for_a_completed_marker_delays_nothing(drive):
    first, second = drive.stream(), drive.stream()
    marker = drive.mark(first)
    drive.wait(second, marker)
    assert drive.submit(second).ran_at == [3000]


def test_a_marker_behind_a_wait_is_not_done_before_it(drive):
    first, second = drive.stream(), drive.stream()
    drive.submit(first, 8e-6)  # 1000 to 9000
    drive.wait(second, drive.mark(first))
    assert drive.join(drive.mark(second)) == 9000


# Limits


@pytest.mark.parametrize(
    ("limit", "ends"),
    [(None, [3000, 3000, 3000, 3000]), (1, [3000, 6000, 9000, 12000]), (2, [3000, 3000, 6000, 6000])],
)
def test_no_more_than_the_limit_runs_at_once_on_a_device(limit, ends):
    drive = free(limit=limit)
    streams = [drive.stream() for _ in ends]
    for stream in streams:
        drive.submit(stream, 3e-6)
    assert [drive.join(drive.mark(stream)) for stream in streams] == ends


def test_each_device_has_a_limit_of_its_own():
    drive = free(limit=1)
    streams = [drive.stream(index) for index in range(3)]
    for stream in streams:
        drive.submit(stream, 3e-6)
    assert [drive.join(drive.mark(stream)) for stream in streams] == [3000, 3000, 3000]


def test_work_that_became_ready_first_starts_first():
    drive = Driver(limit=1)
    late, early, running = drive.stream(), drive.stream(), drive.stream()
    drive.submit(running, 5e-6)  # 1000 to 6000
    token = drive.sim.gate(late)
    second = drive.submit(late)  # submitted before the other and ready after it
    first = drive.submit(early)
    drive.sim.open(token)
    drive.join(drive.mark(late))
    assert (first.ran_at, second.ran_at) == ([6000], [7000])


def test_work_that_ends_frees_its_place_before_other_work_starts_at_that_time():
    drive = Driver(limit=1)
    first, second = drive.stream(), drive.stream()
    drive.submit(first, 2e-6)  # 1000 to 3000
    behind = drive.submit(first)  # ready at 3000, submitted at 2000
    other = drive.submit(second)  # ready at 3000, submitted at 3000
    drive.join(drive.mark(second))
    assert (behind.ran_at, other.ran_at) == ([3000], [4000])


def test_copies_have_engines_of_their_own():
    drive = free(limit=1, copy_limit=1)
    names = ["work", "copy", "work", "copy"]
    streams = [drive.stream() for _ in names]
    for stream, name in zip(streams, names, strict=True):
        drive.submit(stream, 3e-6, name=name)
    assert [drive.join(drive.mark(stream)) for stream in streams] == [3000, 3000, 6000, 6000]


# Options


def test_the_capabilities_of_sim():
    capabilities = Sim().capabilities(0)
    assert capabilities.deferred
    assert capabilities.timing
    assert capabilities.join_timeout
    assert capabilities.gate
    assert not capabilities.concurrent
    assert capabilities.clock == "virtual"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": 0}, "devices must be at least 1; got 0"),
        ({"limit": 0}, "limit must be at least 1; got 0"),
        ({"copy_limit": -1}, "copy_limit must be at least 1; got -1"),
        ({"host_cost": -1}, "host_cost must be at least 0; got -1"),
        ({"duration": -1}, "duration must be at least 0; got -1"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(et.UsageValueError, match=message):
        Sim(**options)


def test_it_is_configured_before_its_first_stream():
    sim = Sim()
    sim.configure(64, None, None, 0, 1000)
    assert sim.count() == 64
    sim.open_stream(63, 0)
    with pytest.raises(et.UsageError, match="has streams already: configure it first, or register another Sim"):
        sim.configure(8, None, None, 0, 1000)
