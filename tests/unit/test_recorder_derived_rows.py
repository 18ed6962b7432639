"""What a recording shows of its operations: memory as counters, failed work as instants."""

from __future__ import annotations

import pytest

import eventide as et
from tests.helpers import boom


def test_memory_becomes_a_counter_of_its_device():
    early = et.empty(100, device="cpu")
    with et.Recorder() as recorder:
        first, second = et.empty(1000, device="cpu"), et.empty(24, device="cpu")
        first.free()
        early.free()
        second.free()
    counters = recorder.trace.counters
    assert set(counters.column("name").to_pylist()) == {"memory of cpu:0"}
    assert counters.column("value").to_pylist() == [1100, 1124, 124, 24, 0]
    times = counters.column("time").to_pylist()
    assert times == sorted(times)
    recorder.trace.check()


def test_failed_work_becomes_an_instant_on_its_stream_with_the_line_that_submitted_it():
    stream = et.Stream("cpu", name="cancelled")
    with et.Recorder(stacks=True) as recorder:
        stream.submit(boom)
        with pytest.raises(Exception, match="boom"):
            stream.synchronize()
    stream.close()
    trace = recorder.trace
    (instant,) = trace.instants.to_pylist()
    (span,) = [row for row in trace.spans.to_pylist() if row["category"] == "work"]
    assert (instant["name"], instant["track"]) == ("failed: boom", span["track"])
    assert instant["time"] == span["start"] + span["duration"]
    frames = trace.stacks.column("frames")[instant["stack"]].as_py()
    assert any(frame["file"] == __file__ for frame in frames)


def test_recorded_and_derived_counters_are_in_one_table():
    with et.Recorder() as recorder:
        et.counter("queue", 3)
        et.empty(8, device="cpu").free()
    names = recorder.trace.counters.column("name").to_pylist()
    assert sorted(names) == ["memory of cpu:0", "memory of cpu:0", "queue"]


def test_names_of_work_and_streams_are_kept_whatever_their_characters():
    with et.Recorder() as recorder:
        stream = et.Stream("cpu", name="stream \0 \ud800 \U0001f30a")
        stream.submit(et.work(int, name="work \0 \ud800 \U0001f30a")).result()
    trace = recorder.trace
    assert "stream \0 \\ud800 \U0001f30a" in trace.tracks.column("name").to_pylist()
    assert "work \0 \\ud800 \U0001f30a" in trace.spans.column("name").to_pylist()
