"""Which frames of a stack are the program's, and which are internal."""

from __future__ import annotations

import os
from pathlib import Path

_FRAMEWORKS = ("-packages/eventide/", "-packages/pyopencl/", "-packages/torch/")
_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
_EXAMPLES = "/eventide/examples/"  # programs in the wheel, for users to run and read


def is_internal_frame(file: str) -> bool:
    """True for files of this package, of an importer, and of frameworks that an integration traces."""
    if _EXAMPLES in file:
        return False
    return file.startswith((_PACKAGE, "<frozen ", "<generated: 'pyopencl")) or any(one in file for one in _FRAMEWORKS)


def is_own_frame(file: str) -> bool:
    """True for files of this package; outermost in a stack they are what we run at exit and in threads of our own."""
    return file.startswith(_PACKAGE) or "-packages/eventide/" in file
