"""Writes the sampled stacks of a trace for viewers of flame graphs: collapsed stacks, and speedscope's JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from eventide.errors import UsageValueError
from eventide.trace._trace import Trace

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write_collapsed(trace: Trace, path: Path) -> None:
    """A line for each stack: `thread;outermost;...;innermost COUNT`, as flamegraph.pl and others read."""
    lines = []
    for name, stacks in _threads(trace):
        for stack, count in sorted(Counter(stacks).items()):
            frames = [_plain(one["function"]) for one in reversed(_frames(trace, stack))]
            lines.append(f"{';'.join([_plain(name), *frames])} {count}\n")
    path.write_text("".join(lines), "utf-8")


def write_speedscope(trace: Trace, path: Path) -> None:
    """A profile for each thread, one unit a sample."""
    numbers: dict[tuple[str, str, int], int] = {}
    profiles = []
    for name, stacks in _threads(trace):
        by_stack = {
            stack: [
                numbers.setdefault((one["function"], one["file"], one["line"]), len(numbers))
                for one in reversed(_frames(trace, stack))
            ]
            for stack in dict.fromkeys(stacks)
        }
        profiles.append(
            {
                "type": "sampled",
                "name": name,
                "unit": "none",
                "startValue": 0,
                "endValue": len(stacks),
                "samples": [by_stack[stack] for stack in stacks],
                "weights": [1] * len(stacks),
            }
        )
    frames = [{"name": function, "file": file, "line": line} for function, file, line in numbers]
    document = {"$schema": _SCHEMA, "shared": {"frames": frames}, "profiles": profiles, "exporter": "eventide"}
    path.write_text(json.dumps(document), "utf-8")


def _threads(trace: Trace) -> list[tuple[str, list[int]]]:
    """(name, stacks in the order of time) of each sampled thread; the samples at which it ran and those it waited."""
    instants = trace.instants
    chosen = instants.filter(pc.equal(pc.cast(instants.column("category"), "string"), "sample")).sort_by("time")
    chosen = chosen.filter(pc.is_valid(chosen.column("stack")))
    if not chosen.num_rows:
        raise UsageValueError("the trace has no sampled stacks; record with eventide run, without --sample 0")
    names = trace.tracks.column("name").to_pylist()
    found: dict[int, list[int]] = {}
    for track, stack in zip(chosen.column("track").to_pylist(), chosen.column("stack").to_pylist(), strict=True):
        found.setdefault(track, []).append(stack)
    return [(names[track] or f"track {track}", stacks) for track, stacks in found.items()]


def _frames(trace: Trace, stack: int) -> list[dict[str, Any]]:
    return trace.stacks.column("frames")[stack].as_py() or []


def _plain(name: str) -> str:
    """Without what separates frames and lines."""
    return " ".join(name.replace(";", ":").split())
