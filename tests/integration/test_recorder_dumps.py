"""A recorder copies its records on a signal, or when it receives nothing, in any state of the program."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import eventide as et

# ctypes.PyDLL keeps the GIL: no thread of Python runs while the program is inside pause().
STUCK = """
import ctypes, signal, sys
import eventide as et
et.Recorder("t.eventide", ring=True, {options}).start()
for number in range(100_000):
    et.counter("n", number)
with et.span("stuck"):
    print("stuck", flush=True)
    while True:
        ctypes.PyDLL(None).pause()
"""


@contextmanager
def stuck(folder: Path, options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", STUCK.format(options=options)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "stuck\n"
            yield process
        finally:
            process.kill()
    et.open_trace(folder / "t.eventide")  # which takes the buffer away


def said(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def check(path: Path, why: str) -> None:
    trace = et.open_trace(path)
    trace.check()
    assert trace.metadata["dumped"] == why
    assert trace.spans.column("name").to_pylist() == ["stuck"]
    assert trace.spans.column("duration").null_count == 1
    values = trace.counters.column("value").to_pylist()
    assert values == [float(number) for number in range(100_000 - len(values), 100_000)]


def test_a_signal_dumps_each_time_also_while_the_gil_is_held(tmp_path: Path) -> None:
    with stuck(tmp_path, "dump_on=signal.SIGUSR2") as process:
        for number in (1, 2):
            process.send_signal(signal.SIGUSR2)
            path = tmp_path / f"t-dump-{number}.eventide"
            why = f"signal {int(signal.SIGUSR2)} was received"
            assert said(process) == f"eventide: {why}; what was recorded until then is in {path}\n"
            check(path, why)


def test_a_hang_dumps_once_also_while_the_gil_is_held(tmp_path: Path) -> None:
    with stuck(tmp_path, "hang_seconds=0.2") as process:
        path = tmp_path / "t-dump-1.eventide"
        why = "nothing was recorded for 0.2 s"
        assert said(process) == f"eventide: {why}; what was recorded until then is in {path}\n"
        check(path, why)


def test_a_dump_that_cannot_be_written_is_reported_and_the_recording_continues(tmp_path: Path) -> None:
    (tmp_path / "t-dump-1.eventide").mkdir()
    with stuck(tmp_path, "hang_seconds=0.2") as process:
        assert "could not be copied to" in said(process)
    assert et.open_trace(tmp_path / "t.eventide").spans.column("name").to_pylist() == ["stuck"]


# The pipe of stderr is full before the hang, and it is not read.
UNREAD = """
import os, sys, time
import eventide as et
recorder = et.Recorder("t.eventide", hang_seconds=0.05).start()
read, write = os.pipe()
os.set_blocking(write, False)
try:
    while True:
        os.write(write, bytes(4096))
except BlockingIOError:
    os.set_blocking(write, True)
os.dup2(write, 2)
while not os.path.exists("t-dump-1.eventide"):
    time.sleep(0.01)
recorder.close()
print("ended")
"""


def test_a_stderr_that_is_not_read_does_not_keep_the_recording_from_ending(tmp_path: Path) -> None:
    command = [sys.executable, "-c", UNREAD]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "ended\n"


# No file of this process may grow beyond what fits the recording of little: the copy of much is as on a full disk.
FULL = """
import os, resource, signal, sys, time
import eventide as et
et.Recorder("t.eventide", ring=True, dump_on=signal.SIGUSR2).start()
for number in range(200_000):
    et.counter("n", number)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
os.kill(os.getpid(), signal.SIGUSR2)
print("asked", flush=True)
time.sleep(60)
"""


def test_a_dump_without_disk_space_leaves_no_file(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", FULL], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "could not be copied to" in said(process)
            assert [path.name for path in tmp_path.iterdir()] == ["t.eventide"]
        finally:
            process.kill()
    assert et.open_trace(tmp_path / "t.eventide").counters.num_rows > 0


def test_a_recording_is_not_dumped_onto_itself(tmp_path: Path) -> None:
    file = tmp_path / "t.eventide"
    with et.Recorder(file) as recorder:
        et.instant("before")
        with pytest.raises(et.UsageValueError, match=r"cannot take its place; name another file"):
            recorder.dump(file)
        et.instant("after")
    assert recorder.trace.instants.column("name").to_pylist() == ["before", "after"]


def test_the_signal_handler_is_restored_when_the_recording_ends(tmp_path: Path) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: received.append(number))
    try:
        with et.Recorder(tmp_path / "t.eventide", dump_on=signal.SIGUSR2):
            pass
        signal.raise_signal(signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert received == [signal.SIGUSR2]


def test_invalid_options_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "t.eventide"
    with pytest.raises(et.UsageValueError, match="give Recorder its path"):
        et.Recorder(dump_on=signal.SIGUSR2)
    with pytest.raises(et.UsageTypeError, match=r"dump_on is a signal such as signal.SIGUSR2, not str"):
        et.Recorder(file, dump_on="SIGUSR2")  # type: ignore[arg-type]
    with pytest.raises(et.UsageValueError, match="dump_on=0 is not a signal"):
        et.Recorder(file, dump_on=0)
    with pytest.raises(et.UsageValueError, match="hang_seconds=0 is not possible; it must be at least 0"):
        et.Recorder(file, hang_seconds=0)
    with pytest.raises(et.UsageTypeError, match="hang_seconds is a number, not str"):
        et.Recorder(file, hang_seconds="1")  # type: ignore[arg-type]
    with pytest.raises(et.UsageValueError, match=r"signal 9 cannot be \w+: .*; choose another for dump_on"):
        et.Recorder(file, dump_on=signal.SIGKILL).start()
    with pytest.raises(et.UsageValueError, match=r"signal 11 cannot be \w+: it reports a fault of the program"):
        et.Recorder(file, dump_on=signal.SIGSEGV).start()
    with et.Recorder(file), pytest.raises(et.UsageError, match="belong to the recording that runs already"):
        et.Recorder(tmp_path / "u.eventide", hang_seconds=1).start()
