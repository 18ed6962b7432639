"""Where output goes: results to stdout, progress and errors to stderr, `--json` as one object."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eventide.errors import UsageValueError

Step = Callable[[str], None]  # called before each step of long work, with what comes next
# Names stand as they are: no colours for numbers, and ":x:" is part of a name, not a picture.
_PLAIN: dict[str, Any] = {"highlight": False, "emoji": False}


def stdout() -> Console:
    """Console for results; numbers and names keep their colour to themselves."""
    return Console(**_PLAIN)


def stderr() -> Console:
    """Console for what stands beside a program's own output; 100 columns where no terminal says how wide."""
    console = Console(stderr=True, **_PLAIN)
    wide = console.is_terminal or "COLUMNS" in os.environ
    return console if wide else Console(stderr=True, width=100, **_PLAIN)


def flush() -> None:
    """Write what was printed; a program may have been started without a stdout."""
    if sys.stdout is not None:
        sys.stdout.flush()


def say(line: str) -> None:
    """A line on stderr, if there is one and it takes it: there is nowhere else to say that it does not."""
    with suppress(OSError):
        if sys.stderr is not None:
            print(line, file=sys.stderr)


def finish_stderr() -> None:
    """Write what stderr holds, or discard it: at exit Python would try again, fail, and make the exit code 120."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send what `stream` holds, and all that follows, nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def progress(total: int) -> Iterator[Step]:
    """Show a bar on stderr while the body runs, if a person is looking."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:28}"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        done = -1

        def step(description: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, description=description, completed=done)

        yield step


def write_text(text: RenderableType, path: Path | None = None) -> None:
    """Print what rich can draw, or write it to a file; where nobody's terminal says how wide, 100 columns."""
    if path is not None:
        try:
            with path.open("w", encoding="utf-8") as file:
                Console(file=file, width=100, color_system=None, **_PLAIN).print(text)
        except OSError as error:
            raise UsageValueError(f"{path} cannot be written: {error.strerror}; name another file") from error
        return
    console = stdout()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(width=100, **_PLAIN)
    console.print(text)


def print_json(result: Any) -> None:
    """Print a frozen result, or a list of them, as JSON."""
    print(json.dumps(result, indent=2, default=_plain))


def write_json(result: Any, path: Path) -> None:
    """Write a result to a file, whole or not at all."""
    try:
        part = path.with_name(f"{path.name}.part")
        part.write_text(json.dumps(result, indent=2, default=_plain) + "\n", "utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageValueError(f"{path} cannot be written: {error.strerror}; name another file") from error


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)
