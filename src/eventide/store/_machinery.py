"""Which frames of a stack are the program's, and which only carried it out."""

from __future__ import annotations

from pathlib import Path

_FRAMEWORKS = ("-packages/eventide/", "-packages/pyopencl/", "-packages/torch/")
_PACKAGE = str(Path(__file__).resolve().parents[1])


def is_machinery(file: str) -> bool:
    """True for files of this package, of an importer, and of frameworks that an adapter hears."""
    return file.startswith((_PACKAGE, "<frozen ", "<generated: 'pyopencl")) or any(one in file for one in _FRAMEWORKS)
