"""What a headline may claim, from the raw JSON in plain Python: busy and blocked time, the longest gaps."""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
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
class Device:
    """What one device did; `exposed` is time with nothing but communication, or nothing but copies."""

    busy: int
    gaps: list[Interval]
    after_launch: int  # of the gaps: after the launching call of the next work, or before work without a call
    before_first: int  # the part of it before the first work
    communication: int
    exposed: dict[str, int]


@dataclass
class Facts:
    """Of one file; `busy`, `idle`, `blocked` and `longest` of its busiest device, `gaps` too. Times are nanoseconds."""

    begin: int
    window: int
    busy: int
    idle: int
    gaps: list[Interval]
    blocked: int  # idle time in which a thread that launches work was in a blocking call
    longest: list[tuple[int, int, str]]  # start, length, the host slice that fills most of it ("" for none)
    devices: dict[int, Device]  # by the number in their name
    blocking: list[
        tuple[Slice, Slice | None]
    ]  # calls of all threads that block; the work that each waited for, if known
    host: list[Slice]
    launching: list[Interval]  # when any thread was in a call that launched work
    steps: list[int]  # their lengths
    ties_waits: bool  # whether rows say what a stream waited for

    def filler(self, low: int, high: int) -> str:
        """The name that fills more than half of an interval."""
        return _filler(self.host, low, high)

    def filled(self, name: str, low: int, high: int) -> float:
        """The share of an interval that host slices of this name cover."""
        mine = union([(max(s.start, low), min(s.end, high)) for s in self.host if s.name == name and s.start < high])
        return total([one for one in mine if one[1] > one[0]]) / max(high - low, 1)


def facts_of(path: Path) -> Facts | None:
    """None for a file without device work."""
    slices = _slices(path)
    work = [s for s in slices if s.category in WORK and not s.name.startswith("event_")]
    devices = {s.place[0] for s in work}  # MTIA has calls of the device itself in its process
    calls = [s for s in slices if CALL.match(s.category) and s.place[0] not in devices]
    host = calls + [s for s in slices if s.category in HOST]
    if not work:
        return None
    begin = min(s.start for s in work + host)
    end = max(s.end for s in work + host)
    by_device: dict[int, list[Slice]] = {}
    for s in work:
        by_device.setdefault(int(s.args.get("device", s.place[0])), []).append(s)
    callers = {s.args["correlation"]: s for s in calls if s.args.get("correlation")}
    done = {number: _device(mine, callers, begin, end) for number, mine in by_device.items()}
    busiest = max(done.values(), key=lambda device: device.busy)
    launched = {s.args["correlation"]: s for s in work if s.args.get("correlation")}
    launching = [s for s in calls if s.args.get("correlation") in launched]
    blocking = _outermost(_blocking(calls, launched) + _launches_that_wait(calls, work))
    blocking = [(call, awaited or _last_of_thread(call, launching, launched)) for call, awaited in blocking]
    threads = {s.place for s in launching}
    gaps = busiest.gaps
    blocked = overlap(gaps, union([(s.start, s.end) for s, _ in blocking if s.place in threads]))
    longest = sorted(gaps, key=lambda gap: gap[0] - gap[1])[:10]
    filled = [(low, high - low, _filler(host, low, high)) for low, high in longest]
    steps = [s.end - s.start for s in slices if s.name.startswith("ProfilerStep") and not s.category.startswith("gpu_")]
    ties = any(int(s.args.get("wait_on_cuda_event_record_corr_id", 0)) > 0 for s in slices if "Wait" in s.name)
    return Facts(
        begin, end - begin, busiest.busy, total(gaps), gaps, blocked, filled, done, blocking, host,
        union([(s.start, s.end) for s in launching]), steps, ties,
    )  # fmt: skip


