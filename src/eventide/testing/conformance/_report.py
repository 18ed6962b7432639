"""The results: an Outcome for each check, a Report for the device, and its row for the table of verified devices."""

from __future__ import annotations

import errno
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from eventide.errors import TraceFileError, UsageValueError

Status = Literal["passed", "skipped", "failed"]
HEADER = ("device", "what it is", "eventide", "date", "passed", "skipped", "failed")


@dataclass(frozen=True)
class Outcome:
    """One check on one device."""

    promise: str  # its name in docs/semantics.md
    check: str  # a sentence
    status: Status
    why: str  # of a skip or a failure
    seconds: float


@dataclass(frozen=True)
class Report:
    """All checks on one device."""

    device: str  # "cpu:0"
    description: str  # of the device, by itself
    version: str  # of eventide
    date: str  # of the run, as in 2026-01-31
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> tuple[Outcome, ...]:
        """What the device does right."""
        return self._with("passed")

    @property
    def skipped(self) -> tuple[Outcome, ...]:
        """What the device does not claim to do."""
        return self._with("skipped")

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """What the device does wrong."""
        return self._with("failed")

    @property
    def skips(self) -> dict[str, int]:
        """How many checks were skipped for each reason."""
        return dict(Counter(outcome.why for outcome in self.skipped))

    def row(self) -> str:
        """A row of the table of verified devices, in Markdown."""
        skips = "; ".join(f"{count} {why}" for why, count in self.skips.items()) or "-"
        fails = "; ".join(f"{one.promise}: {one.check}" for one in self.failed) or "-"
        cells = (self.device, self.description, self.version, self.date, str(len(self.passed)), skips, fails)
        return _line(cells)

    def save(self, path: str | Path) -> None:
        """Put the row into the table of a Markdown file, in place of an older one of the same device.

        A missing file is created; one without such a table gets it at its end. TraceFileError if it cannot be written.
        """
        file = Path(path)
        if file.is_dir():
            raise UsageValueError(f"{file} is a directory; name a Markdown file, such as verified.md")
        try:
            lines = file.read_text("utf-8").splitlines() if file.exists() else []
            file.write_text("\n".join(self._put_row(lines)) + "\n", "utf-8")
        except OSError as error:
            message = f"cannot write {file}: {error.strerror}; name another file"
            raise TraceFileError(message, error.errno or errno.EIO, str(file)) from error

    def _put_row(self, lines: list[str]) -> list[str]:
        """The lines with the row in the table."""
        header = _line(HEADER)
        if header not in lines:
            lines = [*lines, *([""] if lines else []), header, _line(("---",) * len(HEADER))]
        first = lines.index(header) + 2
        last = first
        while last < len(lines) and lines[last].startswith("|"):
            last += 1
        key = _line((self.device, self.description)) + " "
        rows = [row for row in lines[first:last] if not row.startswith(key)]
        return [*lines[:first], *sorted([*rows, self.row()]), *lines[last:]]

    def _with(self, status: str) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status == status)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"
