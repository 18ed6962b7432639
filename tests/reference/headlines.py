"""What a headline may claim, from the raw JSON in plain Python: busy and blocked time, the longest gaps."""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORK = {"kernel", "concurrent_kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events"}
CALL = re.compile(r"(\w+_)?(runtime|driver)$", re.IGNORECASE)
HOST = {"cpu_op", "operator", "user_annotation", "python_function"}
STAGING = 100_000  # ns: a call that copies pageable memory returns at most this long before its copy ends

Interval = tuple[int, int]


@dataclass
class Slice:
    name: str
    category: str
    place: tuple[Any, Any]
    start: int
    end: int
    args: dict[str, Any]


@dataclass
class Facts:
    """Of the busiest device of one file; times are nanoseconds."""

    window: int
    busy: int
    idle: int
    blocked: int  # idle time in which a thread that launches work was in a blocking call
    longest: list[tuple[int, int, str]]  # start, length, the host slice that fills most of it ("" for none)


def facts_of(path: Path) -> Facts | None:
    """None for a file without device work."""
    slices = _slices(path)
    work = [s for s in slices if s.category in WORK and not s.name.startswith("event_")]
    calls = [s for s in slices if CALL.match(s.category)]
    host = calls + [s for s in slices if s.category in HOST]
    if not work:
        return None
    begin = min(s.start for s in work + host)
    end = max(s.end for s in work + host)
    devices = {s.args.get("device", s.place[0]) for s in work}
    merged = [union([(s.start, s.end) for s in work if s.args.get("device", s.place[0]) == d]) for d in devices]
    running = max(merged, key=total)
    gaps = _between(running, begin, end)
    blocking = union([(s.start, s.end) for s in _blocking(calls, work)])
    longest = sorted(gaps, key=lambda gap: gap[0] - gap[1])[:10]
    filled = [(low, high - low, _filler(host, low, high)) for low, high in longest]
    return Facts(end - begin, total(running), total(gaps), _overlap(gaps, blocking), filled)


def _slices(path: Path) -> list[Slice]:
    document = json.loads(gzip.decompress(path.read_bytes()), strict=False)
    return [
        Slice(
            str(event.get("name", "")),
            str(event.get("cat", "")).lower(),
            (event.get("pid"), event.get("tid")),
            round(event["ts"] * 1000),
            round((event["ts"] + event["dur"]) * 1000),
            event.get("args") or {},
        )
        for event in document["traceEvents"]
        if event.get("ph") == "X" and event.get("dur") is not None
    ]


def _blocking(calls: list[Slice], work: list[Slice]) -> list[Slice]:
    """Synchronizations, and copies with host memory that is not pinned whose end the call waited for."""
    launched = {s.args["correlation"]: s for s in work if s.args.get("correlation")}
    threads = {s.place for s in calls if s.args.get("correlation") in launched}
    found = []
    for call in calls:
        if call.place not in threads:
            continue
        if "synchronize" in call.name.lower():
            found.append(call)
        copy = launched.get(call.args.get("correlation")) if "memcpy" in call.name.lower() else None
        waits = copy and not re.search("Pinned|Device -> Device|DtoD", copy.name) and copy.start < call.end
        if copy and waits and copy.end <= call.end + STAGING:
            found.append(call)
    return found


def union(intervals: list[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def total(intervals: list[Interval]) -> int:
    return sum(high - low for low, high in intervals)


def _between(running: list[Interval], begin: int, end: int) -> list[Interval]:
    edges = [begin, *(time for interval in running for time in interval), end]
    return [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if high > low]


def _overlap(one: list[Interval], other: list[Interval]) -> int:
    """Both are disjoint and sorted."""
    starts = [low for low, _ in other]
    found = 0
    for low, high in one:
        place = max(bisect_right(starts, low) - 1, 0)
        while place < len(other) and other[place][0] < high:
            found += max(0, min(high, other[place][1]) - max(low, other[place][0]))
            place += 1
    return found


def _filler(host: list[Slice], low: int, high: int) -> str:
    """The host name that covers most of an interval, as the shortest such slice; Python frames only if nothing else."""
    share: Counter[str] = Counter()
    length: dict[str, int] = {}
    for s in host:
        covered = min(high, s.end) - max(low, s.start)
        if covered > 0 and not s.name.startswith("ProfilerStep"):
            share[s.name] += covered
            length[s.name] = min(length.get(s.name, s.end - s.start), s.end - s.start)
    full = [name for name, covered in share.items() if covered * 2 > high - low]
    return min(full, key=lambda name: length[name], default="")
