"""open_trace and Trace.save: which reader and which writer, and the error if there is none."""

import errno
import gzip
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import eventide as et
from eventide.trace import _open, _save
from tests.reference.traces import small_trace


def packet(length):
    return b"\x0a" + bytes([length]) + b"\x40" * length


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.json", b'{"traceEvents": []}', "json"),
        ("a.bin", b'\n\n  [ {"ph": "X"}', "json"),
        ("a.bin", b'\xef\xbb\xbf{"a": 1}', "json"),
        ("a.bin", b"{", "json"),
        ("a.pftrace", b'{"traceEvents": []}', "json"),
        ("a.json.gz", gzip.compress(b'{"traceEvents": []}', mtime=0), "json"),
        ("a.json.gz", gzip.compress(b'{"traceEvents": []}', mtime=0)[:9], "json"),
        ("a.bin", packet(5) + packet(9), "pftrace"),
        ("a.bin", gzip.compress(packet(5) * 900, mtime=0), "pftrace"),
        ("a.json", packet(5), "pftrace"),
        ("a.pftrace", b"\x0a{" + b"\x22" * 123, "pftrace"),
        ("a.json", b"\x0a{" + b"\x22" * 123, "json"),
        ("a.bin", b"PAR1....", "parquet"),
        ("a.bin", b"EVENTIDE\x01\x00", "eventide"),
        ("a.eventide", b"\0\0\0\0 damaged", "eventide"),
        ("a.json", b'ts": 3}, {"ph": "X"} a head that is lost', "json"),
    ],
)
def test_the_format_is_detected_by_content_first_and_by_name_second(name, content, found, tmp_path):
    file = tmp_path / name
    file.write_bytes(content)
    assert _open.find_format(file) == found


def test_the_reader_is_imported_on_use_and_gets_the_path(tmp_path, monkeypatch):
    trace, seen = small_trace(), []
    reader = SimpleNamespace(read=lambda path: (seen.append(path), trace)[1])
    monkeypatch.setitem(sys.modules, "eventide.trace.formats.chrome._reader", reader)
    file = tmp_path / "a.json"
    file.write_text("{}")
    assert et.open_trace(str(file)) is trace
    assert seen == [file]


@pytest.mark.parametrize("suffix", [*_open.SUFFIXES, ""])
def test_a_missing_file_is_an_os_error_that_names_it(tmp_path, suffix):
    file = tmp_path / f"gone{suffix}"
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*gone.*'; give the path of a trace") as caught:
        et.open_trace(file)
    error = caught.value
    assert isinstance(error, et.TraceFileNotFoundError)
    assert (error.errno, error.strerror, error.filename) == (errno.ENOENT, "No such file or directory", str(file))
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.errno, copy.filename) == (type(error), str(error), error.errno, error.filename)


def test_a_directory_that_is_no_trace_is_a_usage_error(tmp_path):
    with pytest.raises(et.UsageError, match=r"is a directory without .eventide or .parquet files"):
        et.open_trace(tmp_path)
    (tmp_path / "a.eventide").mkdir()
    with pytest.raises(et.UsageError, match=r"a.eventide' is a directory"):
        et.open_trace(tmp_path / "a.eventide")


def damaged(raises):
    def read(path):
        raise raises

    return SimpleNamespace(read=read)


@pytest.mark.parametrize("error", [KeyError("version"), OSError("corrupt\n page"), ValueError("bad base64")])
def test_an_exception_in_a_reader_is_reported_as_a_damaged_file(error, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "eventide.trace.formats.chrome._reader", damaged(error))
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(et.TraceFormatError, match=r"the file is damaged \(.*\); copy or write it again .*a.json"):
        et.open_trace(tmp_path / "a.json")


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "eventide.trace.formats.chrome._reader", damaged(PermissionError(13, "Permission denied"))
    )
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(PermissionError, match=r"cannot read '.*a.json': Permission denied") as caught:
        et.open_trace(tmp_path / "a.json")
    assert isinstance(caught.value, et.TraceFileError)


