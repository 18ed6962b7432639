"""What can be edited in a trace: `what_if(trace, scale("gemm*", 0.5), drop_sync())`.

A pattern is a name, or one with * and ?. It selects work of devices with that name; if there is none, host spans.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from eventide.analysis._view import Bools, Ints, View, line_of
from eventide.errors import UsageTypeError, UsageValueError


@dataclass(frozen=True)
class Edit:
    """One edit; made by the functions of this module. `str(edit)` is the call."""

    kind: str
    pattern: str = "*"
    factor: float = 1.0
    stream: str = ""
    other: str = ""
    count: int = 0

    def __str__(self) -> str:
        arguments = {
            "scale": f"{self.pattern!r}, {self.factor:g}",
            "move": f"{self.pattern!r}, {self.stream!r}",
            "launch_cost": f"{self.factor:g}",
            "faster_copies": f"{self.factor:g}",
            "queue_depth": f"{self.count}",
            "add_streams": f"{self.count}, {self.pattern!r}",
            "overlap": f"{self.pattern!r}, {self.other!r}",
        }.get(self.kind, "" if self.pattern == "*" else repr(self.pattern))
        return f"{self.kind}({arguments})"


def scale(pattern: str, factor: float) -> Edit:
    """What matches takes `factor` times as long."""
    return Edit("scale", _pattern(pattern), _factor(factor))


def remove(pattern: str) -> Edit:
    """What matches does not run. Of host code also what it launches and waits for is left out."""
    return Edit("remove", _pattern(pattern))


def drop_wait(pattern: str = "*") -> Edit:
    """Work that matches waits for no event of another stream."""
    return Edit("drop_wait", _pattern(pattern))


def drop_sync(pattern: str = "*") -> Edit:
    """Calls that match, by name or line (`train.py:42`), block the host no more: synchronizations, blocking copies."""
    return Edit("drop_sync", _pattern(pattern))


def move(pattern: str, to_stream: str | int) -> Edit:
    """Work that matches runs on another stream of its device: its name or number, or "new"."""
    if not isinstance(to_stream, (str, int)):
        raise UsageTypeError(f"to_stream must be a name or a number, not {type(to_stream).__name__}")
    return Edit("move", _pattern(pattern), stream=str(to_stream))


def launch_cost(factor: float) -> Edit:
    """Every launching call takes `factor` times as long."""
    return Edit("launch_cost", factor=_factor(factor))


def queue_depth(depth: int) -> Edit:
    """A launching call returns only when at most `depth` works of its stream are outstanding."""
    return Edit("queue_depth", count=_count(depth, "depth"))


def add_streams(count: int, pattern: str = "*") -> Edit:
    """Work that matches is spread, in turn, over its stream and `count` new ones."""
    return Edit("add_streams", _pattern(pattern), count=_count(count, "count"))


def faster_copies(factor: float) -> Edit:
    """Copies are `factor` times as fast."""
    if _factor(factor) == 0:
        raise UsageValueError("faster_copies(0) would never end; use a factor above 0, such as 2")
    return Edit("faster_copies", factor=float(factor))


def overlap(pattern: str, other: str) -> Edit:
    """Work that matches `pattern` does not wait for work that matches `other`, nor that for it: a stream of its own."""
    return Edit("overlap", _pattern(pattern), other=_pattern(other))


def fuse(pattern: str) -> Edit:
    """Kernels that match and follow each other on a stream are launched as one."""
    return Edit("fuse", _pattern(pattern))


def _pattern(value: str) -> str:
    if not isinstance(value, str):
        raise UsageTypeError(f"a pattern must be a str, not {type(value).__name__}")
    if not value:
        raise UsageValueError("the pattern is empty; use a name, or * for all")
    return value


def _factor(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageTypeError(f"a factor must be a number, not {type(value).__name__}")
    if not math.isfinite(value) or not 0 <= value <= 1e6:
        raise UsageValueError(f"a factor must be between 0 and 1,000,000, not {value!r}")
    return float(value)


def _count(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageTypeError(f"{name} must be an int, not {type(value).__name__}")
    if not 1 <= value <= 1_000_000:
        raise UsageValueError(f"{name} must be between 1 and 1,000,000, not {value}")
    return value


def named(view: View, pattern: str) -> Bools:
    """For each name of the view, whether the pattern selects it; only * and ? are special."""
    wanted = compiled(pattern)
    return np.array([name == pattern or bool(wanted.fullmatch(name)) for name in view.names], dtype=bool)


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern as an expression for a whole name."""
    text = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.compile(text, re.DOTALL)


def from_line(view: View, stacks: Ints, pattern: str) -> Bools:
    """Whether each of these stacks is of a line of the program that the pattern selects: `train.py:42`, or its path."""
    used, place = np.unique(stacks, return_inverse=True)
    wanted = compiled(pattern)
    found = np.zeros(len(used), dtype=bool)
    for n, stack in enumerate(used.tolist()):
        line = line_of(view, stack) or ""
        path = line.partition(" (")[0]
        found[n] = any(text and wanted.fullmatch(text) for text in (line, path, re.split(r"[/\\]", path)[-1]))
    return found[place]


def works_matching(view: View, rows: Ints, pattern: str) -> Ints:
    """Of these rows of work, those that the pattern selects."""
    return rows[named(view, pattern)[view.name[rows]]] if len(rows) else rows


def no_match(view: View, pattern: str, what: str) -> UsageValueError:
    """The error for a pattern that selects nothing of this kind."""
    if pattern == "*":
        return UsageValueError(f"the trace has no {what}")
    said = f"no {what} of the trace matches {pattern!r}"
    if named(view, pattern).any():
        return UsageValueError(f"{said}; what matches is something else")
    near = get_close_matches(pattern.strip("*"), [name[:80] for name in view.names if name], 1, 0.4)
    return UsageValueError(
        f"{said}{f'; did you mean {near[0]!r}?' if near else '; see eventide trace summary for the names'}"
    )
