"""The sanitizer on a running program: ``with et.sanitize() as findings:``."""

from __future__ import annotations

from types import TracebackType

from eventide import _native
from eventide.errors import SanitizerError, UsageError, UsageValueError
from eventide.integrations.torch import accesses
from eventide.runtime.access import handover, lifetimes
from eventide.sanitizer import _suppress
from eventide.sanitizer._finding import Finding, Frame, finding_from_native
from eventide.sanitizer._findings import Coverage, Findings, judge

MODES = ("collect", "raise")


class sanitize:  # noqa: N801 - used as a function
    """Check a part of the program; what it found is in the list when the ``with`` block ends.

    `mode`: ``collect``, or ``raise`` a SanitizerError at the call that shows the first finding. `predict`: ignore how
    host threads hand over to each other, and tell what could happen if they met otherwise, as possible. `suppress`: a
    TOML file, Suppressions or dicts; None takes those of the nearest ``pyproject.toml``. `stacks`: keep the place of
    each call. `leaks`: at the end, tell what was allocated in the block and not given back.

    Several may be on, nested or in different threads: each hears everything that happens while it is.
    """

    def __init__(
        self,
        mode: str = "collect",
        predict: bool = False,
        suppress: object = None,
        *,
        stacks: bool = True,
        leaks: bool = False,
    ) -> None:
        if mode not in MODES:
            raise UsageValueError(f"mode is one of {', '.join(MODES)}; got {mode!r}")
        self.mode = mode
        self.predict = bool(predict)
        self.leaks = bool(leaks)
        self.findings = Findings()
        self._rules = _suppress.load(suppress)
        self._native = _native.LiveSanitizer(self.predict, bool(stacks))
        self._raised = 0  # findings that were raised already
        self._state = "new"

    def start(self) -> Findings:
        """Begin to listen; ``with`` does it."""
        if self._state != "new":
            raise UsageError(f"this sanitizer is {self._state} already; make a new one")
        self._state = "on"
        handover.start()
        lifetimes.start()
        accesses.start()
        if self.mode == "raise":
            self._native.on_finding(self._tell)
        self._native.start()
        return self.findings

    def stop(self) -> Findings:
        """Stop listening and give the findings. Twice is fine."""
        if self._state == "on":
            self._state = "stopped"
            self._native.stop()
            self._native.on_finding(None)
            accesses.stop()
            lifetimes.stop()
            handover.stop()
            self._native.end_of_program(self.leaks)
            self.findings.take(self.so_far())
        return self.findings

    def so_far(self) -> Findings:
        """What was found up to now. Redundant waits and leaks are known at the end only."""
        found = [_resolved(raw) for raw in self._native.findings()]
        coverage = self._native.coverage()
        seen = Coverage(coverage["works"], coverage["known"], coverage["forgotten"])
        return judge(found, seen, self._rules, self._native.stream_names())

    def __enter__(self) -> Findings:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        findings = self.stop()
        if self.mode == "raise" and error is None and len(findings) > self._raised:
            raise _error(findings)

    def _tell(self, _count: int) -> None:
        """Called at the hook that showed something new."""
        findings = self.so_far()
        if len(findings) > self._raised:
            self._raised = len(findings)
            raise _error(findings)


def _error(findings: Findings) -> SanitizerError:
    return SanitizerError(str(findings), findings.found)


def _resolved(raw: dict[str, object]) -> Finding:
    stacks: dict[int, tuple[Frame, ...]] = {}
    for side in (raw["first"], raw["second"]):
        if isinstance(side, dict):
            side["thread"] &= 0xFFFFFFFF  # the system's id of it
        if isinstance(side, dict) and side["stack_id"]:
            stacks[side["stack_id"]] = _native.resolve_stack(side["stack_id"])
    return finding_from_native(raw, stacks)