@pytest.mark.parametrize("suffix", [".pftrace", ".json", ".parquet"])
def test_a_file_with_other_bytes_in_it_is_read_or_refused(suffix, tmp_path):
    file = small_trace().save(tmp_path / f"t{suffix}")
    part = file if file.is_file() else max(file.iterdir(), key=lambda one: one.stat().st_size)
    data = part.read_bytes()
    for place in range(8, len(data), max(1, len(data) // 40)):
        part.write_bytes(data[:place] + bytes([data[place] ^ 0x5A]) + data[place + 1 :])
        try:
            et.open_trace(file)
        except et.TraceFormatError as error:
            assert str(file) in str(error)


def test_an_empty_file_is_a_format_error_at_byte_0(tmp_path):
    file = tmp_path / "a.pftrace"
    file.touch()
    with pytest.raises(et.TraceFormatError, match="the file is empty") as caught:
        et.open_trace(file)
    assert (caught.value.path, caught.value.offset) == (str(file), 0)


@pytest.mark.parametrize(
    "content", [b"\x7fELF", b"PK\x03\x04", b"hello", b"\x1f\x8b\xff", gzip.compress(b"hello", mtime=0)]
)
def test_an_unknown_format_shows_how_it_starts_and_what_could_be_opened(content, tmp_path):
    file = tmp_path / "a.bin"
    file.write_bytes(content)
    with pytest.raises(et.TraceFormatError, match=r"no trace format starts with b'.*Eventide opens .eventide"):
        et.open_trace(file)


def test_a_path_of_the_wrong_type_is_a_type_error():
    with pytest.raises(TypeError, match="open_trace takes the path of a file, not int"):
        et.open_trace(7)
    with pytest.raises(TypeError, match="save takes the path of a file, not NoneType"):
        small_trace().save(None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.eventide", "cannot save 'a.eventide': only a running recorder writes .eventide; use .pftrace"),
        ("a.txt", "'a.txt' has no suffix of a format that is written; use .pftrace"),
        ("a", "'a' has no suffix of a format that is written"),
    ],
)
def test_a_name_that_cannot_be_saved_has_a_remedy_and_leaves_no_file(name, words, tmp_path):
    with pytest.raises(et.UsageError, match=words):
        small_trace().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", _save.WRITERS)
def test_a_missing_directory_is_an_os_error(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match=r"there is no directory '.*gone'; make it first") as caught:
        small_trace().save(tmp_path / "gone" / f"a{suffix}")
    assert isinstance(caught.value, et.TraceFileError)
    assert caught.value.filename == str(tmp_path / "gone" / f"a{suffix}")


def test_a_directory_that_is_not_a_trace_is_not_replaced(tmp_path):
    folder = tmp_path / "a.parquet"
    folder.mkdir()
    (folder / "thesis.txt").touch()
    with pytest.raises(et.UsageError, match=r"is a directory that holds 'thesis.txt', not a trace"):
        small_trace().save(folder)
    assert (folder / "thesis.txt").exists()


def writer(monkeypatch, module, write):
    monkeypatch.setitem(sys.modules, f"eventide.trace.formats.{module}", SimpleNamespace(write=write))


def test_a_file_appears_under_its_name_only_when_it_is_whole(tmp_path, monkeypatch):
    target = tmp_path / "a.json.gz"
    target.write_text("old")

    def write(trace: et.Trace, path: Path) -> None:
        assert target.read_text() == "old"
        assert path.name.endswith(".json.gz")
        path.write_text("new")

    writer(monkeypatch, "chrome._writer", write)
    assert small_trace().save(target) == target
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_writer_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    target = tmp_path / "a.pftrace"
    target.write_text("old")

    def write(trace: et.Trace, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    writer(monkeypatch, "perfetto._writer", write)
    with pytest.raises(et.TraceFileError, match=r"cannot write '.*a.pftrace': No space left on device") as caught:
        small_trace().save(target)
    assert caught.value.errno == errno.ENOSPC
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_every_writer_has_a_reader():
    assert set(_save.WRITERS) <= set(_open.SUFFIXES)
