"""The command line. Only this package prints and chooses exit codes: commands raise, `main` reports.

_main        errors and exit codes             _app             the application that commands attach to
_quick       usual lines of `eventide run`     _run_program     `eventide run`
_arguments   arguments of several commands     commands/        one file a command
_output      consoles, progress, JSON          demo/            what `eventide demo` measures
_files       names of files                    _attach_program  `eventide run --pid`
_findings_text   findings on a terminal        _trace_server    serves a trace to the Perfetto UI
"""

import sys
from collections.abc import Sequence

from eventide.cli._quick import parsed

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (sys.argv when none is given) and return the exit code."""
    quick = parsed(sys.argv[1:] if arguments is None else arguments)
    if quick is None:
        from eventide.cli._main import main

        return main(arguments)
    from eventide.cli import _output
    from eventide.cli._run_program import run_program

    program, options = quick
    try:
        code = run_program(program, **options)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - _main reports it, as that of any command
        from eventide.cli._main import report_error

        code = report_error(error)
    _output.finish_stderr()
    return code
