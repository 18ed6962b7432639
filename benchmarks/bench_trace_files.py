"""How large are our trace files, and how fast are they written, beside torch.profiler's `export_chrome_trace`?

Both sides write the same events: a torch profile of many small operators, read back by our own reader. Bytes are given
twice, because torch keeps five numbers of its own bookkeeping with each operator: with them, and without.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import eventide as et
from benchmarks._harness import Missing, Options, Round, Row, compare


def rows(options: Options) -> Iterator[Row]:
    count = max(options.number(100_000), 50_000)  # fewer would measure what a file costs, not an event
    with tempfile.TemporaryDirectory() as folder:
        try:
            peer = Torch(Path(folder), count)
        except ImportError as error:
            missing = Missing(str(error))
            yield compare("write .pftrace", "torch export_chrome_trace", lambda: 0.0, missing, options, bar=1 / 5)
            return
        trace = et.open_trace(peer.file)
        plain = trace.replace(spans=without_args(trace.spans))
        spans = trace.spans.num_rows
        against = "torch Chrome JSON"
        for suffix, bar in ((".pftrace", 1 / 6), (".parquet", 1 / 35)):
            for what, made in (("", plain), (", with torch's own numbers", trace)):
                size = bytes_of(made.save(Path(folder) / f"ours{suffix}"))
                yield Row(f"bytes of {suffix}{what}", against, (size / spans,), (peer.bytes / spans,), "B/span", bar)
        for suffix, bar in ((".pftrace", 1 / 5), (".json", 1 / 3)):
            ours = timed(trace, Path(folder) / f"ours{suffix}")
            yield compare(f"write {suffix}", "torch export_chrome_trace", ours, peer.export, options, bar=bar)


class Torch:
    """A profile of `count` operators; each can be exported once, so each round makes its own."""

    def __init__(self, folder: Path, count: int) -> None:
        import torch

        self._torch, self._count = torch, count
        self.file = folder / "torch.json"
        self.export()
        self.bytes = bytes_of(self.file)

    def export(self) -> float:
        torch = self._torch
        small = torch.ones(4)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            for _ in range(self._count):
                torch.add(small, small)
        start = time.perf_counter()
        profiler.export_chrome_trace(str(self.file))
        return (time.perf_counter() - start) / self._count * 1e9


def timed(trace: et.Trace, path: Path) -> Round:
    def measure() -> float:
        start = time.perf_counter()
        trace.save(path)
        return (time.perf_counter() - start) / trace.spans.num_rows * 1e9

    return measure


def without_args(spans: pa.Table) -> pa.Table:
    place = spans.column_names.index("args")
    return spans.set_column(place, "args", pa.nulls(spans.num_rows, pa.string()))


def bytes_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
