"""What `eventide run NAME` starts: a script, a command that is written in Python, or another program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from eventide.errors import UsageValueError

_EXEC = str(Path(__file__).with_name("_exec.py"))


def command_of(program: Sequence[str]) -> list[str] | None:
    """Arguments of the interpreter for a command of PATH or a program that is not Python; None: it is a script."""
    name = program[0]
    path = Path(name)
    if not path.exists():
        found = None if os.sep in name else shutil.which(name)
        if found is None:
            return None
        path = Path(found)
        if path.parent.absolute() == Path(sys.executable).parent and _is_python(_head(path)):
            return [str(path), *program[1:]]  # such as torchrun, of this environment
    elif not (path.is_file() and os.access(path, os.X_OK) and path.suffix != ".py"):
        return None
    head = _head(path)
    if path == Path(name) and (_is_python(head) or not head.startswith((b"#!", b"\x7fELF"))):
        return None
    return [_EXEC, str(path) if path == Path(name) and os.sep not in name else name, *program[1:]]


def is_python(command: Sequence[str]) -> bool:
    """Whether the program itself is recorded; else its Python processes are."""
    return command[0] != _EXEC


def refuse_options(name: str, **options: bool) -> None:
    """Raise for options that only a Python program can follow; the names have _ for -."""
    if given := next((option.replace("_", "-") for option, value in options.items() if value), None):
        raise UsageValueError(
            f"--{given} needs a Python program, and {name} is not one: its Python processes are recorded, as children"
        )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.readline(200)
    except OSError:
        return b""


def _is_python(head: bytes) -> bool:
    return head.startswith(b"#!") and b"python" in head
