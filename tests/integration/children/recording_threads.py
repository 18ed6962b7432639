"""Four threads record spans, instants and counters until the process is killed.

Each line of stdin starts such a process: TRACE PROGRESS [durable], separated by tabs. It is forked, prints its pid once
it records, and "gone" when it was killed. Each thread counts in PROGRESS, a mapped file, how many records it has begun
and how many it has completed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import threading
from pathlib import Path

import eventide as et

THREADS = 4


def say(what: object) -> None:
    """Print one line for the parent."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def work(number: int, progress: ctypes.Array[ctypes.c_uint64]) -> None:
    """Record i of this thread is an instant whose argument is i; every third is longer than one entry."""
    name = f"thread {number}"
    i = 0
    while True:
        progress[2 * number] = i + 1  # one store: a kill finds the old number or the new one
        if i % 3:
            et.instant(name, i=i)
        else:
            et.instant(name, i=i, text="x" * (i % 100))
        i += 1
        progress[2 * number + 1] = i


def record(trace: str, progress: str, *options: str) -> None:
    """Record forever."""
    with Path(progress).open("r+b") as file:
        mapped = (ctypes.c_uint64 * (2 * THREADS)).from_buffer(mmap.mmap(file.fileno(), 0))
    sys.setswitchinterval(1e-4)
    et.Recorder(trace, buffer=4 << 20, durable="durable" in options).start()
    for number in range(THREADS):
        threading.Thread(target=work, args=(number, mapped), daemon=True).start()
    say(os.getpid())
    threading.Event().wait()


for line in sys.stdin:
    child = os.fork()
    if not child:
        record(*line.rstrip("\n").split("\t"))
    os.waitpid(child, 0)
    say("gone")
