"""Where a run is recorded to: checked before the program starts, since it may run for hours."""

from __future__ import annotations

import errno
import itertools
import time
from contextlib import suppress
from pathlib import Path

from eventide.errors import TraceFileError, UsageValueError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_ENOUGH = 4096  # bytes: a recording that has only begun


class DiskFullError(TraceFileError):
    """There is no space to record to; the program runs all the same."""


def reserve(name: str) -> Path:
    """Create NAME-20261118-142501.eventide in this folder, empty; with _2 and so on if another run has that name."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in itertools.count(1):
        path = Path(f"{stem}.eventide" if number == 1 else f"{stem}_{number}.eventide")
        if path.with_suffix("").exists():  # the directory of a run with several processes
            continue
        try:
            path.open("xb").close()
        except FileExistsError:
            continue
        except OSError as error:
            raise _cannot_write(path, error) from error
        return path
    raise AssertionError  # unreachable: count() has no end


def recording_path(output: Path) -> Path:
    """Where the recorder writes: the output itself, or beside it if that has another format."""
    if output.is_dir() and output.suffix != ".parquet":
        raise UsageValueError(f"{output} is a directory; name a file, such as {output / 'run.eventide'}")
    if not output.absolute().parent.is_dir():
        message = f"there is no directory {output.parent} to write {output.name} to; create it first"
        raise TraceFileError(message, errno.ENOENT, str(output))
    path = output.absolute()
    if path.suffix != ".eventide":
        from eventide.trace import writer_of

        try:
            writer_of(path)  # now: the program may run for hours
        except UsageValueError as error:
            raise UsageValueError(f"{error}, or .eventide (as recorded)") from error
        path = path.with_name(path.name + ".eventide")
    _try_to_write(path)
    return path


def _try_to_write(path: Path) -> None:
    """Raise now rather than after the program. An existing file is not changed."""
    existed = path.exists()
    try:
        with path.open("ab", buffering=0) as file:
            if not path.is_file() or not path.stat().st_size:
                file.write(bytes(_ENOUGH))
                file.truncate(0)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        if not existed:
            with suppress(OSError):
                path.unlink()


def _cannot_write(path: Path, error: OSError) -> TraceFileError:
    number = error.errno or errno.EIO
    if number in _FULL:
        return DiskFullError(f"cannot write {path}: {error.strerror}; free some space", number, str(path))
    return TraceFileError(f"cannot write {path}: {error.strerror}; name another file with --output", number, str(path))
