"""Work that was cancelled in time does not run, so it accesses nothing."""

import threading

import numpy as np
import pytest

import eventide as et
from eventide.sanitizer import check_trace
from eventide.trace import open_trace
from tests.helpers import TIMEOUT
from tests.unit.declared_work import fill, total


@pytest.fixture
def busy(stream):
    """A stream that runs until `go` is set."""
    go = threading.Event()
    begun = threading.Event()
    stream.submit(et.work(lambda: (begun.set(), go.wait(TIMEOUT)), name="busy", reads=()))
    assert begun.wait(TIMEOUT)
    yield stream
    go.set()
    stream.synchronize(TIMEOUT)


@pytest.mark.parametrize("predict", [False, True])
def test_what_comes_after_the_cancellation_conflicts_with_nothing(busy, other, predict, tmp_path):
    array = np.zeros(4)
    with et.Recorder(tmp_path / "run.eventide"), et.sanitize(predict=predict) as live:
        assert busy.submit(fill, array).cancel()
        other.submit(fill, array).result(TIMEOUT)
        et.host_access(writes=array)
    assert list(live) == []
    assert list(check_trace(open_trace(tmp_path / "run.eventide"), predict=predict)) == []


def test_what_was_found_before_is_withdrawn(busy, other):
    array = np.zeros(4)
    with et.sanitize() as findings:
        pending = busy.submit(fill, array)
        other.submit(total, array).result(TIMEOUT)
        assert [(f.kind, f.certainty) for f in findings] == [("race", "certain")]
        assert pending.cancel()
        assert pending.cancel()  # again has no effect
    assert list(findings) == []


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("access", [fill, total])
def test_its_neighbours_keep_their_findings(busy, other, access, before):
    array = np.zeros(4)
    with et.sanitize() as findings:
        busy.submit(access, array)
        later = busy.submit(access, array)
        if before:
            assert later.cancel()
        other.submit(fill, array)
        if not before:
            assert later.cancel()
    assert [(f.kind, f.certainty, f.count) for f in findings] == [("race", "certain", 1)]


def test_work_that_has_begun_is_not_cancelled_and_accesses(stream, other):
    array, begun, go = np.zeros(4), threading.Event(), threading.Event()
    with et.sanitize() as findings:
        running = stream.submit(et.work(lambda: (begun.set(), go.wait(TIMEOUT)), name="runs", writes=array))
        assert begun.wait(TIMEOUT)
        other.submit(fill, array)
        assert not running.cancel()
        go.set()
        running.result(TIMEOUT)
    assert [f.kind for f in findings] == ["race"]


def test_thousands_of_cancellations_leave_nothing_behind(busy, other):
    parts = np.zeros((5000, 4))
    with et.sanitize() as findings:
        for part in parts:
            assert busy.submit(fill, part).cancel()
        other.submit(fill, parts).result(TIMEOUT)
    assert list(findings) == []
