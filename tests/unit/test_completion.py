"""`work_completion` fires exactly once for every work item, whatever became of it (section 4)."""

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Boom, boom, eventually, hook_calls


class Completions(et.hooks.Observer):
    """Keeps what it receives by work id."""

    def __init__(self) -> None:
        self.received: list[tuple[int, str]] = []

    def work_completion(self, record: et.hooks.HookRecord) -> None:
        self.received.append((record.work, record.outcome))


@pytest.fixture
def completions():
    observer = Completions()
    with et.hooks.observe(observer):
        yield observer


def test_work_that_ran_is_ok_and_work_that_raised_failed(stream, completions):
    good, bad = stream.submit(int), stream.submit(boom)
    with pytest.raises(Boom):
        stream.synchronize(timeout=TIMEOUT)
    eventually(lambda: len(completions.received) == 2, "two completions")
    assert completions.received == [(good.work_id, "ok"), (bad.work_id, "failed")]


def test_work_behind_a_failure_is_skipped(stream, gate, completions):
    futures = [gate.hold(stream, Boom()), stream.submit(int), stream.copy(bytearray(3), b"abc")]
    gate.open()
    with pytest.raises(Boom):
        stream.synchronize(timeout=TIMEOUT)
    eventually(lambda: len(completions.received) == 3, "three completions")
    outcomes = ["failed", "skipped", "skipped"]
    assert completions.received == [
        (future.work_id, outcome) for future, outcome in zip(futures, outcomes, strict=True)
    ]


def test_work_of_a_stream_that_waited_for_a_failed_marker_is_skipped(stream, other, gate, completions):
    failed = gate.hold(stream, Boom())
    other.wait_stream(stream)
    skipped = other.submit(int)
    gate.open()
    assert isinstance(skipped.exception(TIMEOUT), et.StreamError)
    eventually(lambda: len(completions.received) == 2, "two completions")
    assert completions.received == [(failed.work_id, "failed"), (skipped.work_id, "skipped")]


def test_cancelled_work_is_reported_once_as_cancelled(stream, gate, completions):
    held = gate.hold(stream)
    cancelled = stream.submit(int)
    assert cancelled.cancel()
    assert cancelled.cancel()
    gate.open()
    last = stream.submit(int)
    last.result(TIMEOUT)
    eventually(lambda: len(completions.received) == 3, "three completions")
    assert sorted(completions.received) == sorted(
        [(held.work_id, "ok"), (cancelled.work_id, "cancelled"), (last.work_id, "ok")]
    )


def test_a_callback_receives_skipped_and_cancelled_work_too(stream, gate):
    with hook_calls("work_completion") as calls:
        futures = [gate.hold(stream, Boom()), stream.submit(int), stream.submit(int)]
        assert futures[1].cancel()
        gate.open()
        with pytest.raises(Boom):
            stream.synchronize(timeout=TIMEOUT)
        eventually(lambda: len(calls) == 3, "three completions")
    assert sorted(call[0] for call in calls) == sorted(future.work_id for future in futures)
    assert all(0 < begun <= ended for _, begun, ended in calls)


def test_every_submission_has_one_completion(make_stream):
    streams = [make_stream() for _ in range(3)]
    with hook_calls("work_submission") as submitted, hook_calls("work_completion") as completed:
        for number in range(60):
            streams[number % 3].submit(boom if number == 30 else int)
        for stream in streams:
            try:
                stream.synchronize(timeout=TIMEOUT)
            except Boom:
                continue
        eventually(lambda: len(completed) >= 60, "sixty completions")
    assert sorted(call[1] for call in submitted) == sorted(call[0] for call in completed)
