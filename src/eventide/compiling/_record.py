"""CompileRecord: one compile that is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eventide.compiling._args import CallbackTrigger


@dataclass(frozen=True)
class CompileRecord:
    """One compile, nested ones too. None means that the compiler did not tell; nothing is guessed."""

    trigger: CallbackTrigger
    id: str
    name: str | None
    thread: int
    """The system's id of the thread that compiled."""
    depth: int
    """0 for the outermost compile of its thread."""
    start: int
    """Nanoseconds on CLOCK_MONOTONIC, the clock of the trace."""
    duration: int
    """Nanoseconds."""
    ok: bool | None = True
    error: str | None = None
    """Type and message of the error that ended the compile."""
    recompile: bool | None = None
    """True: the same code was compiled before. False: it is the first time."""
    reason: str | None = None
    """Why it was compiled again."""
    cache_hit: bool | None = None
    stages: tuple[tuple[str, int], ...] | None = None
    """Parts of the compile by name, each in nanoseconds."""
    graph_breaks: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the compiler told."""

    @property
    def end(self) -> int:
        """When it was over, in nanoseconds on CLOCK_MONOTONIC."""
        return self.start + self.duration
