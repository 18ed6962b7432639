"""A recording is read when it stops and its rows are derived at the first access; its file may change in between."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

import eventide as et
from eventide.trace.formats.eventide import _reader
from tests.unit.recordings import marks


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The paths of traces that were derived, as it happens."""
    paths: list[Path] = []
    derive = _reader.derive

    def counted(loaded: Any, path: Path) -> et.Trace:
        paths.append(path)
        return derive(loaded, path)

    monkeypatch.setattr(_reader, "derive", counted)
    return paths


def test_stop_derives_nothing_and_the_first_access_derives_everything(tmp_path: Path, derived: list[Path]) -> None:
    file = tmp_path / "a.eventide"
    with et.Recorder(file) as recorder:
        et.instant("1")
    trace = recorder.trace
    assert derived == []
    assert marks(trace) == [1]
    assert trace.metadata["account"]["recorded"]["instants"] == 1
    assert recorder.trace is trace
    assert derived == [file]


def test_the_file_is_whole_when_stop_returns(tmp_path: Path) -> None:
    recorder = et.Recorder(tmp_path / "a.eventide").start()
    et.instant("1")
    trace = recorder.stop()
    opened = et.open_trace(tmp_path / "a.eventide")
    assert opened.metadata["account"]["closed"]
    assert opened.instants == trace.instants


def test_a_file_that_is_deleted_or_recorded_anew_does_not_change_the_trace(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    with et.Recorder(file) as first:
        et.instant("1")
    with et.Recorder(file) as second:
        et.instant("2")
    file.unlink()
    assert marks(first.trace) == [1]
    assert marks(second.trace) == [2]


def test_the_same_recorder_started_again_leaves_its_old_trace_alone(tmp_path: Path) -> None:
    recorder = et.Recorder(tmp_path / "a.eventide")
    traces = []
    for number in ("1", "2"):
        recorder.start()
        et.instant(number)
        traces.append(recorder.stop())
    assert [marks(trace) for trace in traces] == [[1], [2]]


def test_a_recorder_without_a_path_leaves_no_file(derived: list[Path]) -> None:
    recorder = et.Recorder().start()
    file = recorder.path
    assert file is not None
    et.instant("1")
    trace = recorder.stop()
    assert not file.exists()
    assert derived == []
    assert marks(trace) == [1]


def test_a_nested_recorder_has_its_own_time_range_when_it_is_accessed_later() -> None:
    with et.Recorder() as outer:
        et.instant("1")
        with et.Recorder() as inner:
            et.instant("2")
        et.instant("3")
    assert marks(inner.trace) == [2]
    assert marks(outer.trace) == [1, 2, 3]


def test_a_file_that_cannot_be_read_is_an_error_of_stop(tmp_path: Path) -> None:
    file = tmp_path / "a.eventide"
    recorder = et.Recorder(file).start()
    et.instant("1")
    file.unlink()
    with pytest.raises(FileNotFoundError):
        recorder.stop()
    recorder.start()
    os.truncate(file, 0)
    with pytest.raises(et.TraceFormatError, match="not a trace file"):
        recorder.stop()
    with pytest.raises(et.UsageError, match="no trace yet"):
        _ = recorder.trace


def test_a_failed_access_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    derive = _reader.derive

    def fail(loaded: Any, path: Path) -> et.Trace:
        if attempts.pop():
            raise MemoryError
        return derive(loaded, path)

    attempts = [False, True]
    monkeypatch.setattr(_reader, "derive", fail)
    with et.Recorder() as recorder:
        et.instant("1")
    with pytest.raises(MemoryError):
        _ = recorder.trace.instants
    assert marks(recorder.trace) == [1]
    assert attempts == []


def test_threads_that_access_the_trace_at_once_see_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    derive = _reader.derive
    both = threading.Barrier(2, timeout=60)

    def together(loaded: Any, path: Path) -> et.Trace:
        both.wait()  # both have begun to derive
        return derive(loaded, path)

    monkeypatch.setattr(_reader, "derive", together)
    with et.Recorder() as recorder:
        et.instant("1")
    trace = recorder.trace
    seen: list[Any] = []
    threads = [threading.Thread(target=lambda: seen.append(trace.metadata)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == 2
    assert seen[0] is trace.metadata
    assert seen[1] is trace.metadata


def test_a_forked_child_can_be_the_first_to_access_the_trace() -> None:
    with et.Recorder() as recorder:
        et.instant("1")
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if marks(recorder.trace) == [1] else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert marks(recorder.trace) == [1]


def test_a_trace_that_was_not_accessed_is_pickled_and_copied_whole() -> None:
    with et.Recorder() as recorder:
        et.instant("1")
    assert marks(pickle.loads(pickle.dumps(recorder.trace))) == [1]
    assert marks(copy.copy(recorder.trace)) == [1]
