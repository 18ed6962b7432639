"""The tracks of a recording: the process, its threads, the streams in hook records, and named tracks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from eventide.trace.formats.eventide._columns import Codes, Ints

_COLUMNS = ("kind", "name", "parent", "pid", "tid", "device", "stream", "rank")


class Tracks:
    """Rows of the table, by their numbers in the file or by (device, stream)."""

    def __init__(self, described: list[str], head: dict[str, Any]) -> None:
        about = head.get("about", {})
        program = str(about.get("program") or "").rpartition("/")[2] or "process"
        rank = about.get("process", {}).get("rank")
        self._rows: list[dict[str, Any]] = [
            {"kind": "process", "name": program, "pid": head.get("pid"), "rank": rank if type(rank) is int else None}
        ]
        self._by_stream: dict[tuple[str | None, int], int] = {}
        self._by_number = [0, *self._add_all([json.loads(text) if text else {} for text in described])]

    def _add_all(self, described: list[dict[str, Any]]) -> list[int]:
        """A thread that records has the time when it attached; records about a thread by others share its row.

        The last description has the name.
        """
        attached = {one["tid"] for one in described if "attached" in one}
        found: dict[int, int] = {}  # by tid; the system reuses tids: the newest
        known: dict[int, int] = {}  # by the time when it attached
        rows = []
        for one in described:
            joins = one.get("kind") == "thread" and "attached" not in one and one.get("tid") in attached
            row = known.get(one.get("attached", 0))
            if row is not None:
                self._rows[row]["name"] = one["name"]
            rows.append(-1 if joins else self._add(one) if row is None else row)
            if "attached" in one:
                found[one["tid"]] = known[one["attached"]] = rows[-1]
        return [found[one["tid"]] if row < 0 else row for one, row in zip(described, rows, strict=True)]

    def _add(self, track: dict[str, Any]) -> int:
        row = {name: track.get(name) for name in _COLUMNS}
        row["kind"], row["name"] = row["kind"] or "other", row["name"] or ""
        row["parent"], row["pid"] = row["parent"] or 0, row["pid"] or self._rows[0]["pid"]
        if row["kind"] == "stream" and row["stream"] is not None:
            key = (row["device"], row["stream"])
            if key in self._by_stream:
                return self._by_stream[key]
            self._by_stream[key] = len(self._rows)
        self._rows.append(row)
        return len(self._rows) - 1

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, numbers: Codes) -> Codes:
        """The row for each track number of the file; the process for an unknown one."""
        table = np.array([*self._by_number, 0], np.int32)
        return table.take(np.minimum(numbers.view(np.uint32), np.uint32(len(table) - 1)))

    def of_stream(self, device: str | None, stream: int, name: str = "") -> int:
        """The row of a stream; created on first use, named once its name is given."""
        row = self._by_stream.get((device, stream))
        if row is None:
            row = self._add({"kind": "stream", "name": f"stream {stream}", "device": device, "stream": stream})
        if name:
            self._rows[row]["name"] = name
        return row

    def system_ids(self, rows: Codes) -> Ints:
        """The tids of thread tracks; 0 of others."""
        return np.array([row.get("tid") or 0 for row in self._rows], np.int64).take(rows)

    def table(self) -> dict[str, list[Any]]:
        """The columns."""
        return {name: [row.get(name) for row in self._rows] for name in _COLUMNS}
