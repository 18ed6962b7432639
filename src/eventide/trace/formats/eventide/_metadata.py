"""The metadata of a recording: its account (recorded, dropped and truncated counts, overhead), its clock, warnings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

# The recorder's kinds of records under the names of the tables.
_KINDS = {"spans": ("begin", "span"), "instants": ("instant",), "counters": ("counter",), "edges": ("edge",),
          "operations": ("hook",)}  # fmt: skip


def metadata_of(
    path: Path, raw: dict[str, Any], head: dict[str, Any], final: dict[str, Any], notes: dict[str, Any]
) -> dict[str, Any]:
    """The metadata of the trace in `path`. `final` is the content of its end frame, or of the buffer if there is none.

    A note that is an object with a list ``warnings`` adds these to the warnings of the trace.
    """
    account = account_of(raw, head, final)
    about = dict(head.get("about", {}))
    noted = [note["warnings"] for note in notes.values() if isinstance(note, dict) and "warnings" in note]
    return {
        "source": "eventide",
        "path": str(path),
        "pid": head.get("pid"),
        "program": about.get("program", ""),
        "about": about,
        "process": about.pop("process", {}),
        "ring": head.get("ring", False),
        "wall_clock": {"unix_ns": head.get("wall_ns"), "at_ns": head.get("wall_at_ns")},
        "clock": {"name": "CLOCK_MONOTONIC", "unit": "ns", "stamps": head.get("clock"), **raw["clock"]},
        "account": account,
        "warnings": [
            *_not_closed(path, raw, account, final),
            *_losses(raw, account, final),
            *(str(line) for lines in noted if isinstance(lines, list) for line in lines),
        ],
    }


def account_of(raw: dict[str, Any], head: dict[str, Any], final: dict[str, Any]) -> dict[str, Any]:
    """Counts by table, zero included. `dropped` were produced and are not here; `truncated` lack a part."""

    def by_table(*sources: str) -> dict[str, int]:
        counts = [final.get(source, {}) for source in sources]
        return {table: sum(c.get(kind, 0) for c in counts for kind in kinds) for table, kinds in _KINDS.items()}

    records = raw["records"]
    truncated = by_table("truncated")
    truncated["spans"] += final.get("dropped", {}).get("end", 0)
    entries = sum(records.values())
    return {
        "recorded": {table: sum(records[kind] for kind in kinds) for table, kinds in _KINDS.items()},
        "dropped": by_table("dropped", "overwritten"),
        "truncated": truncated,
        "closed": raw["closed"],
        "possibly_lost": 0 if raw["closed"] and not final.get("recovered") else final.get("threads", 0),
        "threads": final.get("threads", 0),
        "names_lost": final.get("names_lost", 0),
        "threads_beyond_limit": final.get("unattached", 0),
        "damaged_chunks": raw["damaged"],
        "torn_bytes": raw["torn_bytes"],
        "overhead": {
            "entry_ns": head.get("put_ns", 0.0),
            "recording_ns": int(entries * head.get("put_ns", 0.0)),
            "drainer_cpu_ns": final.get("drainer_cpu_ns", 0),
        },
    }


def _not_closed(path: Path, raw: dict[str, Any], account: dict[str, Any], final: dict[str, Any]) -> list[str]:
    lines = []
    if lost := account["possibly_lost"]:
        threads = "one thread" if lost == 1 else f"each of {lost} threads"
        recovered = ", and was recovered" if final.get("recovered") else ""
        lines.append(f"the recording was not closed{recovered}: the last record of {threads} may be missing")
    if not raw["closed"] and not final:
        lines.append("the recording was not closed and its buffer is gone: what had not been written is missing")
    elif not raw["closed"]:
        lines.append(
            "its newest records are in the recorder's buffer only, which the next reboot may delete; once the process "
            f"has ended, `eventide trace recover {path}` keeps them in the file"
        )
    return lines


def _losses(raw: dict[str, Any], account: dict[str, Any], final: dict[str, Any]) -> list[str]:
    lines = [
        f"{number} {table} were dropped: the buffer was full" for table, number in account["dropped"].items() if number
    ]
    if final.get("write_error"):
        lines.append(f"the file could not be written: {os.strerror(final['write_error'])}")
    if account["names_lost"]:
        lines.append(f"{account['names_lost']} names, tracks and stacks did not fit and are missing")
    if account["damaged_chunks"]:
        lines.append(f"{account['damaged_chunks']} chunks of the file are damaged and were read in part")
    if raw["left_out"]:
        lines.append(f"{raw['left_out']:,} names of arguments were left out: the file repeats long ones too often")
    return lines
