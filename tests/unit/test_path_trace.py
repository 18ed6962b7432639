"""The critical path as a track of its trace, in the files that viewers open."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import eventide as et
from eventide.analysis import critical_path, mark_critical_path
from eventide.cli import main
from tests.kineto_files import real_trace
from tests.trace_builder import Builder


def launched() -> Builder:
    b = Builder()
    b.span(b.thread(), "aten::mm", 0, 60)
    b.launch((10, 20), "gemm", 30, 100)
    b.call("cudaDeviceSynchronize", 60, 110, category="sync")
    return b


def test_the_track_has_each_piece_and_arrows_between_them() -> None:
    trace = launched().trace()
    marked = mark_critical_path(trace)
    marked.check()
    path = critical_path(trace).table.to_pylist()
    track = trace.tracks.num_rows
    assert marked.tracks.column("name").to_pylist()[track:] == ["critical path"]
    rows = [row for row in marked.spans.to_pylist() if row["track"] == track]
    assert [(row["start"], row["duration"]) for row in rows] == [(each["start"], each["duration"]) for each in path]
    assert sum(row["duration"] for row in rows) == 110
    assert [json.loads(row["args"])["kind"] for row in rows] == [each["kind"] for each in path]
    added = marked.edges.to_pylist()[trace.edges.num_rows :]
    assert len(added) == len(path) - 1 + sum(each["span"] is not None for each in path)
    assert marked.spans.slice(0, trace.spans.num_rows).to_pylist() == trace.spans.to_pylist()


@pytest.mark.parametrize("suffix", [".json.gz", ".pftrace", ".parquet"])
def test_the_command_writes_it_into_a_file_with_the_length_of_the_path(tmp_path: Path, suffix: str) -> None:
    launched().trace(source="test").save(tmp_path / "t.json")
    target = tmp_path / f"marked{suffix}"
    assert main(["trace", "critical-path", str(tmp_path / "t.json"), "-o", str(target)]) == 0
    found = et.open_trace(target)
    track = found.tracks.column("name").to_pylist().index("critical path")
    rows = [row for row in found.spans.to_pylist() if row["track"] == track]
    assert sum(row["duration"] for row in rows) == 110


def test_the_path_of_a_real_trace_fills_the_window_in_the_raw_file(tmp_path: Path) -> None:
    trace = et.open_trace(real_trace("nvidia_event_sync"))
    mark_critical_path(trace).save(tmp_path / "t.json.gz")
    events = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["traceEvents"]
    names = [e for e in events if e.get("ph") == "M" and e["name"] == "thread_name"]
    (row,) = [(e["pid"], e["tid"]) for e in names if e["args"]["name"] == "critical path"]
    pieces = [e for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) == row]
    assert round(sum(e["dur"] for e in pieces) * 1000) == critical_path(trace).wall
    assert len(pieces) == critical_path(trace).table.num_rows


def test_a_trace_without_a_path_stays_as_it_is() -> None:
    trace = Builder().trace()
    assert mark_critical_path(trace) is trace
