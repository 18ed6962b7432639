"""Faulty devices in Python: by default the one of examples/tiny_device.py, with some methods replaced."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import eventide as et
from examples.tiny_device import Tiny
from tests.integration.plugin_devices import unregister

_numbers = itertools.count(1)


def raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    """A method that raises."""

    def method(*_: object) -> Any:
        raise error

    return method


def giving(value: object) -> Callable[..., Any]:
    """A method that returns a value, whatever it is given."""
    return lambda *_: value


class Once:
    """A method that raises the first time, from the moment it is armed, and is correct before and afterwards."""

    def __init__(self, name: str, error: BaseException) -> None:
        self.right, self.error, self.armed = getattr(Tiny, name), error, False

    def __get__(self, backend: Any, _: type) -> Callable[..., Any]:
        return lambda *given: self.call(backend, *given)

    def call(self, backend: Any, *given: object) -> Any:
        if self.armed:
            self.armed = False
            raise self.error
        return self.right(backend, *given)


@contextlib.contextmanager
def faulty(backend: type[Any] = Tiny, **methods: Any) -> Iterator[et.Device]:
    """A device with these methods, under a unique name; unregistered afterwards."""
    name = f"wrongpy{next(_numbers)}"  # those of C++ are faulty1 ...
    et.Device.register(type("Faulty", (backend,), {**methods, "type": name, "__doc__": "Faulty on purpose"}))
    yield et.Device(name)
    unregister(name)  # not after an error, which is the one to report


@contextlib.contextmanager
def unraisable() -> Iterator[list[str]]:
    """Errors that Python passed to sys.unraisablehook, as texts."""
    reports: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda report: reports.append(f"{type(report.exc_value).__name__}: {report.exc_value}")
    try:
        yield reports
    finally:
        sys.unraisablehook = before
