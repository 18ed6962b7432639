"""Those who hear each compile, nested ones too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from eventide.compiling._record import CompileRecord
from eventide.errors import report_callback_error

EachCallback = Callable[[CompileRecord], object]


class CompileSubscription:
    """Hearing each compile, until closed. Closes twice without harm, and at the end of a ``with`` block."""

    __slots__ = ("__weakref__", "_listeners", "callback")

    def __init__(self, listeners: Listeners, callback: EachCallback) -> None:
        self.callback = callback
        self._listeners: Listeners | None = listeners

    @property
    def closed(self) -> bool:
        """True once ``close()`` was called."""
        return self._listeners is None

    def close(self) -> None:
        """Stop listening; a record that is being handed out still reaches the callbacks it began with."""
        listeners, self._listeners = self._listeners, None
        if listeners is not None:
            listeners.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<CompileSubscription of {self.callback!r}{', closed' if self.closed else ''}>"


class Listeners:
    """The subscriptions of one handler. `_all` is replaced, never changed: whoever walks it has a snapshot."""

    def __init__(self) -> None:
        self._all: tuple[CompileSubscription, ...] = ()
        self._lock = threading.Lock()  # guards the replacing of _all; nobody is called under it
        self._busy = threading.local()  # .now: subscriptions whose callback runs on this thread
        self.errors = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, callback: EachCallback) -> CompileSubscription:
        """Listen."""
        subscription = CompileSubscription(self, callback)
        with self._lock:
            self._all = (*self._all, subscription)
        return subscription

    def remove(self, subscription: CompileSubscription) -> None:
        """Listen no more."""
        with self._lock:
            self._all = tuple(kept for kept in self._all if kept is not subscription)

    def tell(self, record: CompileRecord) -> None:
        """Hand out a record. A callback that compiles does not hear of that compile: it would never end."""
        busy: set[CompileSubscription] = self._busy.__dict__.setdefault("now", set())
        for subscription in self._all:
            if subscription in busy:
                continue
            busy.add(subscription)
            try:
                subscription.callback(record)
            except Exception as error:  # noqa: BLE001  (a listener never breaks the compile it hears of)
                self.errors += 1
                report_callback_error("compile", subscription.callback, error)
            finally:
                busy.discard(subscription)
