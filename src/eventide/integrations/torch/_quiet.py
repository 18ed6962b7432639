"""Kineto writes lines to stderr when a session begins and ends; a program must print what it would have printed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_LEVEL = "KINETO_LOG_LEVEL"
_NOTHING = "99"


@contextmanager
def without_kineto_s_lines() -> Iterator[None]:
    """Kineto looks at the environment once, when its first session is prepared; what the user set there stays."""
    before = os.environ.get(_LEVEL)
    if before is None:
        os.environ[_LEVEL] = _NOTHING
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_LEVEL, None)


_TORCH_S = (b"profiler_kineto.cpp", b"collection.cpp")  # where its profiler warns about what we know


@contextmanager
def without_torch_s_warnings() -> Iterator[None]:
    """What is written to stderr meanwhile is kept back and then written, but for lines of torch's profiler."""
    try:
        real = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    kept = os.memfd_create("eventide-stderr")
    os.dup2(kept, 2)
    try:
        yield
    finally:
        os.dup2(real, 2)
        for line in os.pread(kept, 1 << 20, 0).splitlines(keepends=True):
            if not any(where in line for where in _TORCH_S):
                os.write(real, line)
        os.close(kept)
        os.close(real)
