"""Chrome traces for tests: documents written to files, read back as plain rows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eventide.trace import Trace
from eventide.trace.formats.chrome import _reader

TRACES = Path(__file__).resolve().parents[2] / "shared" / "traces"
KERNEL = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7}
CALL = {"ph": "X", "cat": "cuda_runtime", "pid": 9, "tid": 9}


def real_trace(name: str) -> Path:
    """A trace of a real accelerator; the test is skipped where the folder is absent."""
    path = TRACES / f"{name}.json.gz"
    if not path.exists():
        pytest.skip("../shared/traces is not there")
    return path


def event(base: dict[str, Any], name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {**base, "name": name, "ts": ts, "dur": dur, "args": args}


def write(path: Path, document: Any) -> Path:
    """Write a document, or raw text, or raw bytes; compressed where the name ends in .gz."""
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)
    return path


def read(path: Path, document: Any, **options: Any) -> Trace:
    return _reader.read(write(path, document), **options)


def rows(trace: Trace, table: str, *columns: str) -> list[Any]:
    """The rows of a table: dicts, or tuples of the columns given, or values where it is one column."""
    found = trace.tables[table].to_pylist()
    if not columns:
        return found
    if len(columns) == 1:
        return [row[columns[0]] for row in found]
    return [tuple(row[column] for column in columns) for row in found]
