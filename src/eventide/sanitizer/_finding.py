"""Finding: something wrong or wasteful, with the two places in the code and the smallest fix."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

KINDS = (
    "race",
    "use-after-free",
    "missing-record-stream",
    "wait-on-unrecorded",
    "redundant-wait",
    "redundant-sync",
    "deadlock",
    "leak",
)

WASTE = ("redundant-wait", "redundant-sync")
"""Kinds that cost time and break nothing: they are reported, and fail a check only on request."""

Frame = tuple[str, int, str]
"""(file, line, function)"""


@dataclass(frozen=True, slots=True)
class Access:
    """One side of a finding: a work item, the host itself, a free, a wait; and the bytes that both sides touch."""

    what: str  # work, host, free, allocation, wait, synchronize, event
    write: bool = False
    work: int = 0  # the work item's id
    name: str = ""
    stream: int | str | None = None  # None: the host
    thread: int = 0
    address: int = 0
    nbytes: int = 0
    stack_id: int = 0
    stack: tuple[Frame, ...] = ()  # innermost first; () if unknown


@dataclass(frozen=True, slots=True)
class Fix:
    """The smallest change that removes the finding.

    `action`: ``wait`` (record an event after the first access on its stream, unless `recorded`, and wait before the
    second), ``synchronize`` (the same, but the second's host thread blocks), ``hand-over`` (between the two host
    threads), ``record-stream`` (of the buffer with `stream`, before the free), ``free-later``, ``remove``,
    ``record-before``, ``give-back``, or ``nothing``.
    """

    action: str = "nothing"
    recorded: bool = False  # `event` at `version` was recorded at the right place already: only the wait is missing
    event: int | str = 0
    version: int = 0
    stream: int | str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, how certain that is, where, how often, and the fix. `first` is None if there is one side."""

    kind: str
    certain: bool
    first: Access | None
    second: Access
    buffer: int = 0  # base address of the allocation, else of the bytes
    buffer_name: str = ""
    event: int | str = 0
    version: int = 0
    fix: Fix = field(default_factory=Fix)
    count: int = 1
    text: str = ""  # of a deadlock: the cycle

    @property
    def certainty(self) -> str:
        """``certain``, or ``possible``: it depends on the timing of host threads, or on inexact ranges."""
        return "certain" if self.certain else "possible"

    @property
    def fingerprint(self) -> str:
        """The same in every run of the same code: made of the kind, the names and the lines; no address, no id."""
        parts = [self.kind, self.text if self.kind == "deadlock" else ""]
        for side in (self.first, self.second):
            if side is not None:
                place = ";".join(f"{file}:{line}:{function}" for file, line, function in side.stack[:4])
                parts.append(f"{side.what}|{side.write}|{side.name}|{place}")
                if not place:
                    parts.append(f"{side.stream}|{self.buffer_name}")
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()


def finding_from_native(raw: dict[str, Any], stacks: dict[int, tuple[Frame, ...]] | None = None) -> Finding:
    """A Finding from one of ``_native.Sanitizer.findings()``; `stacks` has the frames by id."""

    def access(side: dict[str, Any] | None) -> Access | None:
        return None if side is None else Access(**side, stack=(stacks or {}).get(side["stack_id"], ()))

    fields = {**raw, "first": access(raw["first"]), "second": access(raw["second"]), "fix": Fix(**raw["fix"])}
    return Finding(**fields)
