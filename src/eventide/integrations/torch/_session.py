"""What torch does, for the recording: operators by its callbacks, all else by Kineto, its own profiler.

Operators are recorded as they run, on any thread (_operators). Their shapes and FLOPs, memory and device activity
only Kineto tells. It holds what it heard until the session is stopped, and has one session a process. So ours is
harvested before the recording ends (and before one inside it does), makes way when the program starts a profiler of its
own, takes over what that one heard, and begins again. After `seconds` it hears no more, since nobody can ask Kineto how
much it holds.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from eventide import _native
from eventide._util import process
from eventide.integrations._guard import guarded
from eventide.integrations.torch import _operators as operators
from eventide.integrations.torch import _profilers as profilers
from eventide.integrations.torch._account import Account, words
from eventide.integrations.torch._events import Conversion
from eventide.integrations.torch._kineto import Kineto, Wanted, device_name, hears_devices
from eventide.recording import before_stop
from eventide.runtime import HostClock

_log = logging.getLogger("eventide.integrations")


class Session:
    """From construction to close(). Made when torch is imported, and never raises into it."""

    def __init__(self, wanted: Wanted, counted: Callable[[], bool] = lambda: False) -> None:
        self.account = Account()
        self._counted = counted  # somebody else tells the steps
        self._lock = threading.RLock()  # guards the rest
        self._called = self._callbacks(wanted)  # operators are told by callbacks
        self._leave: Callable[[], None] | None = None  # while they are
        self._before = _native.torch_operators_recorded()
        self._taken = 0  # operators that Kineto told, or a profiler of the program
        self._wanted = asked = replace(wanted, operators=wanted.operators and not self._called)
        kineto = not wanted.operators or asked.operators or asked.memory or hears_devices()
        self._kineto = Kineto(asked) if kineto else None
        self.account.profiled = words(asked) if kineto else ""
        self._clock = HostClock("CLOCK_REALTIME")
        self._going = False  # Kineto hears for us
        self._others = 0  # listeners of ours that hear operators by other means
        self._over = self._closed = False
        self._pid = os.getpid()
        self._end = allocate_lock()
        self._end.acquire()
        self._outer, _state.session = _state.session, self
        profilers.install()
        profilers.listen(self)
        self._before_stop = before_stop(self.tell)
        self._turn = 0
        self._start()
        self._arm()

    def _callbacks(self, wanted: Wanted) -> bool:
        """Are operators heard by callbacks? Else by Kineto, who knows more about them, or is all that there is."""
        if not wanted.operators or wanted.shapes or wanted.flops:
            return False
        try:
            if not operators.prepare():
                self.account.warnings.append("this torch does not tell which gradient belongs to which operator")
        except Exception as error:  # noqa: BLE001  (another torch)
            line = f"torch's operators come from its profiler: {type(error).__name__}: {error}".replace("\n", " ")
            self.account.warnings.append(line)
            _log.debug("%s", line)
            return False
        return True

    def _start(self) -> None:
        if self._closed or profilers.running():
            return
        if self._called and self._leave is None:
            self._leave = operators.hear()
        if self._kineto is not None and not self._going and not self._over and not self._others:
            try:
                self._clock.sample()
                self._kineto.start()
                self._going = self.account.held = True
            except Exception as error:  # noqa: BLE001  (never into the program)
                self._over = True  # it would fail again
                what = self.account.profiled
                line = f"torch's {what}: not heard: {type(error).__name__}: {error}".replace("\n", " ")
                self.account.warnings.append(line)
                _log.warning("%s", line)
        self._keep()

    def _keep(self) -> None:
        """The account goes with the trace that is being recorded."""
        called = _native.torch_operators_recorded() - self._before if self._called else 0
        self.account.operators = self._taken + called
        self.account.keep()

    def _arm(self) -> None:
        """From now on, so many seconds."""
        if self._wanted.seconds and self._kineto is not None:
            self._turn += 1
            start_new_thread(self._stop_later, (self._turn,))

    @guarded
    def _stop_later(self, turn: int) -> None:
        if self._end.acquire(timeout=self._wanted.seconds):
            self._end.release()  # for the others that wait
        elif turn == self._turn and self._wanted.memory:
            _native.call_on_main_thread(self.enough)  # who can end such a session without being waited for
        elif turn == self._turn:
            self.enough()

    @guarded
    def enough(self) -> None:
        """The limit is reached: no more is heard."""
        with self._lock:
            if self._closed or self._over or self._pid != os.getpid():
                return
            self._over = True
            if self._going and self._kineto is not None and not self._kineto.hush():
                self._harvest()
            self.account.limit_s = self._wanted.seconds
            self._keep()

    @guarded
    def again(self) -> None:
        """The first step is over: what counts begins now, and so does the limit, whether it was reached or not."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                return
            if self._over:
                self._harvest()
                self._over = False
                self._start()
            self._arm()

    def _pause(self) -> None:
        """Nothing is heard until _start()."""
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._harvest()

    def _harvest(self) -> None:
        """What Kineto holds goes into the recording."""
        if not self._going or self._kineto is None:
            return
        self._going = False
        began = time.monotonic_ns()
        try:
            self._take(self._kineto.stop(), self._wanted, None)
        except Exception as error:  # noqa: BLE001  (never into the program)
            _log.exception("torch's %s: lost, the program goes on", self.account.profiled)
            self.account.warnings.append(f"torch's {self.account.profiled}: lost: {type(error).__name__}: {error}")
        finally:
            self.account.held = False
            self.account.harvest_ns += time.monotonic_ns() - began
            self._keep()

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

    def tell(self) -> None:
        """A recording ends, perhaps one inside ours: what was heard so far is told."""
        with self._lock:
            if self._pid == os.getpid():
                self._harvest()
                self._start()

    def make_way(self) -> None:
        """Somebody else has Kineto, or hears operators that it would tell; come_back() when they are done."""
        with self._lock:
            if self._pid == os.getpid():
                self._harvest()
                self._others += 1

    def come_back(self) -> None:
        """They are done."""
        with self._lock:
            if self._pid == os.getpid():
                self._others = max(0, self._others - 1)
                self._start()

    def theirs_begins(self) -> None:
        """A profiler of the program wants Kineto for itself, and tells the operators."""
        with self._lock:
            if self._pid == os.getpid():
                self._pause()

    def theirs_ended(self, result: Any) -> None:
        """It is over: what it heard is in the trace too."""
        if result is not None:
            self._import(result)
        with self._lock:
            if self._pid == os.getpid():
                self._start()

    @guarded
    def _import(self, result: Any) -> None:
        with self._lock:
            if self._pid != os.getpid() or self._closed or self._others:
                return
            began = time.monotonic_ns()
            told = profilers.told_spans()
            wanted = Wanted(operators=self._wanted.operators or self._called, shapes=True, flops=True)
            self._take(_InOrder(result), wanted, told.are_ours if told is not None else None)
            self.account.imported += 1
            self.account.harvest_ns += time.monotonic_ns() - began
            self._keep()

    def close(self) -> None:
        """Hear no more; what was heard is told."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                return
            self._pause()
            self._closed = True
            if profilers.running():
                line = "a torch profiler of the program ran when the recording ended: what it heard is not here"
                self.account.warnings.append(line)
            self._keep()
            self._end.release()
        self._before_stop.close()
        _state.session = self._outer
        profilers.listen(self._outer)

    def forget(self) -> None:
        """In a forked child: the session is the parent's."""
        self._lock = threading.RLock()


class _InOrder:
    """A result whose events come in the order of time."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def events(self) -> list[Any]:
        return sorted(self._result.events(), key=lambda event: event.start_ns())


class _State:
    """The session of this process, if there is one."""

    session: Session | None = None


_state = _State()


def make_way() -> Callable[[], None]:
    """Somebody else hears operators from now on, by other means; call the result when they are done."""
    session = _state.session
    if session is None:
        return lambda: None
    session.make_way()
    return session.come_back


def _after_fork() -> None:
    if _state.session is not None:
        _state.session.forget()


process.after_fork(_after_fork)
