"""The packets of a Perfetto file, compressed ones included, for the core's reader."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from eventide import _native
from eventide.errors import TraceFormatError
from eventide.trace.formats._input import FREE, INFLATE_LIMIT, whole


def read_packets(path: Path, warnings: list[str]) -> tuple[dict[str, Any], dict[str, int]]:
    """The decoded packets, and an account of the bytes; unreadable ones add a warning."""
    data = whole(path, warnings)
    reader = _native.PftraceReader()
    at = _feed(reader, data, path, warnings)
    return reader.finish(), {"bytes": len(data), "lost_bytes": len(data) - at}


def _feed(reader: _native.PftraceReader, data: bytes, path: Path, warnings: list[str]) -> int:
    """Decode all packets, inflating compressed ones; returns the offset where it stopped, with a warning."""
    at, budget = 0, max(FREE, INFLATE_LIMIT * len(data))
    while at < len(data):
        stopped, compressed = reader.feed(data, at)
        if compressed:
            inner = _inflate(compressed, budget, path, at)
            # Times are differences to the previous packet: after a missing one, all would be wrong.
            if inner is None or reader.feed(inner, 0) != (len(inner), b""):
                warnings.append(f"the compressed packets at byte {at:,} are damaged; nothing from there on was read")
                return at
            budget -= len(inner)
        elif stopped < len(data):
            left = len(data) - stopped
            warnings.append(f"the last {left:,} of {len(data):,} bytes are not a whole packet and were not read")
            return stopped
        at = stopped
    return at


def _inflate(compressed: bytes, budget: int, path: Path, at: int) -> bytes | None:
    inflater = zlib.decompressobj()
    try:
        inner = inflater.decompress(compressed, max(budget, 1))
    except zlib.error:
        return None
    if inflater.unconsumed_tail:
        words = f"its packets inflate to over {INFLATE_LIMIT} times their size: this looks like a decompression bomb"
        raise TraceFormatError(words, str(path), at)
    return inner if inflater.eof else None
