"""The device `sim`: gates, calls made inside work, several host threads, and what it keeps."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING

import pytest

from tests.helpers import TIMEOUT, Background, eventually
from tests.sim_driver import Driver, FakeWork

if TYPE_CHECKING:
    from eventide.backends.sim._schedule import Marker


@pytest.fixture
def drive() -> Driver:
    return Driver()


# Gates


def test_a_held_stream_continues_at_the_time_of_open(drive):
    stream = drive.stream()
    token = drive.sim.gate(stream)  # 1000
    work = drive.submit(stream, 1e-6)  # 2000
    marker = drive.mark(stream)  # 3000
    assert not drive.done(marker)  # 4000
    drive.sim.open(token)  # 5000
    assert drive.join(marker) == 6000
    assert work.ran_at == [5000]


def test_a_gate_may_be_opened_before_the_stream_reaches_it(drive):
    stream = drive.stream()
    drive.submit(stream, 9e-6)  # 1000 to 10000
    token = drive.sim.gate(stream)
    drive.sim.open(token)
    work = drive.submit(stream)
    drive.join(drive.mark(stream))
    assert work.ran_at == [10_000]


def test_a_join_behind_a_closed_gate_times_out_and_other_streams_continue(drive):
    held, other = drive.stream(), drive.stream()
    drive.sim.gate(held)
    marker = drive.mark(held)
    work = drive.submit(other, 1e-3)
    drive.submit(other)
    drive.sim.join(marker, 0.001)
    assert not drive.done(marker)
    assert work.ran_at == [3000]


def test_a_join_behind_a_closed_gate_times_out_although_other_work_never_ends(drive):
    held, endless = drive.stream(), drive.stream()
    drive.sim.gate(held)
    marker = drive.mark(held)

    def again() -> None:
        drive.submit(endless, 1e-3, again)

    again()
    drive.sim.join(marker, 0.001)
    assert not drive.done(marker)


def test_a_thread_that_waits_observes_a_gate_that_another_opens(drive):
    stream = drive.stream()
    token = drive.sim.gate(stream)
    drive.submit(stream, 1e-6)
    marker = drive.mark(stream)
    waiting = Background(lambda: drive.join(marker))
    eventually(lambda: drive.sim._host._sleepers, "the thread sleeps")
    drive.sim.open(token)  # 4000
    assert waiting.result() == 5000


# Inside work


def test_inside_work_the_time_is_its_start_and_what_it_queues_is_free(drive):
    outer, inner = drive.stream(), drive.stream()
    queued: list[FakeWork] = []
    drive.submit(outer, 4e-6, lambda: queued.append(drive.submit(inner, 1e-6)))  # 1000 to 5000
    assert queued[0].ran_at == [1000]
    assert drive.now == 1000
    marker = drive.mark(inner)
    assert drive.join(marker) == 2000
    assert drive.join(drive.mark(outer)) == 5000


def test_a_chain_of_work_that_queues_the_next_item_does_not_recurse(drive):
    left = [10_000]

    def next_one() -> None:
        left[0] -= 1
        if left[0]:
            drive.submit(drive.stream(), 0.0, next_one)

    drive.submit(drive.stream(), 0.0, next_one)
    assert left == [0]
    assert drive.now == 1000


def test_work_that_waits_for_other_work_ends_after_it(drive):
    outer, inner = drive.stream(), drive.stream()
    drive.submit(inner, 7e-6)  # 1000 to 8000
    marker = drive.mark(inner)
    drive.sim.submit(outer, FakeWork(drive.sim, 2e-6, fn=lambda: drive.join(marker)))  # starts at 3000
    end = drive.mark(outer)
    assert drive.now == 8000
    assert drive.join(end) == 8000


def test_work_that_polls_ends(drive):
    outer, inner = drive.stream(), drive.stream()
    drive.submit(inner, 7e-6)  # 1000 to 8000
    marker = drive.mark(inner)
    answers: list[bool] = []

    def poll() -> None:
        while not answers or not answers[-1]:
            answers.append(drive.done(marker))

    drive.submit(outer, 2e-6, poll)  # starts at 3000
    assert answers == [False] * 4 + [True]
    assert drive.now == 8000


def test_a_marker_that_the_host_recorded_later_is_pending_inside_work(drive):
    stream, other = drive.stream(), drive.stream()
    markers: list[Marker] = []
    seen: list[tuple[int, bool, int]] = []
    look = FakeWork(drive.sim, fn=lambda: seen.append((drive.now, drive.done(markers[0]), drive.now)))
    drive.sim.submit(stream, look)  # 1000
    markers.append(drive.sim.make_marker(other, True))  # 2000, and nothing was flushed in between
    drive.sim.flush(stream)
    assert seen == [(1000, True, 2000)]


# Several threads


def test_threads_may_share_it():
    drive = Driver(limit=2)
    total, each = 4, 200
    ran: list[int] = []
    streams = [drive.stream(index % 2) for index in range(total)]

    def use(index: int) -> None:
        for _ in range(each):
            drive.submit(streams[index], 1e-6, lambda: ran.append(index))
            marker = drive.mark(streams[index])
            drive.wait(streams[(index + 1) % total], marker)
        drive.join(marker)

    threads = [Background(lambda index=index: use(index)) for index in range(total)]
    for thread in threads:
        thread.result()
    for stream in streams:
        drive.join(drive.mark(stream))
    assert sorted(ran) == sorted(list(range(total)) * each)


def test_a_thread_that_waits_observes_work_that_another_thread_ends(drive):
    stream = drive.stream()
    entered, leave = threading.Event(), threading.Event()

    def block() -> None:
        entered.set()
        assert leave.wait(TIMEOUT)

    running = Background(lambda: drive.submit(stream, 1e-6, block))
    assert entered.wait(TIMEOUT)
    marker = drive.mark(stream)  # no lock is held while functions run
    waiting = Background(lambda: drive.join(marker))
    eventually(lambda: drive.sim._host._sleepers, "the thread sleeps")
    leave.set()
    assert waiting.result() == 2000
    running.result()


# Memory


def test_completed_work_is_released(drive):
    stream = drive.stream()
    work, marker = weakref.ref(drive.submit(stream, 1e-3)), drive.mark(stream)
    gc.collect()
    assert work() is not None
    drive.join(marker)
    gc.collect()
    assert work() is None


def test_a_marker_that_is_done_keeps_no_stream_that_waited_for_it(drive):
    first, second = drive.stream(), drive.stream()
    drive.submit(first, 1e-3)
    marker = drive.mark(first)
    drive.wait(second, marker)
    assert marker.held == [second]
    drive.join(marker)
    assert marker.held is None


def test_queued_work_does_not_grow_the_heap(drive):
    streams = [drive.stream(index) for index in range(8)]
    for stream in streams * 100:
        drive.submit(stream, 1.0)
    assert len(drive.sim._host._schedule._events) == len(streams)
