"""What `eventide run` traces of torch: operators of all threads, device activity, forwards of modules, and steps."""

from __future__ import annotations

import logging
import sys
from typing import Any

from eventide import _native
from eventide._util.on_import import when_imported
from eventide.integrations import torch as integration
from eventide.integrations.torch import accesses
from eventide.recording import note, record_span
from eventide.runtime.access import accesses_are_declared

CHOICES = ("ops", "shapes", "flops", "memory", "modules", "accesses")
_log = logging.getLogger("eventide.profiler")


class TorchRun:
    """From the import of torch to close(). `step`: number of complete steps; `steps`: count and record them here."""

    def __init__(self, wanted: tuple[str, ...], seconds: float, *, step: int = 0, steps: bool = True) -> None:
        self._wanted, self._seconds = wanted, seconds
        self._first = self._step = step
        self._counts = steps
        self._parts: list[Any] = []
        self._session: Any = None
        self._since = 0
        self._accesses = "accesses" in wanted  # of work on streams of Eventide, for a check of the recording
        if self._accesses:
            accesses_are_declared()
            accesses.start()
        self._hook = when_imported("torch", self._open)

    def _open(self) -> None:
        self._since = _native.now_ns()
        parts = {
            "steps": self._open_steps,
            "modules": self._open_modules,
            "collectives": self._open_collectives,
            "operators": self._open_operators,
        }
        failed: dict[str, Exception] = {}
        for what, open_part in parts.items():
            try:
                open_part()
            except Exception as error:  # noqa: BLE001  (another version of torch: the rest is traced)
                failed[what] = error
        if failed:
            self._warn(list(failed), next(iter(failed.values())))

    def _warn(self, missing: list[str], error: Exception) -> None:
        """One line for all parts that are missing."""
        version = getattr(sys.modules.get("torch"), "__version__", "?")
        what = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        line = f"torch {version}: its {what} are not traced: {type(error).__name__}: {error}".replace("\n", " ")
        note({"torch_untraced": {"warnings": [line]}})
        try:
            integration.install()  # no effect if it is installed: its own import hook may run before or after this one
        except Exception:  # noqa: BLE001 - that hook reports it, and one line is enough
            return
        _log.warning("%s", line)

    def _open_steps(self) -> None:
        if self._counts:
            from eventide.integrations.torch._steps import TorchSteps

            self._parts.append(TorchSteps(self.reached, self._created))

    def _open_modules(self) -> None:
        if "modules" in self._wanted:
            from eventide.integrations.torch._modules import TorchModules

            self._parts.append(TorchModules())

    def _open_collectives(self) -> None:
        from eventide.integrations.torch._collectives import TorchCollectives

        self._parts.append(TorchCollectives())

    def _open_operators(self) -> None:
        if "ops" in self._wanted:
            from eventide.integrations.torch._kineto import Wanted
            from eventide.integrations.torch._session import Session

            asked = {what: what in self._wanted for what in ("shapes", "flops", "memory")}
            wanted = Wanted(**asked, seconds=self._seconds)
            self._session = Session(wanted, lambda: self._step > self._first)
            self._parts.append(self._session)

    def _created(self) -> None:
        """An optimizer was made: the first step begins after it."""
        if self._step == self._first:
            self._since = _native.now_ns()

    def reached(self, number: int) -> None:
        """`number` steps are complete."""
        if number > self._step:
            if self._session is not None and self._step == self._first:
                self._session.restart_after_first_step()
            now = _native.now_ns()
            record_span(f"ProfilerStep#{number - 1}", "step", self._since, now, {"step": number - 1}, work=number - 1)
            self._step, self._since = number, now

    def close(self) -> None:
        """Stop tracing; all data is in the recording."""
        self._hook.close()
        if self._accesses:
            accesses.stop()
        while self._parts:
            self._parts.pop().close()
