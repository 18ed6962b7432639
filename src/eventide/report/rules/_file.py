"""Rules about the file: what follows is about a part of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eventide.report._gather import Report
from eventide.report.rules._facts import is_torch
from eventide.report.rules._rule import Match, rule


def cut_short(metadata: Mapping[str, Any]) -> str | None:
    """Why the file is not whole, if it was cut."""
    account = metadata.get("account") or {}
    lost = account.get("lost_bytes") or 0
    if lost:
        return f"{lost:,} bytes at its end could not be read"
    if missing := account.get("missing"):
        return ", ".join(f"{count:,} {what}" for what, count in missing.items()) + " are missing"
    return "it has no closing brackets" if account.get("end") == "open" and is_torch(metadata) else None


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
