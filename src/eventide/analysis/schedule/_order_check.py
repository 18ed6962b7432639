"""Whether the edited order is still correct: the sanitizer judges the edited hook records, where accesses are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eventide.analysis.schedule._draft import Draft
from eventide.analysis.schedule._edited_operations import edited_operations
from eventide.analysis.schedule._edits import Edit
from eventide.sanitizer import Finding, check_trace


@dataclass(frozen=True)
class Verdict:
    """`races` are those that the edit makes: one line each. `known` of `works` had known accesses."""

    races: tuple[str, ...]
    known: int
    works: int

    def __str__(self) -> str:
        if self.races:
            more = f"; and {len(self.races) - 1} more" if len(self.races) > 1 else ""
            return f"the edit makes a {self.races[0]}{more}"
        if self.known == 0:
            return "not judged: accesses unknown"
        if self.known < self.works:
            return f"no new race among the {self.known} of {self.works} work items with known accesses"
        return "no new race"


def verdict_of(draft: Draft, edits: Sequence[Edit]) -> Verdict | None:
    """None where the edits do not change the order."""
    view = draft.view
    operations = view.trace.operations
    if not any(edit.kind in _ORDERING for edit in edits):
        return None
    none = Verdict((), 0, len(draft.rows))
    if operations.num_rows == 0 or operations.column("accesses").null_count == operations.num_rows:
        return none
    before = view.remember("findings", lambda: check_trace(view.trace))
    after = check_trace(view.trace.replace(operations=edited_operations(draft, edits)))
    if after.coverage.known == 0:
        return none
    old = {each.fingerprint for each in before.faults}
    races = [_words(each) for each in after.faults if each.fingerprint not in old]
    return Verdict(tuple(races), after.coverage.known, after.coverage.works)


def _words(finding: Finding) -> str:
    """One line: what kind, and both sides."""
    sides = [side for side in (finding.first, finding.second) if side is not None]
    return f"{finding.kind}: {' and '.join(repr(side.name or side.what) for side in sides)}"


_ORDERING = ("drop_wait", "drop_sync", "move", "add_streams", "overlap", "remove")


__all__ = ["Verdict", "verdict_of"]
