"""Suppressions: findings that are known and accepted, each with the reason.

In ``pyproject.toml``, or in a TOML file of its own with ``[[suppress]]`` tables::

    [[tool.eventide.sanitizer.suppress]]
    kind = "race"
    function = "refresh_*"
    reason = "statistics may be one step old"
"""

from __future__ import annotations

import errno
import fnmatch
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventide.errors import TraceFileError, UsageTypeError, UsageValueError
from eventide.sanitizer._finding import KINDS, Finding

CONDITIONS = ("fingerprint", "kind", "function", "file")


@dataclass(frozen=True, slots=True)
class Suppression:
    """Matches a finding if all given conditions match; `function` and `file` are globs for either side."""

    reason: str
    fingerprint: str = ""
    kind: str = ""
    function: str = ""  # the name of the work, or a function of its stack
    file: str = ""  # of a frame: the whole path, the path relative to the current folder, or the name
    source: str = ""  # the file or argument that it comes from

    def __post_init__(self) -> None:
        here = f" ({self.source})" if self.source else ""
        for name in ("reason", *CONDITIONS):
            if not isinstance(getattr(self, name), str):
                raise UsageTypeError(f"{name} of a suppression is text, not {type(getattr(self, name)).__name__}{here}")
        if not any(getattr(self, name) for name in CONDITIONS):
            raise UsageValueError(f"a suppression needs one of {', '.join(CONDITIONS)}{here}")
        if not self.reason.strip():
            raise UsageValueError(f"a suppression needs a reason: why is {self.conditions} acceptable?{here}")
        if self.kind and not any(fnmatch.fnmatchcase(kind, self.kind) for kind in KINDS):
            raise UsageValueError(f"there is no finding of kind {self.kind!r}; there are {', '.join(KINDS)}{here}")

    @property
    def conditions(self) -> str:
        """``kind='race', file='a.py'``"""
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in CONDITIONS if getattr(self, name))

    def matches(self, finding: Finding) -> bool:
        """True if every condition matches."""
        if self.fingerprint and finding.fingerprint != self.fingerprint:
            return False
        if self.kind and not fnmatch.fnmatchcase(finding.kind, self.kind):
            return False
        sides = [side for side in (finding.first, finding.second) if side is not None]
        frames = [frame for side in sides for frame in side.stack]
        if self.function:
            names = {side.name for side in sides} | {frame[2] for frame in frames}
            if not any(fnmatch.fnmatchcase(name, self.function) for name in names if name):
                return False
        return not self.file or any(_file_matches(frame[0], self.file) for frame in frames)


Suppress = str | Path | Suppression | Mapping[str, str] | Iterable[Suppression | Mapping[str, str]] | None
"""What the argument `suppress` takes: a TOML file, suppressions, or None for the nearest pyproject.toml."""


def _file_matches(path: str, pattern: str) -> bool:
    forms = (path, os.path.relpath(path) if path.startswith(os.sep) else path, Path(path).name)
    return any(fnmatch.fnmatchcase(form, pattern) for form in forms)


def load(given: Suppress) -> tuple[Suppression, ...]:
    """The suppressions of an argument: None is the nearest pyproject.toml, a path is a TOML file."""
    if given is None:
        return from_project(Path.cwd())
    if isinstance(given, str | Path):
        return from_file(Path(given))
    if isinstance(given, Suppression | Mapping):
        return (_one(given, ""),)
    if isinstance(given, Iterable):
        return tuple(_one(item, f"suppress[{i}]") for i, item in enumerate(given))
    raise UsageTypeError(f"suppress takes a path, Suppressions or dicts, not {type(given).__name__}")


def from_project(start: Path) -> tuple[Suppression, ...]:
    """Those of the nearest pyproject.toml at or above `start`; without one, none."""
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            return from_file(path)
    return ()


def from_file(path: Path) -> tuple[Suppression, ...]:
    """Those of one TOML file."""
    import tomllib

    try:
        document: Any = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        message = f"suppressions cannot be read from {path}: {error.strerror}; check the path"
        raise TraceFileError(message, error.errno or errno.EIO, str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageValueError(f"{path} is not TOML: {error}") from error
    heading = ""
    for name in ("tool", "eventide", "sanitizer") if path.name == "pyproject.toml" else ():
        heading = f"{heading}.{name}".lstrip(".")
        document = document.get(name, {})
        if not isinstance(document, Mapping):
            raise UsageValueError(f"{path}: {heading} is a table, not {document!r}")
    unknown = sorted(set(document) - {"suppress"})
    if unknown:
        raise UsageValueError(f"{path} has no setting {unknown[0]!r} for the sanitizer; it has suppress")
    rules = document.get("suppress", [])
    if not isinstance(rules, list):
        raise UsageValueError(f"{path}: suppress is a list of tables, [[suppress]], not {rules!r}")
    return tuple(_one(item, f"{path}, suppress {i + 1}") for i, item in enumerate(rules))


def _one(item: object, source: str) -> Suppression:
    if isinstance(item, Suppression):
        return item
    if not isinstance(item, Mapping):
        raise UsageTypeError(f"a suppression is a table of conditions and a reason, not {type(item).__name__}")
    unknown = sorted(set(map(str, item)) - {*CONDITIONS, "reason"})
    if unknown:
        known = ", ".join((*CONDITIONS, "reason"))
        raise UsageValueError(f"a suppression has no {unknown[0]!r}; it has {known}{f' ({source})' if source else ''}")
    return Suppression(**{"reason": "", **dict(item)}, source=source)
