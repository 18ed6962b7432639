"""A disk that is full, that makes short writes, or that fails: whole files, exact counts of losses, clear errors.

Each test runs a program in a child whose writes to regular files go through faults/faulty_disk.c.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import eventide as et

pytestmark = pytest.mark.heavy  # a child for each

SOURCE = Path(__file__).parent / "faults" / "faulty_disk.c"
SUFFIXES = [".pftrace", ".json", ".json.gz", ".parquet"]
SAVE = """
import json, os, sys
import eventide as et
trace, to = et.open_trace(sys.argv[1]), sys.argv[2]
open(os.environ["FAULT_WHILE"], "w").close()
try:
    trace.save(to)
except et.TraceFileError as error:
    said = str(error)
else:
    said = ""
os.unlink(os.environ["FAULT_WHILE"])
print(json.dumps(said))
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "faulty_disk.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, SOURCE, "-ldl"], check=True)
    return path


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "a.eventide"
    with et.Recorder(path):
        for n in range(200):
            with et.span(f"name {n % 7}", number=n):
                et.counter("n", n)
    return path


def run(library: Path, fault: str, folder: Path, program: str, *arguments: object) -> Any:
    """The JSON that the program prints; the fault lasts while the program keeps the file FAULT_WHILE."""
    more = {"LD_PRELOAD": str(library), "FAULT": fault, "FAULT_WHILE": str(folder / "faulty")}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, **more}, capture_output=True, text=True, timeout=100, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_short_writes_give_a_whole_file(library, recording, tmp_path, suffix):
    (tmp_path / "out").mkdir()
    to = tmp_path / "out" / f"b{suffix}"
    assert run(library, "short", tmp_path, SAVE, recording, to) == ""
    saved, original = et.open_trace(to), et.open_trace(recording)
    saved.check()
    assert saved.spans.column("args").to_pylist() == original.spans.column("args").to_pylist()
    assert saved.counters.num_rows == original.counters.num_rows
    assert [path.name for path in to.parent.iterdir()] == [to.name]


@pytest.mark.parametrize("room", [0, 100, 1500])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_is_an_error_and_the_existing_file_stays(library, recording, tmp_path, suffix, room):
    (tmp_path / "out").mkdir()
    to = tmp_path / "out" / f"b{suffix}"
    et.open_trace(recording).save(to)
    said = run(library, f"full {room}", tmp_path, SAVE, recording, to)
    assert said == f"cannot write {str(to)!r}: No space left on device; name another file"
    assert [path.name for path in to.parent.iterdir()] == [to.name]
    assert et.open_trace(to).spans.num_rows == 200


RECORD = """
import json, os, sys
import eventide as et
from eventide import _native
flag = os.environ["FAULT_WHILE"]
recorder = et.Recorder(sys.argv[1], buffer=1 << 20, durable=True)
recorder.start()
open(flag, "w").close()
for n in range(60_000):
    et.counter("n", n)
if sys.argv[2] == "for a while":
    _native.recorder_flush()  # so that something was written while it was faulty
    os.unlink(flag)
    _native.recorder_flush()
    et.counter("n", 60_000)
trace = recorder.stop()
if sys.argv[2] != "for a while":
    os.unlink(flag)
account = trace.metadata["account"]
values = trace.counters.column("value").to_pylist()
print(json.dumps([account["dropped"]["counters"], values, trace.metadata["warnings"]]))
"""


def test_a_recording_with_short_writes_is_whole(library, tmp_path):
    dropped, values, warnings = run(library, "short", tmp_path, RECORD, tmp_path / "a.eventide", "always")
    assert dropped + len(values) == 60_000
    assert warnings == ([f"{dropped} counters were dropped: the buffer was full"] if dropped else [])
    trace = et.open_trace(tmp_path / "a.eventide")
    assert trace.counters.column("value").to_pylist() == values
    assert trace.metadata["account"]["closed"]


