"""What a whole recording hears of torch: operators of all threads, device activity, and steps."""

from __future__ import annotations

import logging
import sys
from typing import Any

from eventide import _native
from eventide.adapters import torch as adapter
from eventide.adapters._on_import import when_imported
from eventide.profiler._record import record_span
from eventide.store import note

CHOICES = ("ops", "shapes", "flops", "memory")
_log = logging.getLogger("eventide.profiler")


class TorchRun:
    """From when torch is imported to close(). `step`: how many steps are over; `steps`: nobody else counts them."""

    def __init__(self, wanted: tuple[str, ...], seconds: float, *, step: int = 0, steps: bool = True) -> None:
        self._wanted, self._seconds = wanted, seconds
        self._first = self._step = step
        self._counts = steps
        self._parts: list[Any] = []
        self._session: Any = None
        self._since = 0
        self._hook = when_imported("torch", self._open)

    def _open(self) -> None:
        self._since = _native.now_ns()
        try:
            if self._counts:
                from eventide.profiler._torch_steps import TorchSteps

                self._parts.append(TorchSteps(self.reached))
            from eventide.adapters._torch_kineto import Wanted
            from eventide.adapters._torch_session import Session

            asked = {what: what in self._wanted for what in ("shapes", "flops", "memory")}
            wanted = Wanted(**asked, seconds=self._seconds)
            self._session = Session(wanted, lambda: self._step > self._first)
            self._parts.append(self._session)
        except Exception as error:  # noqa: BLE001  (another version of torch: the rest is heard)
            version = getattr(sys.modules.get("torch"), "__version__", "?")
            line = f"torch {version}: its operators are not heard: {type(error).__name__}: {error}".replace("\n", " ")
            note({"torch": {"warnings": [line]}})
            if adapter.installed():  # else it has said already that nothing is heard
                _log.warning("%s", line)

    def reached(self, number: int) -> None:
        """So many steps are over."""
        if number > self._step:
            if self._session is not None and self._step == self._first:
                self._session.again()
            now = _native.now_ns()
            record_span(f"ProfilerStep#{number - 1}", "step", self._since, now, {"step": number - 1}, work=number - 1)
            self._step, self._since = number, now

    def close(self) -> None:
        """Hear no more; what was heard is in the recording."""
        self._hook.close()
        while self._parts:
            self._parts.pop().close()
