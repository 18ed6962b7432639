"""What does `with stream:` cost over the floor, a context manager in C?

The floor is a `threading.Lock`: not empty (it takes and releases itself, uncontended), but the standard library has no
emptier one in C that can be entered twice. An empty loop is subtracted on both sides.
"""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING

import eventide as et
from benchmarks._harness import Options, Row, compare, pinned, statement

if TYPE_CHECKING:
    from collections.abc import Iterator


def rows(options: Options) -> Iterator[Row]:
    number = options.number(100_000)
    lock, other = threading.Lock(), threading.Lock()
    with pinned(), closing(et.Stream("cpu")) as stream:
        ours = statement("with stream: pass", {"stream": stream}, number)
        peer = statement("with lock: pass", {"lock": lock}, number)
        yield compare("with s: pass", "with a kept threading.Lock", ours, peer, options)
        again = statement("with stream:\n    with stream: pass", {"stream": stream}, number)
        peer = statement("with lock:\n    with other: pass", {"lock": lock, "other": other}, number)
        yield compare("with s: with s: pass", "two kept Locks", again, peer, options)
