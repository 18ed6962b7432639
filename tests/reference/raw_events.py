"""The complete events of a Kineto file as plain dicts, from `json.loads` alone; times in whole nanoseconds."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

Event = dict[str, Any]
WORK = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}


@lru_cache(maxsize=2)
def raw_events(path: Path) -> list[Event]:
    """Each event with `start` and `end`, and its category in small letters."""
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data, strict=False)
    found = []
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and event.get("dur") is not None:
            start = round(event["ts"] * 1000)
            times = {"start": start, "end": start + round(event["dur"] * 1000)}
            found.append({**event, **times, "cat": str(event.get("cat", "")).lower(), "args": event.get("args") or {}})
    return found


def work_of(path: Path) -> list[Event]:
    return [event for event in raw_events(path) if event["cat"] in WORK]


def calls_by_correlation(path: Path) -> dict[int, Event]:
    """Calls into the runtime or driver."""
    return {
        event["args"]["correlation"]: event
        for event in raw_events(path)
        if event["cat"].endswith(("runtime", "driver")) and "correlation" in event["args"]
    }
