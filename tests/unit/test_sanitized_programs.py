"""Programs as people write them: none of the right ones has a certain finding, and each planted bug is found."""

import inspect

import pytest

import eventide as et
from eventide.sanitizer import check_trace
from eventide.trace import open_trace
from tests.sanitized import (
    buffers,
    executors,
    hosts,
    loops,
    memory,
    nested,
    pipelines,
    requests,
    services,
    training,
    views,
)

MODULES = (buffers, pipelines, training, services, hosts, requests, memory, executors, loops, nested, views)
PROGRAMS = {
    name: function
    for module in MODULES
    for name, function in vars(module).items()
    if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["device", "bug"]
}
WRONG = ("race", "use-after-free", "missing-record-stream")
POSSIBLE_ALTHOUGH_RIGHT: dict[str, str] = {}  # at most two, each with the reason
POSSIBLE_BUGS = {
    "pool_of_threads": "a thread that has waited for its own work could hand over in a way that is unseen",
    "pool_of_multiprocessing": "a thread of the pool that has written could hand over in a way that is unseen",
    "work_that_continues_itself": "work without accesses that follows the write could signal in a way that is unseen",
    **dict.fromkeys(
        (
            "ring_behind_a_bounded_queue",
            "condition_and_flag",
            "semaphore_as_a_latch",
            "barrier_between_phases",
            "tasks_of_a_queue",
            "sum_under_a_lock",
            "promise_that_a_thread_keeps",
            "pipe_that_wakes",
            "executor_in_an_event_loop",
            "streams_that_are_lent",
            "slices_of_an_executor",
            "asynchronous_results",
            "a_stream_for_each_thread",
            "the_first_that_completes",
            "threads_named_as_processes",
            "free_list_on_a_stack",
            "pool_that_is_left",
            "loader_thread",
            "loader_thread_and_loop",
            "futures_of_streams_as_they_complete",
            "readers_and_a_writer",
            "event_of_the_loop",
            "swap_at_a_barrier",
            "timer_thread_that_stops",
            "jobs_by_priority",
        ),
        "a thread that has done or waited for the first could hand over in a way that is unseen",
    ),
}
ON_CPU_ONLY = {"copy_to_the_device_and_back"}


def checked(program, device, bug, path):
    """The findings that are wrong: live, and from a recording of a run of its own."""
    with et.sanitize() as live:
        program(device, bug)
    with et.Recorder(path, stacks=True):
        program(device, bug)
    stored = check_trace(open_trace(path))
    return [{(f.kind, f.fingerprint): f.certainty for f in found if f.kind in WRONG} for found in (live, stored)]


def test_there_are_a_hundred_of_them():
    assert 2 * len(PROGRAMS) >= 100
    assert len(POSSIBLE_ALTHOUGH_RIGHT) <= 2
    assert len(PROGRAMS) - len(POSSIBLE_BUGS) >= 20


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_program_has_no_certain_finding(name, device, tmp_path):
    for found in checked(PROGRAMS[name], device, False, tmp_path / "run.eventide"):
        expected = {"possible"} if name in POSSIBLE_ALTHOUGH_RIGHT else set()
        assert set(found.values()) <= expected, found


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_planted_bug_is_found(name, device, tmp_path):
    live, stored = checked(PROGRAMS[name], device, True, tmp_path / "run.eventide")
    wanted = {"certain", "possible"} if name in POSSIBLE_BUGS else {"certain"}
    assert wanted & set(live.values()), live
    assert wanted & set(stored.values()), stored
