"""A recorder that is asked by a signal, or that nothing comes to, copies what it has, whatever the program does."""

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
            why = f"signal {int(signal.SIGUSR2)} asked for it"
            assert said(process) == f"eventide: {why}; what was recorded until then is in {path}\n"
            check(path, why)


def test_a_hang_dumps_once_also_while_the_gil_is_held(tmp_path: Path) -> None:
    with stuck(tmp_path, "hang_seconds=0.2") as process:
        path = tmp_path / "t-dump-1.eventide"
        why = "nothing was recorded for 0.2 s"
        assert said(process) == f"eventide: {why}; what was recorded until then is in {path}\n"
        check(path, why)


def test_a_dump_that_cannot_be_written_is_said_and_the_recording_goes_on(tmp_path: Path) -> None:
    (tmp_path / "t-dump-1.eventide").mkdir()
    with stuck(tmp_path, "hang_seconds=0.2") as process:
        assert "could not be copied to" in said(process)
    assert et.open_trace(tmp_path / "t.eventide").spans.column("name").to_pylist() == ["stuck"]


def test_the_signal_is_the_programs_again_when_the_recording_ends(tmp_path: Path) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: heard.append(number))
    try:
        with et.Recorder(tmp_path / "t.eventide", dump_on=signal.SIGUSR2):
            pass
        signal.raise_signal(signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert heard == [signal.SIGUSR2]


def test_what_cannot_be_is_said_at_once(tmp_path: Path) -> None:
    file = tmp_path / "t.eventide"
    with pytest.raises(et.UsageValueError, match="give Recorder its path"):
        et.Recorder(dump_on=signal.SIGUSR2)
    with pytest.raises(et.UsageTypeError, match=r"dump_on is a signal such as signal.SIGUSR2, not str"):
        et.Recorder(file, dump_on="SIGUSR2")  # type: ignore[arg-type]
    with pytest.raises(et.UsageValueError, match="dump_on=0 is no signal"):
        et.Recorder(file, dump_on=0)
    with pytest.raises(et.UsageValueError, match="hang_seconds=0 is none that can be waited for"):
        et.Recorder(file, hang_seconds=0)
    with pytest.raises(et.UsageTypeError, match="hang_seconds is a number, not str"):
        et.Recorder(file, hang_seconds="1")  # type: ignore[arg-type]
    with pytest.raises(et.UsageValueError, match=r"signal 9 cannot be heard: .*; choose another for dump_on"):
        et.Recorder(file, dump_on=signal.SIGKILL).start()
    with et.Recorder(file), pytest.raises(et.UsageError, match="belong to the recording that runs already"):
        et.Recorder(tmp_path / "u.eventide", hang_seconds=1).start()
