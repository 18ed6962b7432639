"""The usual command lines of `eventide run`, without typer: its import takes longer than a small program.

`parsed` accepts what needs no explanation; for all else (other options, errors, --help) it returns None, and the
application parses the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_FLAGS = {"-q": "quiet", "--quiet": "quiet", "--ring": "ring", "--open": "open_browser"}
_DATA = frozenset({".json", ".gz", ".eventide", ".parquet", ".pftrace"})  # no programs: the application explains


def _number(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1e9:
        raise ValueError(text)
    return value


def _follow(text: str) -> str:
    if text not in {"yes", "no"}:
        raise ValueError(text)
    return text


_VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "-o": ("output", Path),
    "--output": ("output", Path),
    "--sample": ("sample", _number),
    "--seconds": ("seconds", _number),
    "--children": ("children", _follow),
    "--report": ("report", Path),
    "--json": ("as_json", str),
}


def parsed(arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]] | None:
    """The program and the options of `eventide run`, or None."""
    if list(arguments[:1]) != ["run"] or "_EVENTIDE_COMPLETE" in os.environ:
        return None
    options: dict[str, Any] = {}
    rest = list(arguments[1:])
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word in _FLAGS:
            options[_FLAGS[word]] = True
            continue
        if not rest or not rest[0] or rest[0].startswith("-"):
            return None
        if word == "-m":
            options["module"] = rest.pop(0)
            return None if rest[:1] == ["--"] else (rest, options)
        if word not in _VALUES:
            return None
        name, convert = _VALUES[word]
        try:
            options[name] = convert(rest.pop(0))
        except ValueError:
            return None
    if not rest or not rest[0] or Path(rest[0]).suffix in _DATA or rest[1:2] == ["--"]:
        return None
    return rest, options
