"""Files of ours with bytes changed, cut out and put in, and every command that reads files run on them.

A command says what it found, or one line with exit code 2: never a traceback, a crash or a hang. The property test runs
some; `python -m tests.fuzz.damage [SECONDS] [SEED]` runs many and prints what it found.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import eventide as et
from eventide.cli import main
from eventide.trace.formats.perfetto._proto import field
from tests.reference.perfetto_packets import packets

VERBS = (
    ["trace", "summary"], ["trace", "breakdown"], ["trace", "idle"], ["trace", "syncs"], ["trace", "memory"],
    ["trace", "compile"], ["trace", "critical-path"], ["trace", "lint"], ["trace", "recover"], ["report"], ["check"],
)  # fmt: skip


def recorded(path: Path) -> et.Trace:
    """A recording with something of everything."""
    with et.Recorder(path, stacks=True) as recorder:
        fill, use = et.Stream("sim:0", name="fill"), et.Stream("sim:1", name="use")
        data, other = np.zeros(100), et.empty(4096, device="sim")
        for step in range(3):
            with et.span("step", number=step, text="a \U0001f30a", parts=[1, {"b": None}]):
                fill.submit(et.work(data.sum, reads=[data[:50]], writes=[], duration=0.001))
                use.wait_event(fill.record_event())
                use.submit(et.work(data.sum, reads=[], writes=[data[20:]], duration=0.002))
                et.counter("queue", step)
            et.instant("spike", value=0.5)
        use.synchronize()
        other.free()
    return recorder.trace


def inflated(data: bytes) -> bytes:
    """A .pftrace whose packets are not compressed, so that no checksum rejects the damage."""
    return b"".join(field(1, packet) for packet in packets(data))


def checked(data: bytes) -> bytes:
    """A .eventide whose frames have the right checksums again, as far as there are frames."""
    out, at = bytearray(data), 12
    while at + 12 <= len(out):
        size = struct.unpack_from("<I", out, at + 4)[0]
        if at + 12 + size > len(out):
            break
        struct.pack_into("<I", out, at + 8, zlib.crc32(out[at + 12 : at + 12 + size]))
        at += 12 + size
    return bytes(out)


def same(data: bytes) -> bytes:
    return data


# The suffix, what is done with the file's bytes before they are damaged, and afterwards.
KINDS: dict[str, tuple[str, Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "eventide": (".eventide", same, same),
    "eventide, checksums right": (".eventide", same, checked),
    "pftrace": (".pftrace", same, same),
    "pftrace, not compressed": (".pftrace", inflated, same),
    "json": (".json", same, same),
    "json.gz": (".json.gz", same, same),
    "json.gz, packed again": (".json.gz", gzip.decompress, gzip.compress),
    "parquet": (".parquet", same, same),
    "buffer of a killed process": (".eventide", same, same),
}


class Corpus:
    """One trace in every format, and a place for what becomes of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        trace = recorded(folder / "good.eventide")
        for suffix in (".pftrace", ".json", ".json.gz", ".parquet"):
            trace.save(folder / f"good{suffix}")

        self.killed = left_by_a_killed_process(folder / "killed.eventide")

    def damage(self, kind: str, chance: random.Random, changes: int) -> Path:
        suffix, before, after = KINDS[kind]
        if kind.startswith("buffer"):
            bad = self.folder / "left.eventide"
            bad.write_bytes(self.killed[0])
            Path(f"{bad}.buffer").write_bytes(damaged(self.killed[1], chance, changes, within=8192))
            return bad
        good, bad = self.folder / f"good{suffix}", self.folder / f"bad{suffix}"
        if not good.is_dir():
            bad.write_bytes(after(damaged(before(good.read_bytes()), chance, changes)))
            return bad
        bad.mkdir(exist_ok=True)
        files = sorted(good.iterdir())
        one = chance.choice(files)
        for file in files:
            data = file.read_bytes()
            (bad / file.name).write_bytes(damaged(data, chance, changes) if file == one else data)
        return bad


def left_by_a_killed_process(path: Path) -> tuple[bytes, bytes]:
    """A file, and the buffer beside it."""
    program = (
        "import os, sys, eventide as et; et.Recorder(sys.argv[1], durable=True, buffer=1 << 20).start();"
        "[et.instant('i', n=n) for n in range(50)]; os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    buffer = Path(f"{path}.buffer")
    both = path.read_bytes(), buffer.read_bytes()
    buffer.unlink()
    return both


def damaged(data: bytes, chance: random.Random, changes: int, within: int | None = None) -> bytes:
    """The same with so many changes, none behind the byte `within`."""
    out = bytearray(data)
    for _ in range(changes):
        at = chance.randrange(min(len(out) + 1, within or sys.maxsize))
        kind = chance.randrange(6)
        if kind < 2 and at < len(out):
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 2 and at < len(out):
            out[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif kind == 3:
            out[at:at] = chance.randbytes(chance.choice((1, 2, 8, 100)))
        elif kind == 4:
            del out[at : at + chance.choice((1, 2, 8, 100))]
        elif chance.random() < 0.2:
            del out[at:]
    return bytes(out)


def run(verb: list[str], path: Path) -> str | None:
    """What is wrong with how the command took the file; None: nothing."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*verb, str(path)])
    said = err.getvalue()
    if code == 2 and (said.count("\n") != 1 or not said.startswith("eventide: ") or "internal error" in said):
        return f"exit code 2 and not one line:\n{said}"
    return f"exit code {code}:\n{said}" if code not in {0, 1, 2} or "Traceback" in said else None


def commands(path: Path) -> Iterator[tuple[list[str], Path]]:
    """Each that reads this one file."""
    for verb in VERBS:
        yield verb, path
    yield ["trace", "convert", str(path)], path.with_name("converted.json")
    yield ["trace", "convert", str(path)], path.with_name("converted.pftrace")
    yield ["trace", "compare", str(path)], path
    yield ["trace", "sql", str(path)], Path("select * from spans limit 3")


def fuzz(seconds: float, seed: int) -> int:
    found, tried, end = 0, 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder))
        while time.monotonic() < end:
            seed += 1
            for kind in KINDS:
                chance = random.Random(f"{kind} {seed}")
                path = corpus.damage(kind, chance, chance.choice((1, 1, 1, 2, 5, 20)))
                verb, given = chance.choice(list(commands(path)))
                tried += 1
                if wrong := run(verb, given):
                    found += 1
                    sys.stdout.write(f"{kind}, seed {seed}: {' '.join(verb[:2])}: {wrong}\n")
    sys.stdout.write(f"{tried} files, {found} failures\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(fuzz(float((sys.argv[1:] or ["60"])[0]), int((sys.argv[2:] or ["0"])[0])))
