"""`eventide trace recover`: complete the trace of a process that was killed."""

from pathlib import Path
from typing import Annotated

import typer

from eventide._util import format as fmt
from eventide.cli import _output
from eventide.cli._app import trace_app
from eventide.cli._arguments import Json, trace_or_newest
from eventide.errors import UsageValueError


@trace_app.command()
def recover(
    trace: Annotated[
        Path | None,
        typer.Argument(
            help="The .eventide file of a process that was killed; default: the newest in this folder.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Complete the file of a process that was killed with the records of its buffer, and report what is missing."""
    import eventide as et
    from eventide.recording import recover_trace

    path = trace_or_newest(trace)
    if path.is_dir():
        raise UsageValueError(f"{str(path)!r} is a directory; give the .eventide file of the process that was killed")
    recover_trace(path)
    opened = et.open_trace(path)
    account, warnings = opened.metadata["account"], opened.metadata["warnings"]
    if as_json:
        _output.print_json({"path": str(path), "account": account, "warnings": warnings})
        return 0
    lines = [f"{path}: {fmt.counts(account['recorded'])}", *warnings]
    _output.write_text("\n".join(lines))
    return 0
