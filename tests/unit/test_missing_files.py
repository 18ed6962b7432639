"""A file that is missing or cannot be written is an OSError and an EventideError, with errno and filename."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

import eventide as et
from eventide.cli._arguments import trace_or_newest
from eventide.cli._files import require_file
from eventide.run import recording_path
from eventide.sanitizer import load_suppressions
from eventide.testing.conformance import Report

Call = Callable[[Path], object]
CALLS: dict[str, tuple[Call, str]] = {
    "open_trace": (et.open_trace, "there is no file '.*'; give the path of a trace"),
    "profile": (lambda path: et.profile(path=path / "t.json"), "there is no directory '.*'; make it first"),
    "Recorder": (lambda path: et.Recorder(path / "t.eventide").start(), "there is no directory '.*'; make it first"),
    "Trace.save": (lambda path: et.Trace({}).save(path / "t.json"), "there is no directory '.*'; make it first"),
    "Trace.report": (
        lambda path: et.Trace({}).report(path / "t.txt"),
        r"t\.txt cannot be written: .*; name another file",
    ),
    "suppressions": (load_suppressions, "suppressions cannot be read from .*; check the path"),
    "Device.build": (lambda path: et.Device.build("lost", [path]), "the sources of device 'lost' do not all exist: "),
    "conformance": (
        lambda path: Report("cpu:0", "", "1", "2026-01-01", ()).save(path / "verified.md"),
        r"cannot write .*verified\.md: .*; name another file",
    ),
    "eventide report FILE": (lambda path: require_file(str(path), "check"), "there is no file .*; check the path"),
    "eventide run -o": (lambda path: recording_path(path / "t.eventide"), "there is no directory .*; create it first"),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_a_missing_file_or_directory_is_a_file_not_found_error_of_eventide(
    tmp_path: Path, call: Call, message: str
) -> None:
    with pytest.raises(et.TraceFileNotFoundError, match=message) as caught:
        call(tmp_path / "gone.py")
    error = caught.value
    assert isinstance(error, FileNotFoundError)
    assert isinstance(error, et.EventideError)
    assert error.errno == errno.ENOENT
    assert str(error.filename).startswith(str(tmp_path / "gone.py"))


def test_a_folder_without_a_recording_is_one_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no \.eventide file in .*; name a trace, or record one"):
        trace_or_newest(None)


def test_a_report_at_a_directory_is_an_os_error_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "r.txt").mkdir()
    with pytest.raises(et.TraceFileError, match=r"r\.txt cannot be written: Is a directory") as caught:
        et.Trace({}).report(tmp_path / "r.txt")
    assert (caught.value.errno, caught.value.filename) == (errno.EISDIR, str(tmp_path / "r.txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["r.txt"]
