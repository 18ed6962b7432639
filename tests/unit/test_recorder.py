"""The recorder: its file, what it counts, and nested and running recordings."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

import eventide as et
from eventide import _native
from eventide.recording import note
from tests.unit.recordings import leftovers, marks

SMALL = 1 << 20


def test_the_trace_is_what_the_file_holds(tmp_path):
    file = tmp_path / "a.eventide"
    recorder = et.Recorder(file)
    assert recorder.start() is recorder
    assert recorder.recording
    assert leftovers()
    with et.span("s", n=1):
        pass
    trace = recorder.stop()
    assert not recorder.recording
    assert leftovers() == []
    assert et.open_trace(file).tables == trace.tables == recorder.trace.tables
    assert trace.metadata["source"] == "eventide"
    assert trace.metadata["account"]["closed"]
    assert trace.metadata["account"]["possibly_lost"] == 0
    assert trace.metadata["warnings"] == []
    assert trace.metadata["clock"]["residual_ns"] >= 0
    assert file.read_bytes()[:8] == b"EVENTIDE"


def test_without_a_path_no_file_remains(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with et.Recorder() as recorder:
        et.instant("1")
        assert recorder.path.parent == tmp_path
    assert marks(recorder.trace) == [1]
    assert list(tmp_path.iterdir()) == []


def test_times_are_those_of_the_monotonic_clock() -> None:
    with et.Recorder() as recorder:
        before = time.monotonic_ns()
        et.instant("1")
        after = time.monotonic_ns()
    [stamped] = recorder.trace.instants.column("time").to_pylist()
    slack = recorder.trace.metadata["clock"]["residual_ns"] + 1000
    assert before - slack <= stamped <= after + slack


def test_an_error_in_the_scope_propagates_and_the_trace_is_available(tmp_path: Path) -> None:
    recorder = et.Recorder(tmp_path / "a.eventide")
    with pytest.raises(ZeroDivisionError), recorder:
        et.instant("1")
        1 / 0
    assert marks(recorder.trace) == [1]
    assert marks(et.open_trace(tmp_path / "a.eventide")) == [1]


def test_start_and_stop_in_the_wrong_order_are_errors(tmp_path: Path) -> None:
    recorder = et.Recorder(tmp_path / "a.eventide")
    with pytest.raises(et.UsageError, match="not recording; start it first"):
        recorder.stop()
    with pytest.raises(et.UsageError, match=r"no trace yet; start\(\) the recorder, and stop\(\) it"):
        _ = recorder.trace
    with recorder:
        with pytest.raises(et.UsageError, match=r"is recording to .*a.eventide; stop it first"):
            recorder.start()
        with pytest.raises(et.UsageError, match=r"no trace yet; stop\(\) the recorder first"):
            _ = recorder.trace
        recorder.stop()
    with pytest.raises(et.UsageError, match="nothing to dump"):
        recorder.dump(tmp_path / "b.eventide")
    with recorder:
        et.instant("2")
    assert marks(recorder.trace) == [2]


def test_a_recorder_inside_another_has_its_own_time_and_the_outer_one_has_all(tmp_path: Path) -> None:
    inner = et.Recorder(tmp_path / "inner.eventide")
    with et.Recorder(tmp_path / "outer.eventide") as outer:
        et.instant("1")
        with et.span("around"):
            with inner:
                et.instant("2")
                with et.span("inside"):
                    pass
            et.instant("3")
    assert marks(inner.trace) == [2]
    assert marks(outer.trace) == [1, 2, 3]
    assert inner.trace.spans.column("name").to_pylist() == ["around", "inside"]
    assert inner.trace.spans.column("duration").null_count == 1
    assert et.open_trace(tmp_path / "inner.eventide").tables == inner.trace.tables
    assert outer.trace.spans.column("duration").null_count == 0


def test_a_running_recording_can_be_opened(tmp_path: Path) -> None:
    with et.Recorder(tmp_path / "a.eventide"):
        for i in range(10_000):
            et.instant(str(i % 100))
        trace = et.open_trace(tmp_path / "a.eventide")
        assert len(marks(trace)) == 10_000
        assert not trace.metadata["account"]["closed"]
        assert trace.metadata["account"]["possibly_lost"] == 1
        assert "the last record of one thread may be missing" in trace.metadata["warnings"][0]


def test_records_that_do_not_fit_are_dropped_whole_and_counted_exactly() -> None:
    produced = 200_000
    with et.Recorder(buffer=SMALL) as recorder:
        for _ in range(produced):
            et.instant("1", value=123456)
    account = recorder.trace.metadata["account"]
    assert account["recorded"]["instants"] == recorder.trace.instants.num_rows
    assert account["recorded"]["instants"] + account["dropped"]["instants"] == produced
    assert all(text == '{"value": 123456}' for text in set(recorder.trace.instants.column("args").to_pylist()))


def test_a_span_whose_beginning_was_dropped_is_dropped_whole() -> None:
    produced = 100_000
    span = et.span("s")
    with et.Recorder(buffer=SMALL) as recorder:
        for _ in range(produced):
            with span:
                pass
    account = recorder.trace.metadata["account"]
    assert account["recorded"]["spans"] + account["dropped"]["spans"] == produced
    assert recorder.trace.spans.column("duration").null_count <= account["truncated"]["spans"]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_ring_keeps_the_newest_and_counts_what_it_overwrote_exactly(threads: int) -> None:
    produced = 60_000

    def run() -> None:
        for i in range(produced):
            et.counter("n", i)

    with et.Recorder(ring=True, buffer=SMALL) as recorder:
        started = [threading.Thread(target=run) for _ in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    trace = recorder.trace
    account = trace.metadata["account"]
    assert account["dropped"]["counters"] > 0
    assert account["recorded"]["counters"] + account["dropped"]["counters"] == produced * threads
    assert trace.counters.column("value").to_pylist()[-1] == produced - 1
    if threads == 1:
        kept = trace.counters.column("value").to_pylist()
        assert kept == [float(n) for n in range(produced - len(kept), produced)]


def test_a_ring_is_dumped_while_it_records(tmp_path: Path) -> None:
    with et.Recorder(ring=True, buffer=SMALL) as recorder:
        for i in range(5000):
            et.instant(str(i % 10))
        file = recorder.dump(tmp_path / "dump.eventide")
        et.instant("77")
    assert len(marks(et.open_trace(file))) == 5000
    assert et.open_trace(file).metadata["account"]["closed"]
    assert marks(recorder.trace)[-1] == 77


def test_completed_spans_instants_and_counters_are_put_onto_extra_tracks() -> None:
    with et.Recorder() as recorder:
        _native.record_span("gpu", "k", "kernel", 1000, 3000, '{"a": 1}', 0, 900, 5, 7, 9, "ok")
        _native.record_span(None, "here", None, 1000, 1000)
        device = json.dumps({"kind": "stream", "name": "s", "device": "cuda:0", "stream": 7})
        _native.record_span(device, "copy", "copy", 10, 20)
        _native.record_instant("gpu", "i", "runtime", '{"b": 2}', 0, 1234)
        _native.record_counter("gpu", "c", 1.5, 99)
        _native.record_edge("flow", "gpu", 5, device, 6, 1, 2, 3)
        with pytest.raises(et.UsageValueError, match="cannot end before it starts: start_ns=2, end_ns=1"):
            _native.record_span(None, "x", None, 2, 1)
    trace = recorder.trace
    trace.check()
    names = trace.tracks.column("name").to_pylist()
    first, second, third = trace.spans.to_pylist()
    assert first == {
        "track": names.index("gpu"),
        "name": "k",
        "category": "kernel",
        "start": 1000,
        "duration": 2000,
        "submit": 900,
        "cpu": 5,
        "work": 7,
        "correlation": 9,
        "outcome": "ok",
        "stack": None,
        "args": '{"a": 1}',
    }
    assert (second["category"], names[second["track"]], second["duration"]) == ("span", "MainThread", 0)
    assert trace.tracks.to_pylist()[third["track"]]["device"] == "cuda:0"
    assert trace.instants.to_pylist()[0]["time"] == 1234
    assert trace.counters.to_pylist() == [{"track": names.index("gpu"), "name": "c", "time": 99, "value": 1.5}]
    [edge] = trace.edges.to_pylist()
    assert (edge["kind"], edge["from_time"], edge["to_time"]) == ("flow", 5, 6)
    assert (edge["event"], edge["version"], edge["correlation"]) == (1, 2, 3)


def test_notes_are_kept_in_the_metadata() -> None:
    note({"lost": True})
    with et.Recorder() as recorder:
        note({"clocks": {"sim:0": {"offset_ns": 3}}})
    assert recorder.trace.metadata["clocks"] == {"sim:0": {"offset_ns": 3}}
    assert "lost" not in recorder.trace.metadata
