"""Reads the directory of a run with several processes, one recording each, as one trace."""

from __future__ import annotations

from pathlib import Path

from eventide.trace._merge import merge
from eventide.trace._trace import Trace
from eventide.trace.formats.eventide._reader import read as read_one


def read(path: Path) -> Trace:
    """The recordings in the directory, that of the program first."""
    files = sorted(path.glob("*.eventide"), key=lambda file: (not file.name.startswith("main-"), file.name))
    return merge([read_one(file) for file in files if file.stat().st_size])
