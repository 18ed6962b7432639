"""Chrome's JSON events, decoded in plain Python, and whether the spans of each thread nest."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any


@dataclass
class Seen:
    spans: list[tuple[str, int, int | None]] = field(default_factory=list)
    instants: list[tuple[str, int]] = field(default_factory=list)
    counters: list[dict[str, Any]] = field(default_factory=list)
    crossings: list[tuple[Any, Any]] = field(default_factory=list)  # spans of one thread that overlap in part


def read(document: dict[str, Any]) -> Seen:
    seen = Seen()
    base = document["baseTimeNanoseconds"]
    threads: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in document["traceEvents"]:
        if event["ph"] == "C":
            seen.counters.append(event)
        if event["ph"] not in {"X", "B", "i"}:
            continue
        time = nanoseconds(event["ts"]) + base
        if event["ph"] == "i":
            seen.instants.append((event["name"], time))
            continue
        duration = nanoseconds(event["dur"]) if event["ph"] == "X" else None
        seen.spans.append((event["name"], time, duration))
        end = 2**63 if duration is None else time + duration
        threads.setdefault((event["pid"], event["tid"]), []).append((time, end))
    for spans in threads.values():
        for i, (start, end) in enumerate(spans):
            seen.crossings += [((start, end), other) for other in spans[:i] if start < other[0] < end < other[1]]
            seen.crossings += [((start, end), other) for other in spans[:i] if other[0] < start < other[1] < end]
    return seen


def nanoseconds(microseconds: float | Decimal) -> int:
    """Of numbers read as decimals, exactly what was written."""
    return round(Fraction(microseconds) * 1000)
