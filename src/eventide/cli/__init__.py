"""The command line: the one place that prints and knows exit codes. Commands raise, `main` tells.

_main       errors and exit codes        _app           what commands attach themselves to
_output     consoles, progress, JSON     commands/      a command and its options, each
_run, _check, _conformance, _devices, _trace_files, _findings_text      what commands of these names do
demo/       `eventide demo`
"""

from eventide.cli._main import main

__all__ = ["main"]
