"""Runs the command line: all commands, and what their errors and results become.

Exit codes: 0 success, 1 findings, 2 wrong usage or an error. As in a shell, 130 is Ctrl-C and 141 means that the reader
of the output has closed it.
"""

import errno
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import cast

import typer

from eventide.cli import _output
from eventide.cli._app import app

# Importing a command attaches it to the application.
from eventide.cli.commands import (  # noqa: F401
    _analyses,
    _check,
    _conformance,
    _convert,
    _demo,
    _devices,
    _explain,
    _job,
    _metrics,
    _recover,
    _report,
    _run,
    _sql,
    _view,
    _what_if,
)
from eventide.errors import EventideError

# The class that typer raises for a wrong command line. Newer versions contain a copy of click, older ones import it,
# and neither exports this class.
_CommandLineError = cast(type[Exception], typer.BadParameter.__mro__[2])
_FULL = {errno.ENOSPC, errno.EDQUOT}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (sys.argv when none is given) and return the exit code."""
    code = _exit_code(arguments)
    _output.finish_stderr()
    return code


def report_error(error: BaseException) -> int:
    """The exit code for an error of a command, which is printed."""

    def fail() -> None:
        raise typer.Abort() if isinstance(error, KeyboardInterrupt) else error

    return _outcome(fail)


def _exit_code(arguments: Sequence[str] | None) -> int:
    return _outcome(lambda: app(args=arguments, prog_name="eventide", standalone_mode=False))


def _outcome(command: Callable[[], object]) -> int:
    try:
        code = command()
        _output.flush()  # now: of a later error Python would choose the exit code
    except _CommandLineError as error:
        return _fail(_describe(error))
    except typer.Abort:
        return _fail("interrupted", 130)
    except EventideError as error:
        return _fail(str(error))
    except (BrokenPipeError, SystemExit) as error:  # the second is what rich and typer make of the first
        return _unread(error)
    except Exception as error:  # noqa: BLE001 - the last line of defence: say whose fault it is
        if isinstance(error, OSError) and error.errno in _FULL:
            return _fail(f"cannot write the output: {error.strerror}; free some space, or write elsewhere")
        traceback.print_exc()
        return _fail(f"internal error, {error!r}; please report this with the lines above")
    return code if isinstance(code, int) else 0


def _describe(error: Exception) -> str:
    """One line for a wrong command line, which ends in the remedy."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "eventide"
    return f"{message.rstrip('.') or 'name one of its commands'} (see '{command} --help')"


def _unread(error: BaseException) -> int:
    """The reader has closed stdout: discard the rest, also what Python flushes at exit."""
    if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
        raise error
    _output.discard(sys.stdout)
    return 128 + signal.SIGPIPE


def _fail(message: str, code: int = 2) -> int:
    _output.say(f"eventide: {' '.join(message.split())}")
    return code
