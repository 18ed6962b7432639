"""Results of analyses: how they print and convert, and the methods of Trace that return them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import eventide as et
from eventide import analysis
from tests.trace_builder import Builder

METHODS = ("summary", "operators", "breakdown", "idle", "syncs", "memory", "compiles", "critical_path", "lint")


def overlapped() -> Builder:
    b = Builder()
    b.span(b.thread(), "ProfilerStep#1", 0, 1000, "step")
    b.launch((0, 10), "void gemm<float>(float*)", 10, 100)
    b.launch((600, 610), "gemm", 610, 900)
    b.call("cudaDeviceSynchronize", 700, 1000, category="sync")
    b.operation("memory_allocation", 5, device="cuda:0", handle=1, bytes=4096)
    b.span(b.thread(), "compile f", 200, 300, "compile")
    return b


def test_a_summary_prints_as_a_table() -> None:
    assert repr(overlapped().trace().summary()).splitlines() == [
        "Summary: 1.00 us, 1 stream, 1 thread",
        "on      name                   category  count   total  self_time     min  median     max",
        "device  gemm                   kernel        1  290 ns     290 ns  290 ns  290 ns  290 ns",
        "device  gemm<float>            kernel        1   90 ns      90 ns   90 ns   90 ns   90 ns",
        "host    cudaDeviceSynchronize  sync          1  300 ns     300 ns  300 ns  300 ns  300 ns",
        "host    compile f              compile       1  100 ns     100 ns  100 ns  100 ns  100 ns",
        "host    cudaLaunchKernel       runtime       2   20 ns      20 ns   10 ns   10 ns   10 ns",
    ]


HEADINGS = {
    "operators": "Operators: 1.00 us, 6 names",
    "breakdown": "Breakdown: 1.00 us, 1 device",
    "idle": "Idle: 1.00 us, idle time of 1 device",
    "syncs": "Syncs: the host blocked 1 time for 300 ns of 1.00 us",
    "memory": "Memory: 1 device",
    "compiles": "Compile: 1 compile, 100 ns of 1.00 us",
    "samples": "Samples: 0 samples of 0 stacks, 0 ns running, 0 ns waiting",
    "critical_path": (
        "CriticalPath: 1.00 us: 49 % unrecorded host, 29 % compute, 11 % host, 10 % sync return, 1.0 % launch"
    ),
    "lint": "Lint: 1 finding of 15 rules",
}


@pytest.mark.parametrize(("name", "heading"), HEADINGS.items())
def test_each_result_prints_a_heading_and_its_rows(name: str, heading: str) -> None:
    result = getattr(analysis, name)(overlapped().trace())
    first, *rest = str(result).splitlines()
    assert first == heading
    assert repr(result) == str(result)
    assert len(rest) >= 2 or name == "samples"
    assert max(map(len, rest), default=0) <= 160


def test_a_long_result_prints_ten_rows_and_the_number_of_the_others() -> None:
    builder = Builder()
    for number in range(5000):
        builder.span(builder.thread(), f"name {number}", number * 10, number * 10 + 5)
    lines = str(builder.trace().summary()).splitlines()
    assert len(lines) == 1 + 1 + 10 + 1
    assert lines[-1] == "... and 4,990 more rows; to_arrow() has all"


ROWS = {
    "summary": {"on": "device", "name": "gemm", "total": 290, "self_time": 290, "count": 1},
    "operators": {"on": "host", "name": "cudaDeviceSynchronize", "self_time": 300, "flops": 0},
    "breakdown": {"device": "cuda:0", "scope": "whole", "wall": 1000, "compute": 380, "idle": 620, "overlap": 0},
    "idle": {"device": "cuda:0", "start": 0, "duration": 10, "launch": 10},
    "syncs": {"name": "cudaDeviceSynchronize", "duration": 300, "waited": 200, "returned": 100},
    "memory": {"device": "cuda:0", "peak": 4096, "allocations": 1},
    "compiles": {"name": "compile f", "count": 1, "total": 100},
    "critical_path": {"start": 0, "duration": 10, "kind": "host", "name": "cudaLaunchKernel"},
    "lint": {"rule": "device work without a launch", "count": 2},
}


@pytest.mark.parametrize(("name", "row"), ROWS.items())
def test_each_result_converts_to_arrow(name: str, row: dict[str, object]) -> None:
    first = getattr(overlapped().trace(), name)().to_arrow().slice(0, 1).to_pylist()[0]
    assert {key: first[key] for key in row} == row


def test_a_comparison_converts_with_the_difference_of_each_row() -> None:
    longer = overlapped()
    longer.work("gemm", 1000, 1300)
    found = overlapped().trace().compare(longer.trace())
    assert str(found).splitlines()[0] == "Comparison: 1.00 us became 1.30 us"
    rows = found.to_arrow().to_pylist()
    assert sum(row["difference"] for row in rows if row["of"] == "parts") == 300
    assert [row["difference"] for row in rows if (row["of"], row["name"]) == ("device", "gemm")] == [300]


@pytest.mark.parametrize("name", METHODS)
def test_an_empty_result_prints_and_keeps_its_columns(name: str) -> None:
    full, empty = (getattr(builder.trace(), name)() for builder in (overlapped(), Builder()))
    assert str(empty).startswith(f"{type(empty).__name__}: ")
    assert empty.to_arrow().num_rows == 0
    assert empty.to_arrow().column_names == full.to_arrow().column_names


@pytest.mark.heavy
@pytest.mark.parametrize("name", METHODS)
def test_each_result_converts_to_pandas(name: str) -> None:
    result = getattr(overlapped().trace(), name)()
    frame = result.to_pandas()
    assert list(frame.columns) == result.to_arrow().column_names
    assert len(frame) == result.to_arrow().num_rows


def repeated(table: pa.Table) -> list[str]:
    """The columns whose dictionary has a word twice: pandas refuses them."""
    words = {
        name: chunk.dictionary.to_pylist()
        for name in table.column_names
        for chunk in table[name].chunks
        if pa.types.is_dictionary(chunk.type)
    }
    return [name for name, each in words.items() if len(set(each)) < len(each)]


def test_threads_of_one_name_and_streams_of_one_device_have_one_word_in_a_dictionary() -> None:
    builder = overlapped()
    builder.span(builder.thread(pid=2), "load", 0, 900)
    builder.launch((20, 30), "gemm", 40, 950, stream=8)
    trace = builder.trace()
    for table in (trace.critical_path().to_arrow(), trace.queue().levels):
        assert any(pa.types.is_dictionary(kind) for kind in table.schema.types)
        assert repeated(table) == []


def stream_synchronization() -> None:
    """Work with the name of a hook."""


def test_work_with_the_name_of_a_synchronization_has_the_same_word() -> None:
    with et.Recorder() as recorder, et.Stream.open("cpu") as stream:
        stream.submit(stream_synchronization)
        stream.synchronize()
    spans = recorder.trace.spans
    assert set(spans["name"].to_pylist()) == {"stream_synchronization"}
    assert {"work", "sync"} == set(spans["category"].to_pylist())
    assert repeated(spans) == []


def test_without_pandas_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(et.UsageError, match="needs pandas: pip install pandas; to_arrow"):
        overlapped().trace().summary().to_pandas()


def test_the_methods_of_a_trace_need_no_import_of_the_analysis(tmp_path: Path) -> None:
    overlapped().trace().save(tmp_path / "t.parquet")
    code = f"""
