"""Work with declared accesses, for tests of the sanitizer."""

from __future__ import annotations

from typing import Any

import eventide as et


@et.work(name="fill", writes="array")
def fill(array: Any) -> None:
    """Write every element."""
    array[:] = 1


@et.work(name="total", reads="array")
def total(array: Any) -> float:
    """Read every element."""
    return float(array.sum())
