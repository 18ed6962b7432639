"""The tables of one rank, from its trace: everything about it that a question across ranks needs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from eventide.analysis import COMMUNICATION, COMPUTE, COPY, Shares, View, breakdown, shares, steps_of
from eventide.jobs._collectives import Collective, find_collectives
from eventide.jobs._schema import CLOCK, CLOCK_PAIRS, COLLECTIVES, STEPS, WHOLE
from eventide.jobs._summary import summary_of
from eventide.trace import Trace

GC, HOST = 8, 16  # bits beside those of device work: garbage collection, operators of the host
_COLLECTOR = re.compile(r"^(python )?(gc|gc\.collect|garbage[ _]collection)\b", re.IGNORECASE)
_PIPELINE = re.compile(r"pipeline|(^|[_-])pp($|[_-])", re.IGNORECASE)
_NO_TIME = np.iinfo(np.int64).min


def rank_tables(trace: Trace, rank: int | None) -> dict[str, pa.Table]:
    """Those of `TABLES`."""
    view = View(trace)
    collectives = _collectives(view, rank)
    return {
        "steps": _steps(view, collectives),
        "collectives": collectives,
        "summary": summary_of(view),
        "clock": _clock(view, rank),
        "clock_pairs": _clock_pairs(view),
    }


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def _host_parts(windows: list[tuple[int, int]], collectives: pa.Table) -> dict[int, dict[str, int]]:
    """Of a rank without a device, by begin of the window: its time in collectives, and all other time as its own."""
    if collectives.num_rows == 0:
        return {}
    rows = {COMMUNICATION: tuple(collectives.column(name).to_numpy() for name in ("start", "end"))}
    starts, ends = np.array(windows, np.int64).T
    inside = shares(rows).within(starts, ends).get(COMMUNICATION, np.zeros(len(windows), np.int64))
    return {
        start: {"compute": end - start - spent, "communication": spent, "copy": 0, "overlap": 0, "idle": 0}
        for (start, end), spent in zip(windows, inside.tolist(), strict=True)
    }


def _steps(view: View, collectives: pa.Table) -> pa.Table:
    """Each step, or the whole trace as one; the parts of several devices are added up."""
    parts: dict[int, dict[str, int]] = {}
    whole = breakdown(view)
    steps = steps_of(view)
    for device in whole.devices:
        for part in device.steps[:-1] if steps else (device.whole,):
            into = parts.setdefault(
                part.start, dict.fromkeys(("compute", "communication", "copy", "overlap", "idle"), 0)
            )
            for name in ("compute", "communication", "copy", "idle"):
                into[name] += getattr(part, name)
            into["overlap"] += sum(part.overlap.values())
    windows = [(step.name, step.start, step.end) for step in steps] or [(WHOLE, *view.window)]
    if not whole.devices:
        parts = _host_parts([(start, end) for _, start, end in windows], collectives)
    rows = [{"step": name, "start": start, "end": end, **parts.get(start, {})} for name, start, end in windows]
    return _table(rows, STEPS)


def _collectives(view: View, rank: int | None) -> pa.Table:
    found = find_collectives(view, rank)
    rows = np.array([each.span for each in found], np.int64)
    start, end = view.start[rows], view.end[rows]
    device = view.on_kind("stream")
    on_device = len(rows) > 0 and bool(device[rows[0]])
    masks = _device_masks(view) if on_device else _host_masks(view, rows)
    exposed = masks.within(start, end).get(COMMUNICATION) if on_device else None
    begin = _begins(view, start, end)
    before = masks.within(begin, start)
    parts = {name: _sum(before, len(rows), fits) for name, fits in _PARTS.items()}
    columns = {
        **{name: [getattr(each, name) for each in found] for name in ("key", "kind", "group", "group_ranks", "step")},
        "start": start,
        "end": end,
        "submit": [time if time > _NO_TIME else None for time in view.submit[rows].tolist()],
        "bytes": [each.bytes for each in found],
        "exposed": exposed if exposed is not None else [None if on_device is False else 0] * len(rows),
        "provides": [each.provides for each in found],
        "receives": [each.receives for each in found],
        "before": start - begin,
        **parts,
        "how": [each.how for each in found],
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in COLLECTIVES], schema=COLLECTIVES)


_PARTS = {
    "before_compute": lambda mask: mask & (COMPUTE | HOST),
    "before_copy": lambda mask: mask & COPY and not mask & (COMPUTE | HOST),
    "before_gc": lambda mask: mask == GC,
    "before_idle": lambda mask: mask == 0,
}


def _sum(before: dict[int, Any], rows: int, fits: Any) -> Any:
    return sum((time for mask, time in before.items() if fits(mask)), np.zeros(rows, np.int64))


def _collector(view: View) -> Any:
    wanted = np.array([_COLLECTOR.match(word) is not None for word in view.names], bool)
    return np.flatnonzero(wanted[view.name] & view.on_kind("thread")) if view.count else np.empty(0, np.int64)


def _device_masks(view: View) -> Shares:
    """What runs on any device of the rank at each moment, and whether the host collects garbage."""
    sets = {bit: np.flatnonzero(view.bits == bit) for bit in (COMPUTE, COMMUNICATION, COPY)}
    sets[GC] = _collector(view)
    return shares({bit: (view.start[rows], view.end[rows]) for bit, rows in sets.items()})


def _host_masks(view: View, collectives: Any) -> Shares:
    """Without a device: operators of the host's threads, but those that carry out a collective."""
    rows = np.flatnonzero(view.in_categories("op", "module", "kernel", "work") & (view.end > view.start))
    carries = [re.match(r"(gloo|nccl|mpi|c10d):|record_param_comms", word) is not None for word in view.names]
    rows = rows[~np.array(carries, bool)[view.name[rows]]] if len(rows) else rows
    sets = {HOST: np.setdiff1d(rows, collectives), GC: _collector(view)}
    return shares({bit: (view.start[here], view.end[here]) for bit, here in sets.items()})