import sys, eventide as et
trace = et.open_trace({str(tmp_path / "t.parquet")!r})
assert "eventide.analysis" not in sys.modules and "eventide.report" not in sys.modules
assert trace.summary().wall == 1000
assert trace.idle(by="stream").lanes[0].stream == "7"
assert trace.critical_path("1").wall == 1000
assert trace.report().startswith("trace: 1.00 us, cuda:0")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_idle_time_is_by_device_or_by_stream() -> None:
    with pytest.raises(et.UsageValueError, match=r"idle\(by='thread'\): use 'device' or 'stream'"):
        overlapped().trace().idle(by="thread")  # type: ignore[arg-type]  # that is what is tested


def test_a_report_is_written_by_suffix(tmp_path: Path) -> None:
    trace = overlapped().trace(source="test")
    text = trace.report(tmp_path / "r.TXT", title="mine")
    assert text.splitlines()[0].startswith("mine: 1.00 us, cuda:0")
    assert (tmp_path / "r.TXT").read_text("utf-8") == text == trace.report(title="mine")
    trace.report(tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert found["breakdown"]["devices"][0]["whole"]["idle"] == 620
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.TXT", "r.json"]
    with pytest.raises(et.UsageValueError, match=r"r\.docx'; use a \.html, a \.txt or a \.json file"):
        trace.report(tmp_path / "r.docx")
    trace.report(tmp_path / "r.html", title="mine")
    assert "<title>mine - eventide</title>" in (tmp_path / "r.html").read_text("utf-8")
    with pytest.raises(FileNotFoundError, match="cannot be written: No such file or directory; name another file"):
        trace.report(tmp_path / "missing" / "r.txt")


def test_a_report_and_the_tables_of_a_profile_print_as_text_at_a_prompt() -> None:
    text = overlapped().trace().report()
    assert isinstance(text, str)
    assert repr(text) == text.rstrip("\n")
    with et.profile() as prof, et.span("load"):
        pass
    for table in (prof.result.table(), prof.key_averages()):
        assert [line.split()[:2] for line in repr(table).splitlines()] == [["Name", "kind"], ["load", "span"]]


def test_the_total_of_a_recursive_name_counts_each_moment_once() -> None:
    builder = Builder()
    for start, end, tid in ((0, 100, 1), (10, 90, 1), (20, 80, 1), (110, 120, 1), (0, 50, 2)):
        builder.span(builder.thread(tid), "f", start, end)
    (row,) = builder.trace().summary().host
    assert (row.count, row.total, row.self_time, row.max) == (5, 160, 160, 100)
    (operator,) = builder.trace().operators().rows
    assert (operator.total, operator.mean) == (160, 60.0)
