"""open_trace: finds the format of a file, by content first and by name second, and calls its reader."""

from __future__ import annotations

import errno
import os
import zlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from eventide.errors import EventideError, TraceFileError, TraceFormatError, UsageTypeError, UsageValueError
from eventide.trace._check import broken_references

if TYPE_CHECKING:
    from eventide.trace._trace import Trace

# Each format, and the module below eventide.trace.formats whose `read(path)` opens it.
READERS = {
    "eventide": "eventide._reader",
    "processes": "eventide._processes",
    "json": "chrome._reader",
    "parquet": "parquet",
    "pftrace": "perfetto._reader",
    "snapshot": "torch_snapshot",
    "xplane": "xplane",
}
SUFFIXES = {
    ".eventide": "eventide",
    ".json": "json",
    ".json.gz": "json",
    ".parquet": "parquet",
    ".pftrace": "pftrace",
    ".pftrace.gz": "pftrace",
    ".perfetto-trace": "pftrace",
    ".perfetto-trace.gz": "pftrace",
    ".pickle": "snapshot",
    ".pkl": "snapshot",
    ".xplane.pb": "xplane",
    ".xplane.pb.gz": "xplane",
}
_HEAD = 4096  # bytes from which the format is detected
_KNOWN = (
    "Eventide opens .eventide, Kineto/Chrome .json and .json.gz, .parquet, Perfetto .pftrace, JAX's .xplane.pb and "
    "torch's memory snapshots (.pickle)"
)
# What numpy, pyarrow, json and zlib raise for damaged bytes inside a file.
_DAMAGED = (ArithmeticError, LookupError, NotImplementedError, OSError, TypeError, ValueError, zlib.error)


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Open a trace file of any known format, detected by content first and by name second.

    The file is never changed. If it is missing or cannot be read: TraceFileError, an OSError. If it is damaged:
    TraceFormatError.
    """
    try:
        file = Path(path)
    except TypeError:
        raise UsageTypeError(f"open_trace takes the path of a file, not {type(path).__name__}") from None
    reader = import_module(f"eventide.trace.formats.{READERS[find_format(file)]}")
    try:
        return _sound(cast("Trace", reader.read(file)))
    except EventideError:
        raise
    except _DAMAGED as error:
        if isinstance(error, OSError) and error.errno:
            raise TraceFileError(f"cannot read {str(file)!r}: {error.strerror}", error.errno, str(file)) from error
        what = " ".join(str(error).split()) or type(error).__name__
        raise TraceFormatError(f"the file is damaged ({what[:200]}); copy or write it again", str(file), 0) from error


def _sound(trace: Trace) -> Trace:
    """The trace itself; ValueError if rows refer to rows that do not exist."""
    for wrong in broken_references(trace):
        raise ValueError(wrong)
    return trace


def find_format(file: Path) -> str:
    """The key of READERS for this file; TraceFormatError if there is none."""
    if file.is_dir():
        return _format_of_directory(file)
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError as error:
        raise _cannot_read(file, error) from error
    if not head:
        raise TraceFormatError(
            "the file is empty, so nothing was ever written to it; record or copy it again", str(file), 0
        )
    named = _format_of_name(file.name)
    found = _format_of_content(head, named)
    if found is None:
        raise TraceFormatError(f"no trace format starts with {head[:8]!r}; {_KNOWN}", str(file), 0)
    return found


def _cannot_read(file: Path, error: OSError) -> TraceFileError:
    number = error.errno or errno.EIO
    if number == errno.ENOENT:
        return TraceFileError(f"there is no file {str(file)!r}; give the path of a trace", number, str(file))
    return TraceFileError(f"cannot read {str(file)!r}: {os.strerror(number)}", number, str(file))


def _format_of_directory(file: Path) -> str:
    if any(file.glob("*.parquet")):
        return "parquet"
    if any(file.glob("*.eventide")):
        return "processes"
    if any(file.glob("*.xplane.pb")) or any(file.glob("plugins/profile/*/*.xplane.pb")):
        return "xplane"
    if (file / "job.json").is_file():
        raise UsageValueError(f"{str(file)!r} is a job of many ranks; use: eventide job report {file}")
    traces = sorted(each.name for each in file.iterdir() if _format_of_name(each.name))
    if traces:
        raise UsageValueError(
            f"{str(file)!r} is a directory with {len(traces)} traces; give one of them ({traces[0]}), or make a job of "
            f"many ranks: eventide job import {file} -o job"
        )
    raise UsageValueError(
        f"{str(file)!r} is a directory without .eventide or .parquet files or JAX's profiles; give the path of a trace"
    )


def _format_of_name(name: str) -> str | None:
    name = name.lower()
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def _format_of_content(head: bytes, named: str | None) -> str | None:
    """The name decides only if the content fits two formats, or is damaged at its start."""
    if head.startswith(b"\x1f\x8b"):
        head = _inflate(head)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[:8].upper() == b"EVENTIDE":
        return "eventide"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05" and (named == "snapshot" or head[2:3] in b"\x95}]("):
        return "snapshot"
    if named == "xplane" or (named is None and _looks_like_planes(head)):
        return "xplane"
    json, protobuf = _looks_like_json(head), _looks_like_protobuf(head)
    if json and protobuf:  # a line feed is also the tag of a packet, and "{" its length
        return named if named in {"json", "pftrace"} else "json"
    if json or protobuf:
        return "json" if json else "pftrace"
    return named if named in {"json", "eventide"} else None


def _inflate(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(head, _HEAD)
    except zlib.error:
        return b""


def _looks_like_json(head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    inside = text[1:].lstrip(b" \t\r\n")
    return (text[:1] == b"{" and inside[:1] in {b'"', b"}", b""}) or (
        text[:1] == b"[" and inside[:1] in {b"{", b"]", b""}
    )


def _looks_like_planes(head: bytes) -> bool:
    """True for a profile of JAX: its first message starts with a number or with a printable name."""
    if head[:1] != b"\n":
        return False
    start = next((n for n, byte in enumerate(head[1:11], 2) if byte < 0x80), len(head))
    tag, letter = head[start : start + 1], head[start + 2 : start + 3]
    return tag == b"\x08" or (tag == b"\x12" and b" " <= letter <= b"~")


def _looks_like_protobuf(head: bytes) -> bool:
    """True for a Perfetto trace: packets, each a field 1 with its length, up to the end of the head."""
    at = 0
    while at < len(head):
        if head[at] != 0x0A:
            return False
        at, length, shift = at + 1, 0, 0
        while at < len(head):
            length |= (head[at] & 0x7F) << shift
            shift += 7
            at += 1
            if head[at - 1] < 0x80:
                break
        at += length
    return bool(head)