@pytest.mark.parametrize("when", ["for a while", "always"])
def test_a_recording_on_a_full_disk_counts_exactly_what_it_dropped(library, tmp_path, when):
    dropped, values, warnings = run(library, "full 5000", tmp_path, RECORD, tmp_path / "a.eventide", when)
    produced = 60_001 if when == "for a while" else 60_000
    assert dropped > 0
    assert dropped + len(values) == produced
    assert "the file could not be written: No space left on device" in warnings
    trace = et.open_trace(tmp_path / "a.eventide")
    assert trace.counters.column("value").to_pylist() == values
    if when == "for a while":
        assert values[-1] == 60_000


def test_a_durable_recording_that_cannot_be_synchronized_is_an_error(library, tmp_path):
    dropped, values, warnings = run(library, "sync", tmp_path, RECORD, tmp_path / "a.eventide", "for a while")
    assert values == sorted(set(values))
    assert values[-1] == 60_000
    assert dropped + len(values) == 60_001
    assert "the file could not be written: Input/output error" in warnings


DUMP = """
import json, os, sys
import eventide as et
with et.Recorder(sys.argv[1]) as recorder:
    et.instant("1")
    open(os.environ["FAULT_WHILE"], "w").close()
    try:
        recorder.dump(sys.argv[2])
    except OSError as error:
        said = [error.strerror, error.filename]
    else:
        said = []
    os.unlink(os.environ["FAULT_WHILE"])
    et.instant("2")
print(json.dumps([said, recorder.trace.instants.num_rows]))
"""


@pytest.mark.parametrize(("fault", "whole"), [("short", True), ("full 0", False), ("full 300", False)])
def test_a_dump_is_whole_or_an_error_and_the_recording_continues(library, tmp_path, fault, whole):
    to = tmp_path / "b.eventide"
    said, rows = run(library, fault, tmp_path, DUMP, tmp_path / "a.eventide", to)
    assert said == ([] if whole else ["No space left on device", str(to)])
    assert rows == 2
    assert to.exists() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.eventide", *(["b.eventide"] if whole else [])]
    if whole:
        assert et.open_trace(to).instants.num_rows == 1


RECOVER = """
import json, os, signal, sys
import eventide as et
from eventide.recording import recover_trace
child = os.fork()
if not child:
    et.Recorder(sys.argv[1], buffer=1 << 20, durable=True).start()
    for n in range(1000):
        et.instant(str(n))
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
open(os.environ["FAULT_WHILE"], "w").close()
said = ""
try:
    recover_trace(sys.argv[1])
except OSError as error:
    said = error.strerror
first = et.open_trace(sys.argv[1]).instants.num_rows
os.unlink(os.environ["FAULT_WHILE"])
recover_trace(sys.argv[1])
again = et.open_trace(sys.argv[1])
print(json.dumps([said, first, again.instants.num_rows, os.path.exists(sys.argv[1] + ".buffer")]))
"""


@pytest.mark.parametrize(
    ("fault", "words"),
    [("short", ""), ("full 0", "No space left on device"), ("full 1000", "No space left on device")],
)
def test_records_that_could_not_be_recovered_stay_in_their_buffer(library, tmp_path, fault, words):
    assert run(library, fault, tmp_path, RECOVER, tmp_path / "a.eventide") == [words, 1000, 1000, False]


def test_a_pipe_in_shared_memory_does_not_block_a_recording(tmp_path):
    """In a mount namespace of its own, so that no other process sees the pipe."""
    program = f"import eventide as et\nwith et.Recorder({str(tmp_path / 'a.eventide')!r}): et.instant('1')"
    script = 'mount -t tmpfs none /dev/shm && mkfifo /dev/shm/eventide-1-x.buffer && exec "$@"'
    enter = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        done = subprocess.run([*enter, sys.executable, "-c", program], timeout=60, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("the recorder waits for the pipe")
    assert done.returncode == 0, done.stderr
    assert et.open_trace(tmp_path / "a.eventide").instants.num_rows == 1
