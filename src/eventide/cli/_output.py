"""Where output goes: results to stdout, progress and errors to stderr, `--json` as one object."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # rich is imported where it is used: `eventide run -q` prints nothing
    from rich.console import Console, RenderableType

Step = Callable[[str], None]  # called before each step of long work, with its description
# Names are printed unchanged: no colours for numbers, and ":x:" is not an emoji.
_PLAIN: dict[str, Any] = {"highlight": False, "emoji": False}


def stdout() -> "Console":
    """The console for results."""
    from rich.console import Console

    return Console(**_PLAIN)


def stderr() -> "Console":
    """The console for what accompanies the output of a program; 100 columns if it is not a terminal."""
    from rich.console import Console

    console = Console(stderr=True, **_PLAIN)
    wide = console.is_terminal or "COLUMNS" in os.environ
    return console if wide else Console(stderr=True, width=100, **_PLAIN)


def flush() -> None:
    """Flush stdout; a process may have been started without one."""
    if sys.stdout is not None:
        sys.stdout.flush()


def say(line: str) -> None:
    """Print a line to stderr; without a stderr, or if it cannot be written, there is no other place."""
    with suppress(OSError):
        if sys.stderr is not None:
            print(line, file=sys.stderr)


def finish_stderr() -> None:
    """Flush stderr, or discard it: at exit Python would fail again and change the exit code to 120."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Redirect `stream` to /dev/null, with what it has buffered."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def progress(total: int) -> Iterator[Step]:
    """Show a bar on stderr while the body runs, if stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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


@contextmanager
def counted(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr for work of a known number of parts: done, total, the name of the latest."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:28}"), BarColumn(None), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def step(done: int, total: int, latest: str) -> None:
            bar.update(task, description=latest[-28:] or what, completed=done, total=total)

        yield step


def write_text(text: "RenderableType", path: Path | None = None) -> None:
    """Print with rich, or write to a file; 100 columns if the output is not a terminal. A str is no markup."""
    from rich.text import Text

    from eventide.report import as_text, write_whole

    text = Text(text) if isinstance(text, str) else text
    console = stdout()
    if path is not None:
        write_whole(as_text(text), path)
    elif console.is_terminal or "COLUMNS" in os.environ:
        console.print(text)
    else:
        print(as_text(text), end="")


def print_json(result: Any) -> None:
    """Print a frozen result, or a list of them, as JSON."""
    print(json.dumps(result, indent=2, default=_plain))


def write_json(result: Any, path: Path) -> None:
    """Write a result to a file, completely or not at all."""
    from eventide.report import write_whole

    write_whole(json.dumps(result, indent=2, default=_plain) + "\n", path)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)
