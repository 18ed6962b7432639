"""The handle of a registration: closing it is the way to unregister."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Subscription:
    """A registration that lasts until it is closed: by ``close()``, or at the end of a ``with`` block.

    Subscriptions close in any order. Closing one twice has no effect.
    """

    __slots__ = ("__weakref__", "_close", "_what")

    def __init__(self, what: str, close: Callable[[], object]) -> None:
        self._what = what
        self._close: Callable[[], object] | None = close

    @property
    def closed(self) -> bool:
        """True once ``close()`` was called."""
        return self._close is None

    def close(self) -> None:
        """Unregister. A call that is in progress on another thread still reaches the callback."""
        close, self._close = self._close, None
        if close is not None:
            close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Subscription to {self._what}{', closed' if self.closed else ''}>"


Subscription.__module__ = "eventide.hooks"
