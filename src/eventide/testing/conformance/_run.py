"""Running checks: each on its own thread with a time limit, so that one that hangs fails and the others continue."""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, TracebackType

from eventide.runtime import Device
from eventide.testing.conformance import checks as _checks
from eventide.testing.conformance._bench import Bench
from eventide.testing.conformance._check import REGISTRY, Check
from eventide.testing.conformance._expect import CheckFailedError, CheckSkippedError
from eventide.testing.conformance._promises import PROMISES
from eventide.testing.conformance._report import Outcome, Report, Status

CHECKS: tuple[Check, ...] = tuple(sorted(REGISTRY, key=lambda check: PROMISES.index(check.promise)))
LIMIT = 20.0  # seconds for one check
_FOLDER = str(Path(_checks.__file__).parent)


def run(
    device: str | Device,
    *,
    checks: Iterable[Check] = CHECKS,
    limit: float = LIMIT,
    step: Callable[[str], object] | None = None,
) -> Report:
    """Run the checks on a device. `limit` is in seconds, for each; `step(name)` is called before each."""
    where = _device(device)
    outcomes = []
    for check in checks:
        if step is not None:
            step(str(check))
        outcomes.append(run_check(check, where, limit))
    version = importlib.metadata.version("eventide-trace")
    return Report(str(where), where.name, version, datetime.now(UTC).date().isoformat(), tuple(outcomes))


def run_check(check: Check, device: str | Device, limit: float = LIMIT) -> Outcome:
    """Run one check on a device."""
    attempt = _Attempt(check, _device(device), limit)
    began = time.monotonic()
    with _uncaught() as errors:
        thread = threading.Thread(target=attempt.run, name=f"conformance {check}", daemon=True)
        thread.start()
        thread.join(limit)
        if thread.is_alive():
            attempt.give_up(thread)
    status, why = attempt.end
    if errors:
        status, why = "failed", "; ".join(dict.fromkeys([*([why] if status == "failed" else []), *errors]))
    return Outcome(check.promise, check.name, status, why, round(time.monotonic() - began, 3))


def pytest_test(device: str, limit: float = LIMIT) -> Callable[[Check], None]:
    """A test function for pytest, one case a check: ``test_mydevice = conformance.pytest_test("mydevice")``."""
    import pytest

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    def test_conformance(check: Check) -> None:
        outcome = run_check(check, device, limit)
        if outcome.status == "skipped":
            pytest.skip(outcome.why)
        if outcome.status == "failed":
            pytest.fail(outcome.why, pytrace=False)

    return test_conformance


class _Attempt:
    """One check while it runs. The first of two reports its end: the check or the limit."""

    def __init__(self, check: Check, device: Device, limit: float) -> None:
        self._check = check
        self._device = device
        self._limit = limit
        self._bench: Bench | None = None
        self._ends: list[tuple[Status, str]] = []

    @property
    def end(self) -> tuple[Status, str]:
        """How it ended, and why."""
        return self._ends[0]

    def run(self) -> None:
        """Run the check and clean up behind it; the thread's function."""
        try:
            self._bench = Bench(self._device, self._limit / 4)
            for name in self._check.needs:
                if not getattr(self._bench.capabilities, name):
                    raise CheckSkippedError(f"no '{name}'")  # noqa: TRY301 - the same end as a skip inside the check
            try:
                self._check.function(self._bench)
            except BaseException:
                self._bench.abandon()
                raise
            self._bench.close(self._limit / 4)
        except CheckSkippedError as reason:
            self._ends.append(("skipped", str(reason)))
        except CheckFailedError as failure:
            self._ends.append(("failed", f"{failure} ({_place(failure.__traceback__)})"))
        except BaseException as error:  # noqa: BLE001 - any error is a failure of the device
            self._ends.append(("failed", f"{type(error).__name__}: {error} ({_place(error.__traceback__)})"))
        else:
            self._ends.append(("passed", ""))

    def give_up(self, thread: threading.Thread) -> None:
        """The time limit has passed: report the current line of the check, and free what waits for it."""
        frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the one way to see another thread's stack
        self._ends.append(("failed", f"still running after {self._limit:g} s ({_current_line(frame)})"))
        if self._bench is not None:
            self._bench.release()


@contextlib.contextmanager
def _uncaught() -> Iterator[list[str]]:
    """Collect errors without a caller: of a device's threads, and of methods that cannot raise."""
    errors: list[str] = []

    def note(where: str, kind: type[BaseException], error: BaseException | None) -> None:
        errors.append(f"{where}: {kind.__name__}: {error}")

    hooks = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = lambda args: note(f"uncaught in {args.object!r}", args.exc_type, args.exc_value)
    threading.excepthook = lambda args: note("a thread of the device ended with", args.exc_type, args.exc_value)
    try:
        yield errors
    finally:
        sys.unraisablehook, threading.excepthook = hooks


def _place(trace: TracebackType | None) -> str:
    """The line of the check that raised."""
    lines = [f"{Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(trace) if _ours(at.filename)]
    return lines[-1] if lines else "before the check began"


def _current_line(frame: FrameType | None) -> str:
    """The line of the check that a thread is in."""
    stack = traceback.extract_stack(frame) if frame is not None else []
    lines = [f"{Path(at.filename).name}:{at.lineno}" for at in stack if _ours(at.filename)]
    return lines[-1] if lines else "outside the check"


def _ours(file: str) -> bool:
    return file.startswith(_FOLDER)


def _device(device: str | Device) -> Device:
    where = Device(device)
    return where if where.index is not None else Device(where.type, 0)
