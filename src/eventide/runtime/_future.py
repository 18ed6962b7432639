"""The Future of submitted work."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from eventide import _native
from eventide.errors import report_callback_error

T = TypeVar("T")


class Future(_native.FutureBase, concurrent.futures.Future[T]):
    """A ``concurrent.futures.Future`` whose state is native, returned by ``Stream.submit``.

    Its Condition is created on first use (``wait``, ``as_completed``), so a Future without waiters costs almost
    nothing. ``work_id`` is the id of this work in the hooks.
    """

    if TYPE_CHECKING:

        def result(self, timeout: float | None = None) -> T: ...
        def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None: ...

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio  # not needed to import eventide

        return asyncio.wrap_future(self).__await__()

    def _deliver(self) -> None:
        """Wake waiters of concurrent.futures, then run the callbacks; once, on the notifier thread."""
        if not self._watched:
            _run_callbacks(self, self._settle())
            return
        with self._condition:
            callbacks = self._settle()
            for waiter in self._waiters:
                if self.cancelled():
                    waiter.add_cancelled(self)
                elif self._exception is not None:
                    waiter.add_exception(self)
                else:
                    waiter.add_result(self)
            self._condition.notify_all()
        _run_callbacks(self, callbacks)


Future.__module__ = "eventide"
_native.adopt_methods(Future)


def _run_callbacks(future: Future[Any], callbacks: list[Callable[[Any], object]]) -> None:
    for callback in callbacks:
        try:
            callback(future)
        except Exception as error:  # noqa: BLE001 - errors of callbacks are logged
            report_callback_error("Future", callback, error)
