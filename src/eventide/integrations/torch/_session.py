"""Activity of torch for the recording: operators from its callbacks, all else from Kineto, its own profiler.

Operators are recorded as they run, on any thread (_operators). Only Kineto reports their shapes and FLOPs, memory and
device activity. It keeps its data until the session is stopped, and has one session a process. So ours is harvested
before the recording ends (and before one inside it does), is suspended when the program starts a profiler of its own,
whose result is imported, and then starts again. After `seconds` it stops collecting, since Kineto does not report how
much it holds.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from eventide import _native
from eventide._util import process
from eventide.integrations._patch import guarded
from eventide.integrations.torch import _operators as operators
from eventide.integrations.torch import _profilers as profilers
from eventide.integrations.torch._kineto import Kineto, Wanted, device_name, has_devices
from eventide.integrations.torch._kineto_events import Conversion
from eventide.recording import before_stop, note
from eventide.runtime import HostClock

_log = logging.getLogger("eventide.integrations")


@dataclass
class Account:
    """What was traced and how, for the metadata of the trace."""

    operators: int = 0
    on_devices: int = 0
    imported: int = 0  # sessions of the program
    harvest_ns: int = 0
    clock_error_ns: int = 0
    limit_s: float = 0.0  # the time limit that was reached; 0: none
    profiled: str = ""  # what Kineto collects
    held: bool = False  # Kineto has data that is not in the trace yet
    warnings: list[str] = field(default_factory=list)

    def store(self) -> None:
        """Put it into the metadata of the running recording."""
        note({"torch": {**self.__dict__, "warnings": [*self.warnings, *self._limits()], "clock": "CLOCK_REALTIME"}})

    def _limits(self) -> list[str]:
        """Warnings about what is incomplete at this moment."""
        lines = []
        if limit := self.limit_s:
            part = f"{limit:g} s from its import, and {limit:g} s from the first step of an optimizer"
            lines.append(f"torch's {self.profiled}: recorded in part, {part}; --torch-seconds sets how long")
        if self.held:
            lines.append(f"torch's {self.profiled}: still in its profiler when the program ended, and lost")
        return lines


def _content(wanted: Wanted) -> str:
    """What Kineto collects, in words."""
    words = [word for word in ("operators", "memory") if getattr(wanted, word)]
    return " and ".join(words) or "device activity"


class Session:
    """From construction to close(). Created when torch is imported, and never raises into it."""

    def __init__(self, wanted: Wanted, counted: Callable[[], bool] = lambda: False) -> None:
        self.account = Account()
        self._counted = counted  # are steps recorded by another source?
        self._lock = threading.RLock()  # guards the rest
        self._has_callbacks = self._prepare_callbacks(wanted)  # operators come from callbacks
        self._stop_callbacks: Callable[[], None] | None = None  # while they are on
        self._before = _native.torch_operators_recorded()
        self._taken = 0  # operators from Kineto or a profiler of the program
        self._wanted = asked = replace(wanted, operators=wanted.operators and not self._has_callbacks)
        kineto = not wanted.operators or asked.operators or asked.memory or has_devices()
        self._kineto = Kineto(asked) if kineto else None
        self.account.profiled = _content(asked) if kineto else ""
        self._clock = HostClock("CLOCK_REALTIME")
        self._collecting = False  # a session of Kineto is ours
        self._suspended = 0  # number of suspend() without resume()
        self._limit_reached = self._closed = False
        self._pid = os.getpid()
        self._end = allocate_lock()
        self._end.acquire()
        self._outer, _state.session = _state.session, self
        profilers.install()
        profilers.listen(self)
        self._before_stop = before_stop(self.flush)
        self._turn = 0
        self._start()
        self._start_time_limit()

    def _prepare_callbacks(self, wanted: Wanted) -> bool:
        """Do operators come from callbacks? Else from Kineto, for their details or for lack of callbacks."""
        if not wanted.operators or wanted.shapes or wanted.flops:
            return False
        try:
            if not operators.prepare():
                self.account.warnings.append("this torch does not report which gradient belongs to which operator")
        except Exception as error:  # noqa: BLE001  (another torch)
            line = f"torch's operators come from its profiler: {type(error).__name__}: {error}".replace("\n", " ")
            self.account.warnings.append(line)
            _log.debug("%s", line)
            return False
        return True

    def _start(self) -> None:
        if self._closed or profilers.running():
            return
        if self._has_callbacks and self._stop_callbacks is None:
            self._stop_callbacks = operators.start_recording()
        if self._kineto is not None and not self._collecting and not self._limit_reached and not self._suspended:
            try:
                self._clock.sample()
                self._kineto.start()
                self._collecting = self.account.held = True
            except Exception as error:  # noqa: BLE001  (never into the program)
                self._limit_reached = True  # it would fail again
                what = self.account.profiled
                line = f"torch's {what}: not traced: {type(error).__name__}: {error}".replace("\n", " ")
                self.account.warnings.append(line)
                _log.warning("%s", line)
        self._store_account()

    def _store_account(self) -> None:
        """Put the account into the metadata of the running recording."""
        called = _native.torch_operators_recorded() - self._before if self._has_callbacks else 0
        self.account.operators = self._taken + called
        self.account.store()

    def _start_time_limit(self) -> None:
        """From now on, `seconds`; an earlier limit has no effect."""
        if self._wanted.seconds and self._kineto is not None:
            self._turn += 1
            start_new_thread(self._stop_later, (self._turn,))

    @guarded
    def _stop_later(self, turn: int) -> None:
        if self._end.acquire(timeout=self._wanted.seconds):
            self._end.release()  # for the other threads of this kind
        elif turn == self._turn and self._wanted.memory:
            _native.call_on_main_thread(self.on_time_limit)  # only it can end such a session, and may be busy
        elif turn == self._turn:
            self.on_time_limit()

    @guarded
    def on_time_limit(self) -> None:
        """The time limit is reached: stop collecting."""
        with self._lock:
            if self._closed or self._limit_reached or self._pid != os.getpid():
                return
            self._limit_reached = True
            if self._collecting and self._kineto is not None and not self._kineto.pause_collection():
                self._harvest()
            self.account.limit_s = self._wanted.seconds
            self._store_account()

    @guarded
    def restart_after_first_step(self) -> None:
        """The first step is complete: collect again, with a new time limit."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                return
            if self._limit_reached:
                self._harvest()
                self._limit_reached = False
                self._start()
            self._start_time_limit()

    def _pause(self) -> None:
        """Trace nothing until _start()."""
        if self._stop_callbacks is not None:
            self._stop_callbacks()
            self._stop_callbacks = None
        self._harvest()

    def _harvest(self) -> None:
        """Stop Kineto, and record its data."""
        if not self._collecting or self._kineto is None:
            return
        self._collecting = False
        began = time.monotonic_ns()
        try:
            self._take(self._kineto.stop(), self._wanted, None)
        except Exception as error:  # noqa: BLE001  (never into the program)
            _log.exception("torch's %s: lost, the program continues", self.account.profiled)
            self.account.warnings.append(f"torch's {self.account.profiled}: lost: {type(error).__name__}: {error}")
        finally:
            self.account.held = False
            self.account.harvest_ns += time.monotonic_ns() - began
            self._store_account()

    def _take(self, result: Any, wanted: Wanted, skip: Callable[[int, str, int], bool] | None) -> None:
        events = result.events()
        self._clock.sample()
        if not events:
            return
        first, last = events[0].start_ns(), time.time_ns()
        offsets = [self._clock.to_trace(one) - one for one in (first, last)]
        error = abs(offsets[1] - offsets[0]) // 2 + max(self._clock.error_ns(one) for one in (first, last))
        self.account.clock_error_ns = max(self.account.clock_error_ns, error)
        conversion = Conversion(
            sum(offsets) // 2,
            device=device_name,
            operators=wanted.operators,
            memory=wanted.operators or wanted.memory,
            shapes=wanted.shapes,
            flops=wanted.flops,
            steps=not self._counted(),
            skip=skip,
        )
        conversion.take(events)
        self._taken += conversion.operators
        self.account.on_devices += conversion.on_devices

    def flush(self) -> None:
        """A recording ends, perhaps one inside ours: record the data so far."""
        with self._lock:
            if self._pid == os.getpid():
                self._harvest()
                self._start()

    def suspend(self) -> None:
        """Another source uses Kineto, or records operators by other means, until resume()."""
        with self._lock:
            if self._pid == os.getpid():
                self._harvest()
                self._suspended += 1

    def resume(self) -> None:
        """End of one suspend()."""
        with self._lock:
            if self._pid == os.getpid():
                self._suspended = max(0, self._suspended - 1)
                self._start()

    def profiler_starts(self) -> None:
        """A profiler of the program needs Kineto, and reports the operators."""
        with self._lock:
            if self._pid == os.getpid():
                self._pause()

    def profiler_stopped(self, result: Any) -> None:
        """It has stopped: its data is recorded too."""
        if result is not None:
            self._import(result)
        with self._lock:
            if self._pid == os.getpid():
                self._start()

    @guarded
    def _import(self, result: Any) -> None:
        with self._lock:
            if self._pid != os.getpid() or self._closed or self._suspended:
                return
            began = time.monotonic_ns()
            ours = profilers.reported_spans()
            wanted = Wanted(operators=self._wanted.operators or self._has_callbacks, shapes=True, flops=True)
            self._take(_InOrder(result), wanted, ours.are_ours if ours is not None else None)
            self.account.imported += 1
            self.account.harvest_ns += time.monotonic_ns() - began
            self._store_account()

    def close(self) -> None:
        """Stop tracing; all data is recorded."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                return
            self._pause()
            self._closed = True
            if profilers.running():
                line = "a torch profiler of the program ran when the recording ended: its data is not in the trace"
                self.account.warnings.append(line)
            self._store_account()
            self._end.release()
        self._before_stop.close()
        _state.session = self._outer
        profilers.listen(self._outer)

    def forget(self) -> None:
        """In a forked child: the session belongs to the parent."""
        self._lock = threading.RLock()


class _InOrder:
    """A result with its events in the order of time."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def events(self) -> list[Any]:
        return sorted(self._result.events(), key=lambda event: event.start_ns())


class _State:
    """The session of this process, if there is one."""

    session: Session | None = None


_state = _State()


def suspend() -> Callable[[], None]:
    """Another source records operators from now on; call the result to resume."""
    session = _state.session
    if session is None:
        return lambda: None
    session.suspend()
    return session.resume


def _after_fork() -> None:
    if _state.session is not None:
        _state.session.forget()


process.after_fork(_after_fork)
