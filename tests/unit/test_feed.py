"""The feed: streams, events, work and memory of another framework, reported to our hooks."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys

import pytest

import eventide as et
from eventide import _native
from eventide.errors import EventideError
from eventide.hooks import Observer, feed, observe


class Collector(Observer):
    def __init__(self) -> None:
        self.all: list[tuple[object, ...]] = []

    def stream_creation(self, record):
        self.all.append(("stream", record.device, record.stream))

    def work_submission(self, record):
        self.all.append(("work", record.stream, record.work, record.name))

    def work_completion(self, record):
        self.all.append(("over", record.work, record.start_ns, record.end_ns, record.outcome))

    def memory_allocation(self, record):
        self.all.append(("memory", record.device, record.handle, record.bytes))


def programs(wait: bool) -> tuple[feed.ForeignStream, feed.ForeignStream]:
    one, two = feed.ForeignStream("other:0", "one"), feed.ForeignStream("other:0", "two")
    memory = feed.new_memory(100)
    event = feed.new_event()
    one.submit("write", (), ((memory, 100),))
    one.record(event)
    if wait:
        two.wait(event)
    two.submit("read", ((memory, 100),), ())
    return one, two


def test_observers_receive_what_is_fed():
    received = Collector()
    with observe(received):
        stream = feed.ForeignStream("other:7", "mine")
        work = stream.submit("job")
        stream.complete(work, 10, 30)
        stream.complete(stream.submit("bad"), 40, 50, ok=False)
        address = feed.new_memory(5000)
        feed.allocated("other:7", address, 5000)
    assert received.all[0] == ("stream", "other:7", stream.id)
    assert received.all[1:3] == [("work", stream.id, work, "job"), ("over", work, 10, 30, "ok")]
    assert received.all[4][-1] == "failed"
    assert received.all[5] == ("memory", "other:7", address, 5000)


def test_ids_are_those_of_the_runtime_and_given_once():
    ids = [feed.ForeignStream("other:0", "").id, et.Stream("cpu").stream_id, feed.ForeignStream("other:0", "").id]
    assert len(set(ids)) == 3
    assert ids == sorted(ids)
    events = [feed.new_event() for _ in range(3)]
    assert len(set(events)) == 3


def test_the_same_device_name_is_the_same_device_and_others_are_not():
    assert _native.feed_device("other:a") == _native.feed_device("other:a") != _native.feed_device("other:b")
    assert "other" not in {kind for kind, _ in _native.device_types()}


@pytest.mark.parametrize("sizes", [(1, 4096, 1), (4097, 1, 10**9, 1)])
def test_memory_never_overlaps(sizes):
    places = [(feed.new_memory(size), size) for size in sizes]
    for (first, size), (second, _) in itertools.pairwise(places):
        assert first + size <= second


def test_a_missing_wait_between_foreign_streams_is_a_race_and_with_it_there_is_none():
    with et.sanitize() as findings:
        programs(wait=False)
    assert [finding.kind for finding in findings] == ["race"]
    with et.sanitize() as findings:
        programs(wait=True)
    assert not findings


def test_the_finding_can_be_raised_at_the_call():
    with pytest.raises(et.errors.SanitizerError, match="'read' on stream"), et.sanitize("raise"):
        programs(wait=False)


def test_a_recording_has_the_foreign_streams_as_tracks_and_the_wait_as_an_edge(tmp_path):
    with et.Recorder(tmp_path / "t.eventide") as recorder:
        one, two = programs(wait=True)
        one.complete(one.submit("timed"), 100, 300)
    trace = recorder.trace
    tracks = {row["stream"]: row for row in trace.tracks.to_pylist() if row["kind"] == "stream"}
    assert (tracks[one.id]["name"], tracks[two.id]["name"]) == ("one", "two")
    assert tracks[one.id]["device"] == "other:0"
    spans = trace.spans.to_pylist()
    assert [(span["start"], span["duration"]) for span in spans if span["name"] == "timed"] == [(100, 200)]
    (edge,) = (row for row in trace.edges.to_pylist() if row["kind"] == "wait")
    assert (spans[edge["from_span"]]["name"], spans[edge["to_span"]]["name"]) == ("write", "read")


def test_the_category_of_work_is_recorded_with_it_also_by_a_killed_process(tmp_path):
    program = """if True:
        import os, signal
        import eventide as et
        from eventide.hooks import feed
        recorder = et.Recorder("t.eventide").start()
        stream = feed.ForeignStream("opencl:0", "queue")
        done = stream.submit("a kernel named copy buffer")
        stream.submit("move", category="copy")
        stream.submit("reduce", category="communication")
        stream.complete(done, 100, 300)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    spans = et.open_trace(tmp_path / "t.eventide").spans.to_pylist()
    assert [(span["name"], span["category"]) for span in spans] == [
        ("a kernel named copy buffer", "work"),
        ("move", "copy"),
        ("reduce", "communication"),
    ]


def test_a_synchronization_that_times_out_orders_nothing():
    with et.sanitize() as findings:
        stream = feed.ForeignStream("other:0", "one")
        memory = feed.new_memory(8)
        stream.submit("write", (), ((memory, 8),))
        feed.Sync(stream).end(gave_up=True)
        _native.host_access(((memory, 8),), ())
    assert [finding.kind for finding in findings] == ["race"]
    with et.sanitize() as findings:
        stream.submit("write", (), ((memory, 8),))
        feed.Sync(stream).end()
        _native.host_access(((memory, 8),), ())
    assert not findings


@pytest.mark.parametrize(("hook", "outcome"), [(99, 0), (-1, 0), (0, 9)])
def test_an_unknown_hook_or_outcome_is_refused(hook, outcome):
    with pytest.raises(EventideError, match=r"there is no (hook|outcome) number"):
        _native.feed(hook, outcome=outcome)
