"""Whether the program that begins will declare accesses: then hand-over is traced from its first line.

A lock that is made before tracing begins is not traced, and programs make locks at the top of a file, before the first
declaration. A program that declares nothing keeps its unchanged locks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

_DECLARES = re.compile(rb"\b(?:reads|writes|host_access)\b|\bet\.empty\b")
_MOST_FILES, _MOST_BYTES = 200, 1 << 20


def declares_accesses(arguments: Sequence[str] | None = None) -> bool:
    """True if the main file, or one beside it, uses eventide and names accesses; arguments: the interpreter's."""
    with suppress(OSError, ValueError):
        for file in islice(_files(sys.orig_argv[1:] if arguments is None else arguments), _MOST_FILES):
            with file.open("rb") as opened:
                text = opened.read(_MOST_BYTES)
            if b"eventide" in text and _DECLARES.search(text):
                return True
    return False


def _files(arguments: Sequence[str]) -> Iterator[Path]:
    main = _main(arguments)
    if main is not None:
        yield main
        yield from filter(Path.is_file, main.parent.glob("*.py"))  # a pipe would be read for ever


def _main(arguments: Sequence[str]) -> Path | None:
    rest = iter(arguments)
    for argument in rest:
        if argument == "-m":
            module = next(rest, "").replace(".", "/")
            return next((path for path in (Path(f"{module}.py"), Path(module, "__main__.py")) if path.is_file()), None)
        if argument in {"-W", "-X"}:
            next(rest, None)
        elif not argument.startswith("-"):
            path = Path(argument)
            return path / "__main__.py" if path.is_dir() else path if path.is_file() else None
        elif argument == "-c":
            return None
    return None
