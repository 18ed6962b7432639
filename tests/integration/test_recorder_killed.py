"""Killed at any time with four threads recording: the file opens, and at most one record of each thread is missing."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import eventide as et
from eventide import _native

CHILD = Path(__file__).parent / "children" / "recording_threads.py"
THREADS = 4


class Victims:
    """Starts processes that record, and kills them; it imports eventide once for all of them."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._server = subprocess.Popen([sys.executable, str(CHILD)], stdin=pipe, stdout=pipe, text=True)

    def kill_after(self, folder: Path, seconds: float, *options: str) -> tuple[Path, list[tuple[int, int]]]:
        """The trace file of one that was killed after that time, and (begun, recorded) of each of its threads."""
        trace, progress = folder / "t.eventide", folder / "progress"
        progress.write_bytes(bytes(16 * THREADS))
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None
        assert stdout is not None
        print(trace, progress, *options, sep="\t", file=stdin, flush=True)
        victim = int(stdout.readline())
        time.sleep(seconds)  # any moment will do
        os.kill(victim, signal.SIGKILL)
        assert stdout.readline() == "gone\n"
        numbers = struct.unpack(f"<{2 * THREADS}Q", progress.read_bytes())
        return trace, list(zip(numbers[::2], numbers[1::2], strict=True))

    def close(self) -> None:
        """The server ends when there are no more requests."""
        self._server.communicate(timeout=60)


@pytest.fixture
def victims() -> Iterator[Victims]:
    server = Victims()
    yield server
    server.close()


def check(file: Path, progress: list[tuple[int, int]]) -> None:
    trace = et.open_trace(file)
    account = trace.metadata["account"]
    dropped = account["dropped"]["instants"]
    found: dict[str, list[int]] = {f"thread {n}": [] for n in range(THREADS)}
    columns = (trace.instants.column(name).to_pylist() for name in ("name", "args"))
    for name, args in zip(*columns, strict=True):
        found[name].append(json.loads(args)["i"])
    missing = 0
    for number, (begun, recorded) in enumerate(progress):
        mine = found[f"thread {number}"]
        assert mine == sorted(set(mine))
        assert begun - recorded in {0, 1}
        assert not mine or mine[-1] <= begun - 1
        assert recorded - len(mine) <= 1 + dropped  # all other missing records were dropped and counted
        missing += max(0, recorded - len(mine))
    assert missing <= THREADS + dropped
    assert not account["closed"]
    assert account["possibly_lost"] == account["threads"] <= THREADS + 1
    assert account["damaged_chunks"] == 0
    assert account["recorded"]["instants"] == trace.instants.num_rows


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_recovered(file: Path, progress: list[tuple[int, int]]) -> None:
    """As `check`, which writes to no file; then once more on the closed file that recovery makes of it."""
    files = contents(file.parent)
    check(file, progress)
    before = et.open_trace(file)
    assert contents(file.parent) == files
    _native.recover_trace(str(file))
    after = et.open_trace(file)
    assert after.metadata["account"]["closed"]
    assert after.metadata["account"]["possibly_lost"] == before.metadata["account"]["possibly_lost"]
    assert after.tables == before.tables


@pytest.mark.parametrize("options", [(), ("durable",)])
def test_a_killed_process_leaves_a_trace_that_opens(tmp_path: Path, victims: Victims, options: tuple[str, ...]) -> None:
    check_recovered(*victims.kill_after(tmp_path, 0.05, *options))
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".buffer"] == []


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_twenty_random_moments(tmp_path: Path, victims: Victims, seed: int) -> None:
    moments = random.Random(seed)
    for turn in range(20):
        folder = tmp_path / str(turn)
        folder.mkdir()
        check_recovered(*victims.kill_after(folder, moments.random() ** 2 * 0.03))
