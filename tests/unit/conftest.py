"""Fixtures of the unit tests: streams that are closed and gates that are opened whatever the test does."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

import eventide as et
from tests.helpers import TIMEOUT, Gate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def make_stream() -> Iterator[Callable[..., et.Stream]]:
    streams: list[et.Stream] = []

    def make(*args: Any, **kwargs: Any) -> et.Stream:
        stream = et.Stream(*(args or ("cpu",)), **kwargs)
        streams.append(stream)
        return stream

    yield make
    for stream in streams:
        with contextlib.suppress(Exception):  # an error that the test left in the stream is the test's business
            stream.close(timeout=TIMEOUT)


@pytest.fixture
def stream(make_stream: Callable[..., et.Stream]) -> et.Stream:
    return make_stream()


@pytest.fixture
def other(make_stream: Callable[..., et.Stream]) -> et.Stream:
    return make_stream()


@pytest.fixture
def make_gate(make_stream: Callable[..., et.Stream]) -> Iterator[Callable[[], Gate]]:
    """Uses `make_stream`, so it is torn down before it: no stream is drained while a gate is shut."""
    gates: list[Gate] = []

    def make() -> Gate:
        gates.append(Gate())
        return gates[-1]

    yield make
    for gate in gates:
        gate.open()


@pytest.fixture
def gate(make_gate: Callable[[], Gate]) -> Gate:
    return make_gate()


@pytest.fixture
def pool() -> et.EventPool:
    return et.EventPool("cpu")
