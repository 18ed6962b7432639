"""The same engine over a stored trace: the findings are those of the live run."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import eventide as et
from eventide.sanitizer import check_trace
from eventide.trace import Trace, open_trace
from tests.helpers import TIMEOUT
from tests.unit.declared_work import fill, total


def race(stream, other):
    array = np.zeros(64)
    for _ in range(3):
        stream.submit(fill, array)
        other.submit(total, array).result(TIMEOUT)


def ordered(stream, other):
    array = np.zeros(64)
    stream.submit(fill, array)
    other.wait_event(stream.record_event())
    other.submit(total, array)
    other.synchronize(TIMEOUT)
    assert array[0] == 1


def wasteful(stream, other):
    array = np.zeros(64)
    stream.submit(fill, array)
    event = stream.record_event()
    stream.wait_event(event)
    stream.submit(total, array)
    et.Event().wait(other)
    stream.synchronize(TIMEOUT)


def freed_too_early(stream, other):
    buffer = et.empty(64)
    stream.submit(et.work(lambda: None, name="use", writes=[buffer]))
    buffer.free()
    other.submit(fill, np.zeros(4))


def columns(stream, other):
    matrix = np.zeros((30, 10))
    stream.submit(fill, matrix[:, :5])
    other.submit(fill, matrix[:, 5:])
    other.submit(total, matrix[:, 4:6])


def pooled(stream, other):
    array = np.zeros(64)
    pool = et.EventPool("cpu")
    stream.submit(fill, array)
    event = pool.acquire()
    event.record(stream)
    pool.release(event)
    again = pool.acquire()  # the same id, and no record
    other.wait_event(again)
    other.submit(total, array).result(TIMEOUT)


def threads(stream, other):
    array = np.zeros(64)
    stream.submit(fill, array)
    worker = threading.Thread(target=stream.synchronize, args=(TIMEOUT,))
    worker.start()
    worker.join(TIMEOUT)
    other.submit(total, array)  # the thread has handed over


@pytest.mark.parametrize("program", [race, ordered, wasteful, freed_too_early, columns, pooled, threads])
def test_a_stored_trace_has_the_findings_of_the_live_run(program, stream, other, tmp_path):
    path = tmp_path / "run.eventide"
    with et.Recorder(path, stacks=True), et.sanitize() as live:
        program(stream, other)
    stored = check_trace(open_trace(path))
    kept = [(f.kind, f.certainty, f.fingerprint, f.count, f.fix.action) for f in stored]
    assert kept == [(f.kind, f.certainty, f.fingerprint, f.count, f.fix.action) for f in live]
    assert stored.coverage == live.coverage
    assert (kept == []) == (program in {ordered, threads})


def test_a_trace_without_accesses_is_not_checkable():
    assert check_trace(Trace({})).verdict == "not checkable"
    rows = {"hook": ["work_submission"], "stream": [1], "work": [7], "thread": [1]}
    assert check_trace(Trace({"operations": rows})).verdict == "not checkable"


def test_without_hand_over_in_the_trace_a_race_of_two_threads_is_only_possible():
    one = [{"address": 4096, "bytes": 8, "write": True}]
    rows = {
        "hook": ["host_access", "host_access", "a hook of tomorrow"],
        "thread": [1, 2, 2],
        "accesses": [one, one, None],
    }
    (finding,) = check_trace(Trace({"operations": rows}))
    assert (finding.kind, finding.certainty) == ("race", "possible")
    rows["thread"] = [1, 1, 1]
    assert list(check_trace(Trace({"operations": rows}))) == []


@pytest.mark.parametrize("column", ["thread", "stream", "event", "version", "work"])
def test_negative_numbers_of_a_damaged_trace_are_no_internal_error(stream, other, column):
    with et.Recorder() as recorder, et.sanitize():
        race(stream, other)
    operations = recorder.trace.operations.to_pydict()
    operations[column] = [-1 - number for number in range(len(operations[column]))]
    assert check_trace(recorder.trace.replace(operations=operations)).summary


def test_the_command_checks_a_trace(stream, other, tmp_path, capsys):
    from eventide.cli import main

    path = tmp_path / "run.eventide"
    with et.Recorder(path, stacks=True):
        race(stream, other)
    assert main(["check", "--json", str(path)]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [finding["kind"] for finding in document["findings"]] == ["race"]


def pool_of_threads(stream, other):
    array = np.zeros(64)
    with ThreadPoolExecutor(1) as executor:
        executor.submit(lambda: (stream.submit(fill, array), stream.synchronize(TIMEOUT))).result(TIMEOUT)
    other.submit(total, array).result(TIMEOUT)


def arrays_that_come_and_go(stream, other):
    for _ in range(20):  # the second has the address of the first
        stream.submit(fill, np.zeros(5000)).result(TIMEOUT)
        other.submit(fill, np.zeros(5000)).result(TIMEOUT)


@pytest.mark.parametrize("program", [threads, pool_of_threads, arrays_that_come_and_go])
def test_a_recording_alone_has_what_the_live_verdict_needs(program, stream, other, tmp_path):
    with et.Recorder(tmp_path / "run.eventide", stacks=True):
        program(stream, other)
    assert list(check_trace(open_trace(tmp_path / "run.eventide"))) == []
    assert type(threading.Lock()).__module__ == "_thread"  # nothing stays patched


def test_a_program_without_accesses_is_recorded_with_unchanged_locks(tmp_path):
    script = tmp_path / "plain.py"
    script.write_text(
        "import queue, threading, eventide as et\n"
        "before = threading.Lock, queue.SimpleQueue, threading.Thread.start\n"
        "with et.Recorder():\n"
        "    et.Stream('cpu').submit(int).result()\n"
        "    assert (threading.Lock, queue.SimpleQueue, threading.Thread.start) == before\n"
        "    et.work(int, reads=())\n"
        "    assert threading.Lock is not before[0]\n"
        "assert (threading.Lock, queue.SimpleQueue, threading.Thread.start) == before\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=100)
