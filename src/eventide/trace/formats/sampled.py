"""Writes the sampled stacks of a trace for viewers of flame graphs: collapsed stacks, and speedscope's JSON.

A sample at which the thread waited has the frame "waiting" innermost, as in the flame graph of the page.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow.compute as pc

from eventide._util.internal_frames import is_own_frame
from eventide.errors import UsageValueError
from eventide.trace._trace import Trace

Frame = tuple[str, str, int]  # function, file, line
_WAITING: Frame = ("waiting", "", 0)
_TRACK = "samples of "  # what the sampler puts before the name of a thread
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_collapsed(trace: Trace, path: Path) -> None:
    """A line for each stack: `thread;outermost;...;innermost COUNT`, as flamegraph.pl and others read."""
    lines = []
    for name, stacks in _threads(trace):
        counts = Counter(";".join([_plain(name), *(_plain(function) for function, _, _ in stack)]) for stack in stacks)
        lines += [f"{stack} {count}\n" for stack, count in counts.items()]
    path.write_text("".join(lines), "utf-8")


def write_speedscope(trace: Trace, path: Path) -> None:
    """A profile for each thread, one unit a sample."""
    numbers: dict[Frame, int] = {}
    profiles = []
    for name, stacks in _threads(trace):
        profiles.append(
            {
                "type": "sampled",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": len(stacks),
                "samples": [[numbers.setdefault(frame, len(numbers)) for frame in stack] for stack in stacks],
                "weights": [1] * len(stacks),
            }
        )
    frames = [{"name": function, "file": file, "line": line} for function, file, line in numbers]
    document = {"$schema": _SCHEMA, "shared": {"frames": frames}, "profiles": profiles, "exporter": "eventide"}
    path.write_text(json.dumps(document), "utf-8")


def _threads(trace: Trace) -> list[tuple[str, list[tuple[Frame, ...]]]]:
    """(name, stacks in the order of time, outermost frame first) of each sampled thread, running and waiting.

    Frames of this package are left out, and so are stacks that have no others.
    """
    instants = trace.instants
    chosen = instants.filter(pc.equal(pc.cast(instants.column("category"), "string"), "sample")).sort_by("time")
    chosen = chosen.filter(pc.is_valid(chosen.column("stack")))
    if not chosen.num_rows:
        raise UsageValueError("the trace has no sampled stacks; record with eventide run, without --sample 0")
    waits = pc.fill_null(pc.match_substring(chosen.column("args"), '"waiting"'), False).to_pylist()
    rows = zip(chosen.column("track").to_pylist(), chosen.column("stack").to_pylist(), waits, strict=True)
    known: dict[int, tuple[Frame, ...]] = {}
    found: dict[int, list[tuple[Frame, ...]]] = {}
    for track, stack, waited in rows:
        if stack not in known:
            known[stack] = _frames(trace, stack)
        if known[stack]:
            found.setdefault(track, []).append((*known[stack], _WAITING) if waited else known[stack])
    names = _names(trace, list(found))
    return [(names[track], stacks) for track, stacks in found.items()]


def _names(trace: Trace, tracks: list[int]) -> dict[int, str]:
    """Of the sampled threads, with the process where there are several."""
    rows = {track: trace.tracks.slice(track, 1).to_pylist()[0] for track in tracks}
    several = len({row["pid"] for row in rows.values()}) > 1
    ranks = {one.get("pid"): one.get("rank") for one in trace.metadata.get("processes") or ()}
    found = {}
    for track, row in rows.items():
        rank = ranks.get(row["pid"])
        process = f" of process {row['pid']}" if rank is None else f" of rank {rank}"
        found[track] = (row["name"] or f"track {track}").removeprefix(_TRACK) + (process if several else "")
    return found


def _frames(trace: Trace, stack: int) -> tuple[Frame, ...]:
    """The outermost first."""
    frames = reversed(trace.stacks.column("frames")[stack].as_py() or [])
    return tuple((one["function"], one["file"], one["line"]) for one in frames if not is_own_frame(one["file"] or ""))


def _plain(name: str | None) -> str:
    """Without what separates frames and lines."""
    return " ".join((name or "?").replace(";", ":").split())
