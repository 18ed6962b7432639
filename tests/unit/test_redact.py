"""A redacted trace: no directory, argument or command line is left in any table, file or page; the measurement is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import eventide as et
from eventide.analysis import samples, summary
from eventide.cli import main
from eventide.trace._redact import without_folders

PRIVATE = ("/srv/ann/secret", "--token=hunter2", "hunter2", "ann")


def private_trace() -> et.Trace:
    """Every text of it holds something private."""
    spans = {
        "track": [1, 1, 2], "name": ["load /srv/ann/secret/data.bin", "aten::add", "gemm"],
        "category": ["span", "op", "kernel"], "start": [0, 10, 20], "duration": [100, 10, 50], "stack": [0, None, None],
        "args": ['{"file": "/srv/ann/secret/x.pt"}', '{"token": "hunter2"}', None],
    }  # fmt: skip
    tracks = {
        "kind": ["process", "thread", "stream", "other"], "device": [None, None, "cuda:0", None],
        "name": ["python /srv/ann/secret/train.py", "main", None, "samples of MainThread"], "pid": [1, 1, None, 1],
    }  # fmt: skip
    instants = {
        "track": [3, 3, 1], "name": ["x", "x", "saved /srv/ann/secret/a.pt"], "category": ["sample", "sample", "span"],
        "time": [10, 20, 30], "stack": [0, 0, None], "args": ['{"waiting": true}', None, '{"to": "hunter2"}'],
    }  # fmt: skip
    operations = {"hook": ["work_submission"], "time": [5], "name": ["/srv/ann/secret/f"], "group": ["ann"[:0]]}
    frames = [[{"file": "/srv/ann/secret/train.py", "line": 3, "function": "load"}]]
    metadata = {
        "source": "eventide", "path": "/srv/ann/secret/t.eventide", "program": "/srv/ann/secret/train.py",
        "about": {"arguments": ["--token=hunter2"]}, "process": {"pid": 1, "host": "ann", "rank": 0},
        "warnings": ["the file /srv/ann/secret/t.eventide was cut"], "user": {"note": "hunter2"},
    }  # fmt: skip
    tables = {"tracks": tracks, "spans": spans, "instants": instants, "operations": operations,
              "stacks": {"frames": frames}}  # fmt: skip
    return et.Trace(tables, metadata)


def texts(trace: et.Trace) -> str:
    return json.dumps([table.to_pylist() for table in trace.tables.values()]) + json.dumps(trace.metadata)


def test_nothing_private_is_left_and_every_measurement_is() -> None:
    trace = private_trace()
    found = trace.redacted()
    found.check()
    assert not [word for word in PRIVATE if word in texts(found)]
    assert found.spans.column("name").to_pylist() == ["load data.bin", "aten::add", "gemm"]
    assert found.stacks.to_pylist() == [{"frames": [{"file": "train.py", "line": 3, "function": "load"}]}]
    assert found.metadata["warnings"] == ["the file t.eventide was cut"]
    assert found.metadata["process"]["rank"] == 0
    for name in ("start", "duration", "track", "category"):
        assert found.spans.column(name).equals(trace.spans.column(name))
    assert [(row.name, row.total) for row in summary(found).host] == [("load data.bin", 100), ("aten::add", 10)]
    assert (samples(found).waiting, samples(found).running) == (samples(trace).waiting, samples(trace).running)
    assert trace.spans.column("args").to_pylist()[1] == '{"token": "hunter2"}'  # the original is unchanged


def test_without_paths_arguments_stay() -> None:
    found = private_trace().redacted(arguments=False)
    assert "/srv/ann" not in texts(found)
    assert found.spans.column("args").to_pylist() == ['{"file": "x.pt"}', '{"token": "hunter2"}', None]
    assert found.metadata["about"] == {"arguments": ["--token=hunter2"]}


@pytest.mark.parametrize("suffix", [".json", ".json.gz", ".parquet", ".pftrace"])
def test_a_converted_file_holds_nothing_private(tmp_path: Path, suffix: str) -> None:
    private_trace().save(tmp_path / "in.parquet")
    target = tmp_path / f"out{suffix}"
    assert main(["trace", "convert", str(tmp_path / "in.parquet"), str(target), "--redact"]) == 0
    files = [target] if target.is_file() else [path for path in target.rglob("*") if path.is_file()]
    raw = b"".join(gzip.decompress(path.read_bytes()) if suffix == ".json.gz" else path.read_bytes() for path in files)
    assert not [word for word in PRIVATE[:3] if word.encode() in raw]
    assert not [word for word in PRIVATE[:3] if word in texts(et.open_trace(target))]


def test_the_page_of_a_report_can_leave_out_directories(tmp_path: Path) -> None:
    private_trace().save(tmp_path / "in.parquet")
    page = tmp_path / "r.html"
    assert main(["report", str(tmp_path / "in.parquet"), "-o", str(page), "--no-paths"]) == 0
    assert "/srv/ann" not in page.read_text("utf-8")
    assert "load data.bin" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("at /srv/me/a.py:3", "at a.py:3"), ("~/x/y.py", "y.py"), ("C:\\Users\\me\\a.py", "a.py"),
        ("python /srv/app/train.py --x=/data/set1/", "python train.py --x=set1/"), ("/usr/", "usr/"),
        ("file:///srv/me/t.json", "file:/t.json"), ("aten::div / x", "aten::div / x"),
        ("void f<a/b>(int)", "void f<a/b>(int)"), ("Memcpy HtoD (Pageable -> Device)",) * 2, ("a/b/c.py", "a/b/c.py"),
        ("http://host/a/b", "http://host/a/b"), ("", ""), ("/", "/"),
    ],
)  # fmt: skip
def test_only_the_folders_of_absolute_paths_go(text: str, left: str) -> None:
    assert without_folders(text) == left
