"""Which files are the ranks of a job, and which rank a file is."""

from __future__ import annotations

import errno
import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventide.errors import TraceFileError, UsageValueError

SUFFIXES = (".json", ".json.gz", ".eventide", ".pftrace", ".pftrace.gz", ".perfetto-trace", ".parquet", ".xplane.pb")
_NAMED = re.compile(r"(?:rank|worker|process|node)[-_ =]?(\d{1,7})(?!\d)", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A file, and what names its content: a changed file is imported again."""

    source: str
    order: int
    bytes: int
    modified_ns: int
    named: int | None  # the rank in its name, used where the content has none

    def same_as(self, about: dict[str, Any]) -> bool:
        return (about.get("source"), about.get("bytes"), about.get("modified_ns")) == (
            self.source,
            self.bytes,
            self.modified_ns,
        )


def find_sources(given: list[str]) -> list[Source]:
    """The files behind paths, patterns and directories, by name with numbers in order; each file once."""
    paths: dict[Path, None] = {}
    for each in given:
        if not each:
            raise UsageValueError("a path of the traces is empty; name the files of the ranks")
        for path in _expand(each):
            paths.setdefault(path.resolve())
    if not paths:
        raise UsageValueError(
            "no trace is given; name the files of the ranks, for example: eventide job import rank*.json.gz -o job"
        )
    ordered = sorted(paths, key=lambda path: [_natural(part) for part in path.parts])
    return [_source(path, order) for order, path in enumerate(ordered)]


def _expand(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir() and not path.name.endswith(".parquet"):
        found = [each for each in path.iterdir() if each.name.lower().endswith(SUFFIXES)]
        if not found:
            raise UsageValueError(
                f"the directory {given!r} holds no trace ({', '.join(SUFFIXES)}); name the files of the ranks"
            )
        return found
    if path.exists():
        return [path]
    found = [Path(each) for each in glob.glob(given, recursive=True)]  # noqa: PTH207  (absolute patterns too)
    if not found:
        raise TraceFileError(f"there is no file {given!r}; name the files of the ranks", errno.ENOENT, given)
    return found


def _natural(text: str) -> list[tuple[int, int | str]]:
    """rank2 before rank10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", text) if part]


def _source(path: Path, order: int) -> Source:
    status = path.stat()
    names = _NAMED.findall(path.name) or _NAMED.findall(path.parent.name)
    return Source(str(path), order, status.st_size, status.st_mtime_ns, int(names[-1]) if names else None)
