"""`eventide trace recover`: the trace of a process that was killed, closed."""

from pathlib import Path
from typing import Annotated

import typer

from eventide.cli import _output
from eventide.cli._app import Json, trace_app


@trace_app.command()
def recover(
    trace: Annotated[Path, typer.Argument(help="The .eventide file of a process that was killed.")],
    as_json: Json = False,
) -> int:
    """Close the file of a killed process: move what its buffer still holds into it, and say what is missing."""
    import eventide as et
    from eventide.errors import UsageValueError
    from eventide.recording import recover_trace

    if trace.is_dir():
        raise UsageValueError(f"{str(trace)!r} is a directory; give the .eventide file of the process that was killed")
    try:
        recover_trace(trace)
    except OSError as error:
        remedy = "give the .eventide file of the process that was killed"
        raise UsageValueError(f"cannot recover {str(trace)!r}: {error.strerror}; {remedy}") from error
    opened = et.open_trace(trace)
    account, warnings = opened.metadata["account"], opened.metadata["warnings"]
    if as_json:
        _output.print_json({"path": str(trace), "account": account, "warnings": warnings})
        return 0
    counts = ", ".join(f"{number} {table}" for table, number in account["recorded"].items() if number) or "nothing"
    lines = [f"{trace}: {counts}", *warnings]
    _output.write_text("\n".join(lines))
    return 0
