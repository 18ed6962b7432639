"""The recordings of the child processes of a run: a directory, with that of the program in it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eventide.errors import EventideError, UsageValueError

if TYPE_CHECKING:
    from eventide.analysis import Processes
    from eventide.trace import Trace

_MOST = 64  # recordings that are opened for the summary: the largest
_TIMEOUT = 0.5  # seconds for children that end with the program, such as a server of forks
_PID = re.compile(r"-(\d+)(_\d+)?\.eventide")


def folder_for(output: Path, *, named: bool) -> Path:
    """Where children are recorded: NAME-DATE/ for NAME-DATE.eventide; t-children/ if t.pftrace was given."""
    path = output.absolute()
    if not named:
        return path.with_suffix("")
    return path.with_name(f"{path.name.split('.')[0]}-children")


def clear(folder: Path) -> None:
    """Remove the recordings of an earlier run with the same output; other files are not ours."""
    if not folder.is_dir():
        return
    foreign = next((one.name for one in folder.iterdir() if one.suffix != ".eventide"), None)
    if foreign is not None:
        raise UsageValueError(
            f"{folder} holds {foreign!r}, and child processes would be recorded there; name another --output, "
            "or use --children no"
        )
    for one in folder.iterdir():
        one.unlink()


def recordings_in(folder: Path) -> list[Path]:
    """The files of the children, once those that end with the program have ended."""
    if not folder.is_dir():
        return []
    deadline = time.monotonic() + _TIMEOUT
    while any(map(_runs, folder.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.01)
    return sorted(one for one in folder.iterdir() if one.suffix == ".eventide" and one.stat().st_size)


def _runs(path: Path) -> bool:
    """Whether the process of a recording still runs. One that has ended and was not waited for does not."""
    found = _PID.search(path.name)
    with suppress(OSError):
        if found is not None:
            state = Path(f"/proc/{found[1]}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            return state not in {"Z", "X"}
    return False


def opened_with(program: Sequence[tuple[str, Trace]], files: Sequence[Path]) -> list[tuple[str, Trace]]:
    """The recording of the program and the largest of those of its children. A damaged one does not hide the others."""
    return [*program, *_opened(_largest(files)[:_MOST])]


def summarized(opened: Sequence[tuple[str, Trace]], files: Sequence[Path], code: int | None) -> Processes:
    """The processes of a run, from what opened_with() returned; `files` are those of all children."""
    from eventide.analysis import processes

    others = {int(found[1]): str(file) for file in _largest(files)[_MOST:] if (found := _PID.search(file.name))}
    return processes(opened, others, code)


def _largest(files: Sequence[Path]) -> list[Path]:
    return sorted(files, key=lambda file: -file.stat().st_size)


def recordings_of(run: Path) -> tuple[list[tuple[str, Trace]], list[Path]]:
    """The recording of the program in the directory of a run, opened, and the files of its children."""
    files = recordings_in(run)
    main = next((file for file in files if file.name.startswith("main-")), None)
    opened = list(_opened([main])) if main is not None else []
    return opened, [file for file in files if file != main]


def _opened(files: Sequence[Path]) -> Iterator[tuple[str, Trace]]:
    from eventide.trace import open_trace

    for file in files:
        with suppress(EventideError):
            yield str(file), open_trace(file)


def moved(raw: Path, folder: Path, pid: int, number: int) -> Path:
    """Move a recording of the program to those of its children."""
    target = folder / f"main-{pid}{'' if number == 1 else f'_{number}'}.eventide"
    os.replace(raw, target)  # noqa: PTH105 - the same, and shorter
    return target
