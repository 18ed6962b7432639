"""What a recording says of itself: what was recorded, dropped and cut, what it cost, how good its clock is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

# The recorder's kinds of records under the names of the tables.
_KINDS = {"spans": ("begin", "span"), "instants": ("instant",), "counters": ("counter",), "edges": ("edge",),
          "operations": ("hook",)}  # fmt: skip


def metadata_of(
    path: Path, raw: dict[str, Any], head: dict[str, Any], told: dict[str, Any], notes: dict[str, Any]
) -> dict[str, Any]:
    """The metadata of the trace in `path`."""
    account = account_of(raw, head, told)
    return {
        "source": "eventide",
        "path": str(path),
        "pid": head.get("pid"),
        "program": head.get("about", {}).get("program", ""),
        "about": head.get("about", {}),
        "ring": head.get("ring", False),
        "wall_clock": {"unix_ns": head.get("wall_ns"), "at_ns": head.get("wall_at_ns")},
        "clock": {"name": "CLOCK_MONOTONIC", "unit": "ns", "stamps": head.get("clock"), **raw["clock"]},
        "account": account,
        "warnings": [
            *_warnings(raw, account, told),
            *_of_torch(notes.get("torch_unheard", {})),
            *_of_torch(notes.get("torch", {})),
        ],
    }


def account_of(raw: dict[str, Any], head: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Counts by table, zero included. `dropped` were produced and are not here; `truncated` lack a part."""

    def by_table(*sources: str) -> dict[str, int]:
        counts = [told.get(source, {}) for source in sources]
        return {table: sum(c.get(kind, 0) for c in counts for kind in kinds) for table, kinds in _KINDS.items()}

    records = raw["records"]
    truncated = by_table("truncated")
    truncated["spans"] += told.get("dropped", {}).get("end", 0)
    entries = sum(records.values())
    return {
        "recorded": {table: sum(records[kind] for kind in kinds) for table, kinds in _KINDS.items()},
        "dropped": by_table("dropped", "overwritten"),
        "truncated": truncated,
        "closed": raw["closed"],
        "possibly_lost": 0 if raw["closed"] and not told.get("recovered") else told.get("threads", 0),
        "threads": told.get("threads", 0),
        "names_lost": told.get("names_lost", 0),
        "threads_beyond_limit": told.get("unattached", 0),
        "damaged_chunks": raw["damaged"],
        "torn_bytes": raw["torn_bytes"],
        "overhead": {
            "entry_ns": head.get("put_ns", 0.0),
            "recording_ns": int(entries * head.get("put_ns", 0.0)),
            "drainer_cpu_ns": told.get("drainer_cpu_ns", 0),
        },
    }


def _of_torch(told: dict[str, Any]) -> list[str]:
    """What was noted by TorchRun and by the listener at torch (integrations/torch)."""
    what = told.get("profiled", "operators")
    said = [str(line) for line in told.get("warnings", [])]
    if limit := told.get("limit_s"):
        heard = f"{limit:g} s from its import, and {limit:g} s from the first step of an optimizer"
        said.append(f"torch's {what}: heard for a time only, {heard}; --torch-seconds sets how long")
    if told.get("held"):
        said.append(f"torch's {what}: still in its profiler when the program ended, and lost")
    return said


def _warnings(raw: dict[str, Any], account: dict[str, Any], told: dict[str, Any]) -> list[str]:
    said = []
    if account["possibly_lost"]:
        lost = account["possibly_lost"]
        threads = "one thread" if lost == 1 else f"each of {lost} threads"
        said.append(f"the recording was not closed: the last thing of {threads} may be missing")
    if not raw["closed"] and not told:
        said.append("the recording was not closed and its buffer is gone: what had not been written is missing")
    for table, number in account["dropped"].items():
        if number:
            said.append(f"{number} {table} were dropped: the buffer was full")
    if told.get("write_error"):
        said.append(f"the file could not be written: {os.strerror(told['write_error'])}")
    if account["names_lost"]:
        said.append(f"{account['names_lost']} names, tracks and stacks did not fit and are missing")
    if account["damaged_chunks"]:
        said.append(f"{account['damaged_chunks']} chunks of the file are damaged and were read in part")
    if raw["left_out"]:
        said.append(f"{raw['left_out']:,} names of arguments were left out: the file repeats long ones too often")
    return said