def _device(work: list[Slice], callers: dict[Any, Slice], begin: int, end: int) -> Device:
    running = union([(s.start, s.end) for s in work])
    gaps = _between(running, begin, end)
    first: dict[int, Slice] = {}
    for s in work:
        first.setdefault(s.start, s)
    after = before_first = 0
    for low, high in gaps:
        call = callers.get(first[high].args.get("correlation")) if high in first else None
        if high in first:
            rest = high - min(max(call.end if call else low, low), high)
            after, before_first = after + rest, before_first + (rest if low == begin else 0)
    kinds = {"communication": [], "copy": [], "compute": []}  # type: dict[str, list[Interval]]
    for s in work:
        copy = "mem" in s.category or re.match("mem(cpy|set)|dma", s.name, re.IGNORECASE)
        kinds["copy" if copy else "communication" if "nccl" in s.name.lower() else "compute"].append((s.start, s.end))
    merged = {kind: union(times) for kind, times in kinds.items()}
    exposed = {}
    for kind, times in merged.items():
        others = union([one for other, more in merged.items() if other != kind for one in more])
        exposed[kind] = total(times) - overlap(times, others)
    return Device(total(running), gaps, after, before_first, total(merged["communication"]), exposed)


def _slices(path: Path) -> list[Slice]:
    document = json.loads(gzip.decompress(path.read_bytes()), strict=False, parse_float=Decimal)
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


def _outermost(blocking: list[tuple[Slice, Slice | None]]) -> list[tuple[Slice, Slice | None]]:
    """Without those that lie in another one of their thread."""
    found: list[tuple[Slice, Slice | None]] = []
    until: dict[Any, int] = {}
    for call, copy in sorted(blocking, key=lambda one: (one[0].start, -one[0].end)):
        if call.end > until.get(call.place, 0):
            found.append((call, copy))
            until[call.place] = call.end
    return found


def _last_of_thread(call: Slice, launching: list[Slice], launched: dict[Any, Slice]) -> Slice | None:
    """What the thread launched last before the call, in the order of the file where calls begin together."""
    before = [s for s in launching if s.place == call.place and s.start < call.start]
    return launched[max(before, key=lambda s: s.start).args["correlation"]] if before else None


def _blocking(calls: list[Slice], launched: dict[Any, Slice]) -> list[tuple[Slice, Slice | None]]:
    """Synchronizations, and copies with host memory that is not pinned whose end the call waited for."""
    found: list[tuple[Slice, Slice | None]] = []
    for call in calls:
        if "synchronize" in call.name.lower():
            found.append((call, None))
        copy = launched.get(call.args.get("correlation")) if "memcpy" in call.name.lower() else None
        waits = copy and not re.search("Pinned|Device -> Device|DtoD", copy.name) and copy.start < call.end
        if copy and waits and copy.end <= call.end + STAGING:
            found.append((call, copy))
    return found


def _launches_that_wait(calls: list[Slice], work: list[Slice]) -> list[tuple[Slice, Slice | None]]:
    """Calls of a name that returns, nine times of ten, as the 50 us of work or more that it launched end."""
    ended: dict[Any, Slice] = {}
    for s in work:
        of = s.args.get("correlation")
        if of and "mem" not in s.category and (of not in ended or ended[of].end < s.end):
            ended[of] = s
    by_name: dict[str, list[tuple[Slice, Slice]]] = {}
    for call in calls:
        if (last := ended.get(call.args.get("correlation"))) is not None:
            by_name.setdefault(call.name, []).append((call, last))
    found: list[tuple[Slice, Slice | None]] = []
    for pairs in by_name.values():
        long = [(call, s) for call, s in pairs if s.end - s.start >= 50_000]
        late = [s.end - call.end for call, s in long if 2 * (s.end - call.end) <= min(100_000, s.end - s.start)]
        if len(long) >= 3 and len(late) * 10 >= 9 * len(long):
            found += [(call, s) for call, s in pairs if s.end <= call.end + max(0, *late)]
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


def overlap(one: list[Interval], other: list[Interval]) -> int:
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
    """The host name that covers over half of an interval; of several the one with the shortest slices around it."""
    share: Counter[str] = Counter()
    length: Counter[str] = Counter()
    for s in host:
        covered = min(high, s.end) - max(low, s.start)
        if covered > 0 and not s.name.startswith("ProfilerStep"):
            share[s.name] += covered
            length[s.name] += covered * (s.end - s.start)
    full = [name for name, covered in share.items() if covered * 2 > high - low]
    return min(full, key=lambda name: length[name] / share[name], default="")
