"""Rules about the file: what follows is about a part of the program."""

from __future__ import annotations

from collections.abc import Iterator

from eventide.analysis import cut_short
from eventide.report._gather import Report
from eventide.report.rules._facts import is_torch
from eventide.report.rules._rule import Match, rule


@rule(
    "cut-file",
    condition=(
        "The end of the file could not be read, rows are missing, or one of torch.profiler has no closing brackets."
    ),
    says=(
        "The file was cut: {why}. Times, counts and idle shares below are those of the part that is left"
        "[; {device_work}]."
    ),
    remedy="Record again, or copy the whole file.",
)
def cut_file(report: Report) -> Iterator[Match]:
    """Before all others."""
    why = cut_short(report.metadata)
    if why is not None:
        comes_last = "device work comes last in a file of torch.profiler, so most of it may be missing"
        values = {
            "why": why,
            "lost_bytes": (report.metadata.get("account") or {}).get("lost_bytes") or 0,
            "device_work": comes_last if is_torch(report.metadata) else None,
        }
        yield Match(1.0, values, weight=9.0)