def _begins(view: View, start: Any, end: Any) -> Any:
    """From when the rank was on its way to each collective: the latest end of those before, or the step's begin."""
    if len(start) == 0:
        return start
    steps = steps_of(view)
    first = np.full(len(start), min(view.window[0], int(start.min())), np.int64)
    if steps:
        starts = np.array([step.start for step in steps], np.int64)
        place = np.searchsorted(starts, start, side="right") - 1
        first = np.where(place >= 0, starts[np.maximum(place, 0)], first)
    ends = np.concatenate(([_NO_TIME], np.maximum.accumulate(end)[:-1]))
    return np.minimum(np.maximum(first, ends), start)


def _clock(view: View, rank: int | None) -> pa.Table:
    about = view.trace.metadata
    process = about.get("process")
    process = process if isinstance(process, dict) else {}
    first, last = view.window
    row = {
        "clock": str((about.get("clock") or {}).get("name") or "unknown"),
        "resolution": _resolution(view),
        "first": first,
        "last": last,
        "host": _text(about.get("host") or about.get("hostname") or process.get("host")),
        "world_size": _number(about.get("world_size")) or _number(process.get("world_size")),
        "stage": _stage(about, rank),
        "cut": _cut(about),
        "identity": _text(process.get("clock")) if _is_hosts(view) else None,
    }
    return _table([row], CLOCK)


def _is_hosts(view: View) -> bool:
    """Whether its times are still those of the host's clock: not virtual, and not of another recorder."""
    return (view.trace.metadata.get("clock") or {}).get("name") == "CLOCK_MONOTONIC"


def _clock_pairs(view: View) -> pa.Table:
    about = view.trace.metadata.get("clock_pairs")
    about = about if isinstance(about, dict) and _is_hosts(view) else {}
    peer = _number(about.get("rank"), 0)
    pairs = about.get("pairs") if peer is not None else None
    fits = [pair for pair in pairs or () if isinstance(pair, list) and len(pair) == 4 and all(map(_is_time, pair))]
    return _table([dict(zip(CLOCK_PAIRS.names, (peer, *pair), strict=True)) for pair in fits], CLOCK_PAIRS)


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _resolution(view: View) -> int:
    """The step of the clock: 1000 ns if every time is whole microseconds."""
    times = np.concatenate([view.start, view.end])
    return next((step for step in (1_000_000, 1000) if len(times) and not (times % step).any()), 1)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any, least: int = 1) -> int | None:
    return value if isinstance(value, int) and least <= value < 2**31 else None


def _stage(about: dict[str, Any], rank: int | None) -> int | None:
    """Its place in a process group that is described as a pipeline."""
    groups = (about.get("distributed") or {}).get("pg_config")
    for group in groups if isinstance(groups, list) else []:
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(ranks, list) and rank in ranks and len(ranks) > 1 and _PIPELINE.search(str(group.get("pg_desc"))):
            return ranks.index(rank)
    return None


def _cut(about: dict[str, Any]) -> str | None:
    account = about.get("account") or {}
    lost = {name: _total(account.get(name)) for name in ("lost_bytes", "dropped")}
    if any(lost.values()):
        return ", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in lost.items() if count)
    return "the file has no end" if account.get("end") == "open" and about.get("source") == "kineto" else None


def _total(counts: Any) -> int:
    """A count, or the sum of those of each table."""
    return sum(map(_total, counts.values())) if isinstance(counts, dict) else counts if isinstance(counts, int) else 0


__all__ = ["Collective", "rank_tables"]
