"""Arguments that several commands share: a program to run, a trace to open, --json."""

import errno
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand

from eventide.cli import _output
from eventide.errors import TraceFileError, UsageValueError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
_FORMATS = ".json, .json.gz, .eventide, .parquet or .pftrace"
TracePath = Annotated[Path, typer.Argument(help=f"A trace: {_FORMATS}.")]
NewestTrace = Annotated[
    Path | None,
    typer.Argument(help=f"A trace: {_FORMATS}; default: the newest .eventide file in this folder.", show_default=False),
]


_OF_PYTHON = frozenset({"-B", "-E", "-I", "-O", "-P", "-S", "-W", "-X", "-b", "-c", "-d", "-i", "-s", "-u", "-v"})
_DATA = frozenset({".json", ".gz", ".eventide", ".parquet", ".pftrace"})


class ProgramCommand(TyperCommand):
    """A command that runs a program. As with python, what follows -m MODULE or the script belongs to it.

    A file of data takes no arguments: options may follow it, as they may follow the trace of other commands.
    """

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        flags = {name for one in self.params for name in one.opts if getattr(one, "is_flag", False)}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] not in {"-", "--"}:
            if args[place] == "-m" and place + 1 < len(args):
                args = [*args[: place + 2], "--", *args[place + 2 :]]
                break
            if args[place][:2] in _OF_PYTHON and ctx.info_name == "run":
                raise UsageValueError(
                    f"{args[place]} is an option of Python; name the interpreter: eventide run python {args[place]} ..."
                )
            place += 1 if args[place] in flags or "=" in args[place] else 2
        if place < len(args) and Path(args[place]).suffix in _DATA:
            ctx.allow_interspersed_args = True
        return super().parse_args(ctx, args)


def trace_or_newest(given: Path | None) -> Path:
    """The trace to open: the given one, or the newest recording in the current folder, which is named on stderr.

    A run of several processes is a directory with the recording of each.
    """
    if given is not None:
        return given
    found = []
    for path in (*Path().glob("*.eventide"), *(folder for folder in Path().iterdir() if is_run(folder))):
        status = path.stat()
        if path.is_dir() or (
            path.is_file() and status.st_size
        ):  # an empty one is of a run that has recorded nothing yet
            found.append((status.st_mtime_ns, path.name, path))
    if not found:
        message = f"there is no .eventide file in {Path.cwd()}; name a trace, or record one: eventide run script.py"
        raise TraceFileError(message, errno.ENOENT, str(Path.cwd()))
    newest = max(found)[2]
    _output.say(f"eventide: opening {newest}, the newest recording in this folder")
    return newest


def is_run(path: Path) -> bool:
    """Whether this is the directory of a run with several processes."""
    return path.is_dir() and not path.is_symlink() and any(path.glob("main-*.eventide"))
