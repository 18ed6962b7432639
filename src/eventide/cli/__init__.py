"""The command line. Only this package prints and chooses exit codes: commands raise, `main` reports.

_main        errors and exit codes             _app             the application that commands attach to
_arguments   arguments of several commands     commands/        one file a command
_output      consoles, progress, JSON          demo/            what `eventide demo` measures
_findings_text   findings on a terminal
"""

from eventide.cli._main import main

__all__ = ["main"]
