"""Finding: something wrong or wasteful, with the two places in the code and the smallest fix."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from eventide._util.internal_frames import is_internal_frame, is_own_frame

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
    """One side of a finding: a work item, the host itself, a free, a wait.

    `address` is that of the first bytes which both sides touch; `nbytes` counts all of them, in every piece.
    """

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
class Piece:
    """Bytes that both sides of a finding touch, the buffer that they belong to, and which side writes them."""

    address: int
    nbytes: int
    buffer: int = 0  # base address of the allocation, else of the bytes
    buffer_name: str = ""
    first_writes: bool = False
    second_writes: bool = False


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
    """What is wrong, how certain that is, where, how often, and the fix. `first` is None if there is one side.

    `doubt` says why it is possible and not certain: ``inside`` (a signal from inside of one of the works may order
    them), ``unseen`` (a hand-over between host threads that is not traced may), ``bytes`` (what is accessed is an upper
    bound), ``order`` (with `predict`: in this run host threads order them).
    """

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
    doubt: str = ""
    pieces: tuple[Piece, ...] = ()  # all bytes that both touch, at most 64 pieces

    @property
    def certainty(self) -> str:
        """``certain``, or ``possible``; `doubt` has the reason."""
        return "certain" if self.certain else "possible"

    @property
    def fingerprint(self) -> str:
        """The same for the same race: made of the kind, the names of work, and the functions with their modules.

        No address, number, line or directory is part of it, so a moved project, another way to write the path and an
        added line change nothing. Two races between the same functions, of work with the same names, have one.
        """
        parts = [self.kind, self.text if self.kind == "deadlock" else "", self.buffer_name]
        for side in (self.first, self.second):
            if side is not None:
                frames = [frame for frame in side.stack if not is_internal_frame(frame[0])] or side.stack
                place = ";".join(f"{_module(file)}:{function}" for file, _, function in frames[:4])
                parts.append(f"{side.what}|{side.write}|{side.name}|{place}")
                if not place:
                    parts.append(f"{side.stream}")
        return hashlib.blake2b("\n".join(parts).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def _module(file: str) -> str:
    """The module's own name, from its path: `step` of ``/a/b/step.py``, ``b/__init__`` of ``/a/b/__init__.py``."""
    path = PurePath(file)
    return f"{path.parent.name}/{path.stem}" if path.stem in {"__init__", "__main__"} else path.stem


def finding_from_native(raw: dict[str, Any], stacks: dict[int, tuple[Frame, ...]] | None = None) -> Finding:
    """A Finding from one of ``_native.Sanitizer.findings()``; `stacks` has the frames by id."""

    def access(side: dict[str, Any] | None) -> Access | None:
        if side is None:
            return None
        stack = (stacks or {}).get(side["stack_id"], ())
        if stack and is_own_frame(stack[0][0]) and all(is_internal_frame(frame[0]) for frame in stack):
            stack = ()  # the work is a function of C, which our integration observes: no line of the program
        return Access(**side, stack=stack)

    fields = {**raw, "first": access(raw["first"]), "second": access(raw["second"]), "fix": Fix(**raw["fix"])}
    fields["pieces"] = tuple(Piece(*piece) for piece in raw["pieces"])
    return Finding(**fields)
