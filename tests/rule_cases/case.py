"""A rule of `eventide.report.rules` proven both ways: it fires with these numbers on one trace, and not on another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from eventide.trace import Trace
from tests.trace_builder import Builder


@dataclass(frozen=True)
class Case:
    rule: str
    fires: Callable[[], Trace]
    values: dict[str, Any]  # some of the finding's, as computed by hand
    silent: Callable[[], Trace]
    says: str = ""  # a part of the sentence
    remedy: str | None = None  # the whole remedy
    confidence: str = "recorded"
    more: dict[str, Any] = field(default_factory=dict)  # other fields of the finding


def made(builder: Builder, **metadata: Any) -> Callable[[], Trace]:
    return lambda: builder.trace(**{"source": "test", **metadata})


def busy() -> Builder:
    """A device that computes from 2 to 1000 of 1000 ns, and a host that launched in time."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 500)
    b.launch((10, 12), "gemm", 500, 1000)
    return b


def gap(*, call: tuple[int, int] = (890, 900), inside: tuple[str, int, int, str] | None = None) -> Builder:
    """Work from 2 to 100, a call of the host, and work from 900 to 1000 of 1000 ns."""
    b = Builder()
    b.launch((0, 2), "gemm", 2, 100)
    if inside is not None:
        name, start, end, category = inside
        b.span(b.thread(), name, start, end, category)
    b.launch(call, "gemm", 900, 1000)
    return b
