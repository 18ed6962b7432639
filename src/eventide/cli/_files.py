"""Files that a command is given. `eventide run` uses it too, so it imports no typer."""

import errno
from pathlib import Path

from eventide.errors import TraceFileError


def require_file(path: str, command: str) -> None:
    """Raise if there is no such file, with a hint if the name may be that of a module."""
    if Path(path).exists():
        return
    parts = path.split(".")
    module = all(part.isidentifier() for part in parts) and parts[-1] not in {"py", "eventide", "json", "pftrace"}
    hint = f"; to {command} a module, use: eventide {command} -m {path}" if module else "; check the path"
    raise TraceFileError(f"there is no file {path}{hint}", errno.ENOENT, path)
