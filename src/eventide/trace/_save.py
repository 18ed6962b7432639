"""Trace.save: calls the writer for the suffix; the file appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from errno import EIO, ENOENT
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.errors import TraceFileError, UsageTypeError, UsageValueError

if TYPE_CHECKING:
    from eventide.trace._trace import Trace

# The suffix, and the function below eventide.trace.formats that writes such a file: f(trace, path).
WRITERS = {
    ".pftrace": "perfetto._writer.write",
    ".perfetto-trace": "perfetto._writer.write",
    ".json": "chrome._writer.write",
    ".json.gz": "chrome._writer.write",
    ".parquet": "parquet.write",
}
# The same for a part of a trace, which cannot be read again.
EXPORTS = {".speedscope.json": "sampled.write_speedscope", ".collapsed": "sampled.write_collapsed"}
_CHOICE = "use .pftrace (to view), .json or .json.gz (for other tools) or .parquet (to keep)"


def save(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write the trace in the format of the path's suffix and return the path; an existing trace is replaced."""
    try:
        target = Path(path)
    except TypeError:
        raise UsageTypeError(f"save takes the path of a file, not {type(path).__name__}") from None
    writer = writer_of(target)
    _refuse_to_replace(target)
    if not target.parent.is_dir():
        raise TraceFileError(f"there is no directory {str(target.parent)!r}; make it first", ENOENT, str(target))
    try:
        with replacing(target) as temporary:
            module, _, write = writer.rpartition(".")
            getattr(import_module(f"eventide.trace.formats.{module}"), write)(trace, temporary)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        message = f"cannot write {str(target)!r}: {why}; name another file"
        raise TraceFileError(message, error.errno or EIO, str(target)) from error
    return target


def writer_of(target: Path) -> str:
    """The function that writes files with this suffix; UsageValueError if there is none."""
    name = target.name.lower()
    if name.endswith(".eventide"):
        raise UsageValueError(f"cannot save {target.name!r}: only a running recorder writes .eventide; {_CHOICE}")
    for suffix, writer in (EXPORTS | WRITERS).items():
        if name.endswith(suffix):
            return writer
    raise UsageValueError(f"{target.name!r} has no suffix of a format that is written; {_CHOICE}")


def _refuse_to_replace(target: Path) -> None:
    """A directory is replaced only if all of its entries are Parquet files."""
    if not target.is_dir():
        return
    foreign = next((entry.name for entry in target.iterdir() if entry.suffix != ".parquet"), None)
    if not target.name.lower().endswith(".parquet") or foreign is not None:
        holds = f" that holds {foreign!r}" if foreign else ""
        raise UsageValueError(f"{str(target)!r} is a directory{holds}, not a trace; choose another name")


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary name beside the target for the body to write to; renamed to the target, or removed on an error."""
    # It has the suffix of the target, because writers use it.
    temporary = target.with_name(f".{uuid.uuid4().hex[:12]}.{_tail(target.name)}")
    try:
        yield temporary
        if target.exists() and (target.is_dir() or temporary.is_dir()):  # a directory cannot be replaced in one step
            old = target.with_name(temporary.name + ".old")
            target.rename(old)
            temporary.rename(target)
            _remove(old)
        else:
            temporary.replace(target)
    finally:
        _remove(temporary)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _tail(name: str) -> str:
    suffixes = sorted(EXPORTS | WRITERS, key=len, reverse=True)
    return next(suffix for suffix in suffixes if name.lower().endswith(suffix)).lstrip(".")
