"""The sanitizer on a running program: ``with et.sanitize() as findings:``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Literal, Self, overload

from eventide import _native
from eventide.errors import SanitizerError, UsageError, UsageValueError
from eventide.integrations.torch import accesses
from eventide.runtime.access import handover, lifetimes
from eventide.sanitizer import _suppress
from eventide.sanitizer._finding import Finding, Frame, finding_from_native
from eventide.sanitizer._findings import HOST_MEMORY_OF_QUEUES, Coverage, Findings, judge
from eventide.sanitizer._suppress import Suppress

Mode = Literal["collect", "raise"]
MODES: tuple[Mode, ...] = ("collect", "raise")


class sanitize(Sequence[Finding]):  # noqa: N801 - used as a function
    """Check a part of the program, from start() to stop() or in a ``with`` block; a sequence of its findings.

    `mode`: ``collect``, or ``raise`` a SanitizerError at the call that shows the first finding. `predict`: ignore the
    order between host threads, and report what another order could cause, as possible. `suppress`: a TOML file,
    Suppressions or dicts; None uses those of the nearest ``pyproject.toml``. `stacks`: capture the place of each call.
    `leaks`: at the end, report what was allocated in the block and not freed.

    Several may be active, nested or in different threads: each checks everything that happens while it is active.
    """

    def __init__(
        self,
        mode: Mode = "collect",
        predict: bool = False,
        suppress: Suppress = None,
        *,
        stacks: bool = True,
        leaks: bool = False,
    ) -> None:
        if mode not in MODES:
            raise UsageValueError(f"mode is one of {', '.join(MODES)}; got {mode!r}")
        self.mode = mode
        self.predict = bool(predict)
        self.leaks = bool(leaks)
        self._rules = _suppress.load(suppress)
        self._native = _native.LiveSanitizer(self.predict, bool(stacks))
        self._raised = 0  # findings that were raised already
        self._state = "new"
        self._copies_before = 0
        self._result = Findings()

    def start(self) -> Self:
        """Begin to check; UsageError if it was started before."""
        if self._state != "new":
            raise UsageError(f"this sanitizer is {self._state} already; make a new one")
        self._state = "active"
        self._copies_before = _host_copies()
        handover.start()
        lifetimes.start()
        accesses.start()
        if self.mode == "raise":
            self._native.on_finding(self._on_finding)
        self._native.start()
        return self

    def stop(self) -> Findings:
        """Stop checking and return the result; a second call returns it again."""
        if self._state == "new":
            raise UsageError("this sanitizer is not active; start it first")
        if self._state == "active":
            self._native.stop()
            self._native.on_finding(None)
            accesses.stop()
            lifetimes.stop()
            handover.stop()
            self._native.end_of_program(self.leaks)
            self._result = self._so_far()
            self._state = "stopped"
        return self._result

    @property
    def result(self) -> Findings:
        """The findings with their coverage; while active, those so far, without redundant waits and leaks."""
        return self._so_far() if self._state == "active" else self._result

    @property
    def verdict(self) -> str:
        """That of the result: ``findings``, ``clean`` or ``not checkable``."""
        return self.result.verdict

    @property
    def coverage(self) -> Coverage:
        """That of the result."""
        return self.result.coverage

    @property
    def summary(self) -> str:
        """That of the result: verdict and coverage in a line."""
        return self.result.summary

    def of(self, *kinds: str) -> tuple[Finding, ...]:
        """The findings of some kinds."""
        return self.result.of(*kinds)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self.result[index]

    def __len__(self) -> int:
        return len(self.result)

    def __str__(self) -> str:
        return str(self.result)

    def __repr__(self) -> str:
        return f"<sanitize, {self._state}: {self.summary}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        findings = self.stop()
        if self.mode == "raise" and error is None and len(findings) > self._raised:
            raise _error(findings)

    def _so_far(self) -> Findings:
        found = [_resolved(raw) for raw in self._native.findings()]
        coverage = self._native.coverage()
        unseen = (HOST_MEMORY_OF_QUEUES,) if _host_copies() > self._copies_before else ()
        seen = Coverage(coverage["works"], coverage["known"], coverage["forgotten"], unseen)
        return judge(found, seen, self._rules, self._native.stream_names())

    def _on_finding(self, _count: int) -> None:
        """Called at the hook that shows something new."""
        findings = self._so_far()
        if len(findings) > self._raised:
            self._raised = len(findings)
            raise _error(findings)


def _host_copies() -> int:
    """Copies of OpenCL's queues from or to arrays of the host, in the process so far."""
    memory = sys.modules.get("eventide.integrations.pyopencl._memory")
    return 0 if memory is None else memory.host_copies


def _error(findings: Findings) -> SanitizerError:
    return SanitizerError(str(findings), findings.found)


def _resolved(raw: dict[str, object]) -> Finding:
    stacks: dict[int, tuple[Frame, ...]] = {}
    for side in (raw["first"], raw["second"]):
        if isinstance(side, dict):
            side["thread"] &= 0xFFFFFFFF  # the id of the operating system
        if isinstance(side, dict) and side["stack_id"]:
            stacks[side["stack_id"]] = _native.resolve_stack(side["stack_id"])
    return finding_from_native(raw, stacks)
