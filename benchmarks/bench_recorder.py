"""What does one entry cost in C++, how long can a put stall while the disk is busy, and how large are the files?"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import eventide as et
from benchmarks._harness import Missing, Options, Row, compare, pinned
from eventide import _native


def rows(options: Options) -> Iterator[Row]:
    yield put(options)
    yield worst(options)
    yield from size(options)


def put(options: Options) -> Row:
    """Both loops run in C++; a ring never waits for the drainer."""
    n = options.number(2_000_000)
    with et.Recorder(ring=True), pinned():
        return compare(
            "one entry from C++",
            "rdtsc + a store of 32 bytes",
            lambda: _native.time_puts(n, False),
            lambda: _native.time_puts(n, True),
            options,
            bar=1.5,
        )


def worst(options: Options) -> Row:
    """The slowest of many puts while another thread writes and syncs a file as fast as the disk takes it.

    A put that waited for the disk would show as blocked: the system counts for each thread its voluntary context
    switches, apart from involuntary ones. Plain stores between the puts are the control.
    """
    n = options.number(5_000_000)
    with tempfile.TemporaryDirectory() as folder, busy_disk(folder):
        with et.Recorder(Path(folder) / "t.eventide"):
            puts, stores = _native.slowest_puts(n)
        with et.Recorder(Path(folder) / "d.eventide", durable=True):
            durable, _ = _native.slowest_puts(n)
    said = [slowest("puts", puts), slowest("plain stores between them", stores), slowest("puts, durable=True", durable)]
    return Row(
        "the worst put while the disk is busy",
        evidence=(f"{n:,} of each, while another thread syncs a file as fast as the disk takes it:", *said),
        ours=(max(puts["running"], puts["preempted"], puts["blocked"]),),
        peer=(max(stores["running"], stores["preempted"], stores["blocked"]),),
        against="the worst plain store, same run",
        bar="no put waits for the disk",
        verdict=puts["blocked"] == 0,
    )


def slowest(what: str, seen: dict[str, float]) -> str:
    parts = [
        f"{word} {seen[word] / 1e3:.1f} us" if seen[word] else f"never {word}" for word in ("preempted", "blocked")
    ]
    return (
        f"{what}: median {seen['median']:.0f} ns; slowest while running {seen['running'] / 1e3:.1f} us, "
        + ", ".join(parts)
    )


@contextmanager
def busy_disk(folder: str) -> Iterator[None]:
    stop = threading.Event()

    def disturb() -> None:
        block = os.urandom(1 << 20)
        with (Path(folder) / "busy").open("wb") as file:
            while not stop.is_set():
                file.seek(0)
                file.write(block)
                file.flush()
                os.fsync(file.fileno())

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        yield
    finally:
        stop.set()
        disturber.join()


def size(options: Options) -> Iterator[Row]:
    """A trace of nested spans as torch writes it, and as ours; ours holds the same names and the same number."""
    n = options.number(100_000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.eventide"
        with et.Recorder(file, buffer=64 << 20) as recorder:
            for _ in range(n // 2):
                with et.span("aten::add"), et.span("aten::empty"):
                    pass
        ours = file.stat().st_size / recorder.trace.spans.num_rows
        peer = torch_bytes(n, Path(folder) / "t.json")
    problem = f"peer not run: {peer.reason}" if isinstance(peer, Missing) else None
    theirs = () if isinstance(peer, Missing) else (peer,)
    yield Row("bytes per span, .eventide", "torch Chrome JSON", (ours,), theirs, "B", 1 / 20, problem=problem)


def torch_bytes(n: int, file: Path) -> float | Missing:
    try:
        import torch
    except ImportError as error:
        return Missing(str(error))
    a = torch.ones(1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(n):
            a.add(a)
    profiler.export_chrome_trace(str(file))
    data = file.read_bytes()
    events = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)["traceEvents"]
    return len(data) / sum(event.get("ph") == "X" for event in events)
