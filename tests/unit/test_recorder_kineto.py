"""Rows of torch's profiler in a recording: on whose track they are, and what follows from their correlation ids."""

from __future__ import annotations

import json
import threading

import eventide as et
from eventide import _native

STREAMS = [json.dumps({"kind": "stream", "name": f"stream {n}", "device": "cuda:0", "stream": n}) for n in (7, 9)]

CALLS = ("cudaLaunchKernel", "cudaEventRecord", "cudaStreamWaitEvent", "cudaLaunchKernel")


def thread(tid: int) -> str:
    return json.dumps({"kind": "thread", "name": "reported", "tid": tid})


def test_rows_of_a_thread_are_on_the_track_of_that_thread() -> None:
    with et.Recorder() as recorder:
        _native.record_span(thread(threading.get_native_id()), "operator", "op", 1, 2)
        with et.span("own"):
            pass
        _native.record_span(thread(1), "of a thread that recorded nothing", "op", 3, 4)
    tracks = recorder.trace.tracks.to_pylist()
    spans = {row["name"]: row for row in recorder.trace.spans.to_pylist()}
    notified, own, alone = spans["operator"], spans["own"], spans["of a thread that recorded nothing"]
    assert notified["track"] == own["track"] != alone["track"]
    assert (tracks[own["track"]]["name"], tracks[alone["track"]]["name"]) == ("MainThread", "reported")


def test_correlation_ids_become_launches_and_waits() -> None:
    host = thread(threading.get_native_id())
    wait = {"stream": 9, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2, "wait_on_cuda_event_id": 5}
    with et.Recorder() as recorder:
        for number, name in enumerate(CALLS, 1):
            _native.record_span(host, name, "runtime", 10 * number, 10 * number + 5, correlation=number)
        _native.record_span(STREAMS[0], "first", "kernel", 50, 60, correlation=1)
        _native.record_span(STREAMS[1], "Stream Wait Event", "wait", 50, 60, json.dumps(wait), correlation=3)
        _native.record_span(STREAMS[1], "second", "kernel", 70, 80, correlation=4)
    trace = recorder.trace
    trace.check()
    spans = trace.spans.to_pylist()
    assert {row["name"]: row["submit"] for row in spans if row["category"] == "kernel"} == {"first": 10, "second": 40}
    edges = [
        (row["kind"], spans[row["from_span"]]["name"], spans[row["to_span"]]["name"], row["event"], row["version"])
        for row in trace.edges.to_pylist()
    ]
    assert edges == [
        ("launch", "cudaLaunchKernel", "first", None, None),
        ("launch", "cudaLaunchKernel", "second", None, None),
        ("wait", "first", "second", 5, 2),
    ]
    assert trace.metadata["account"]["untied"] == {}


def test_warnings_of_a_note_are_warnings_of_the_trace() -> None:
    from eventide.recording import note

    with et.Recorder() as recorder:
        note({"torch": {"profiled": "memory", "warnings": ["received for a second only"]}, "other": {"warnings": [1]}})
    assert recorder.trace.metadata["warnings"] == ["received for a second only", "1"]
