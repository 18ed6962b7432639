"""Is an event from a pool cheaper than a new one? Against `et.Event()`, so the peer is our own.

An empty loop is subtracted on both sides. No bar: the pool is for keeping ids and native events, not for speed on cpu.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import eventide as et
from benchmarks._harness import Options, Row, compare, pinned, statement

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = (
    ("pool.acquire(), dropped", "pool.acquire()", "Event('cpu')"),
    ("pool.release(pool.acquire())", "pool.release(pool.acquire())", "Event('cpu')"),
    ("pool.acquire().record(s), dropped", "pool.acquire().record(stream)", "Event('cpu').record(stream)"),
)


def rows(options: Options) -> Iterator[Row]:
    number = options.number(50_000)
    with pinned(), closing(et.Stream("cpu")) as stream:
        names = {"pool": et.EventPool("cpu"), "Event": et.Event, "stream": stream}
        for what, code, other in CASES:
            yield compare(what, other, statement(code, names, number), statement(other, names, number), options)
