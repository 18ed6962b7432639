"""Helpers of checks: work that fails, a call on another thread, a log handler."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from eventide.testing.conformance._expect import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


class Boom(Exception):  # noqa: N818 - it reads best where it is raised
    """The error that work raises in checks."""


def boom(message: str = "boom") -> None:
    """Work that fails."""
    raise Boom(message)


class Background(Generic[T]):
    """A call on its own thread."""

    def __init__(self, call: Callable[[], T], timeout: float) -> None:
        self._call = call
        self._timeout = timeout
        self._values: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="conformance-background", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # noqa: BLE001 - handed to the check
            self._error = error

    @property
    def ended(self) -> bool:
        """Whether the call has returned or raised."""
        return bool(self._values) or self._error is not None

    def error(self) -> BaseException | None:
        """What the call raised, if anything."""
        self._thread.join(self._timeout)
        expect(not self._thread.is_alive(), "a call on another thread never returned")
        return self._error

    def result(self) -> T:
        """What the call returned; raises what it raised."""
        if (error := self.error()) is not None:
            raise error
        return self._values[0]


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextlib.contextmanager
def logged(name: str) -> Iterator[list[logging.LogRecord]]:
    """The records of a logger, which are not printed."""
    handler, logger = _Collector(), logging.getLogger(name)
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler.records
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
