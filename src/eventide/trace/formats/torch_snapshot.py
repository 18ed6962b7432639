"""Reads the memory snapshot of torch, `torch.cuda.memory._dump_snapshot("s.pickle")`: who allocated what, and when.

Its allocations and frees become operations with their Python stacks, so that `trace.memory()` has the curve, its peak
and what held it. Blocks that were allocated before its history begins, and never freed, are allocated as it begins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eventide.errors import TraceFormatError
from eventide.trace._trace import Trace
from eventide.trace.formats._plain_pickle import plain_values

_MOST = 1 << 62  # of addresses, sizes and times
_SEGMENTS = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def read(path: str | Path) -> Trace:
    """Open a snapshot; nothing in the file is executed."""
    file = Path(path)
    try:
        snapshot = plain_values(file.read_bytes())
    except ValueError as error:
        raise TraceFormatError(
            f"{error}; save it again with torch.cuda.memory._dump_snapshot()", str(file), 0
        ) from None
    if not isinstance(snapshot, dict) or not {"segments", "device_traces"} & set(snapshot):
        what = type(snapshot).__name__
        raise TraceFormatError(f"the pickle is not a memory snapshot of torch but a {what} without one", str(file), 0)
    return _Snapshot(snapshot).trace()


class _Snapshot:
    """Collects the rows of the tables; what has an unexpected form is counted and left out."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.operations: list[dict[str, Any]] = []
        self.instants: list[dict[str, Any]] = []
        self.counters: list[dict[str, Any]] = []
        self.stacks: dict[tuple[Any, ...], int] = {}
        self.by_list: dict[int, int | None] = {}  # stacks by the list of frames that the pickle shares
        self.ignored = 0
        self.timed = True
        self.snapshot = snapshot

    def trace(self) -> Trace:
        """The tables."""
        history = _lists(self.snapshot.get("device_traces"))
        for device, entries in enumerate(history):
            self._history(device, [each for each in entries if isinstance(each, dict)])
        self._blocks()
        self.operations.sort(key=lambda row: row["time"])
        warnings = [] if self.timed else ["entries have no times: they are one microsecond apart"]
        if not any(history):
            warnings.append("no history was recorded: call torch.cuda.memory._record_memory_history() first")
        tracks = [{"kind": "counter", "name": f"cuda:{n} reserved", "device": f"cuda:{n}"} for n in range(len(history))]
        tables = {"tracks": tracks, "operations": self.operations, "counters": self.counters, "instants": self.instants}
        columns: dict[str, Any] = {name: _columns(rows) for name, rows in tables.items() if rows}
        if self.stacks:
            columns["stacks"] = {"frames": [_frames(key) for key in self.stacks]}
        counts = {"operations": len(self.operations), "counters": len(self.counters), "stacks": len(self.stacks)}
        account = {"recorded": counts, "ignored": {"entries of another form": self.ignored} if self.ignored else {}}
        clock = {"name": "unix", "unit": "ns", "base": 0}
        return Trace(
            columns, {"source": "torch memory snapshot", "clock": clock, "account": account, "warnings": warnings}
        )

    def _history(self, device: int, entries: list[dict[str, Any]]) -> None:
        reserved = 0
        for number, entry in enumerate(entries):
            action, time = entry.get("action"), entry.get("time_us", number)
            self.timed &= "time_us" in entry
            address, size = entry.get("addr", 0), entry.get("size", 0)
            if not all(isinstance(each, int) and 0 <= each < _MOST // 1000 for each in (address, size, time)):
                self.ignored += 1
            elif action in {"alloc", "free_completed"}:
                hook = "memory_allocation" if action == "alloc" else "memory_deallocation"
                self._operation(hook, device, time * 1000, (address, size), entry.get("frames"))
            elif action in _SEGMENTS:
                reserved += _SEGMENTS[action] * size
                row = {"track": device, "name": "reserved bytes", "time": time * 1000, "value": float(reserved)}
                self.counters.append(row)
            elif action == "oom":
                stack = self._stack(entry.get("frames"))
                about = {"name": "out of memory", "category": "other", "stack": stack}
                self.instants.append({"track": device, "time": time * 1000, **about})

    def _operation(self, hook: str, device: int, time: int, what: tuple[int, int], frames: Any) -> None:
        row = {"hook": hook, "time": time, "device": f"cuda:{device}", "handle": what[0], "bytes": what[1]}
        stack = self._stack(frames) if hook == "memory_allocation" else None
        self.operations.append({**row, "stack": stack, "name": "allocation"})

    def _blocks(self) -> None:
        """Blocks in use at the end whose allocation the history does not have."""
        alive = {}
        for row in self.operations:
            key = row["device"], row["handle"]
            if row["hook"] == "memory_allocation":
                alive[key] = True
            else:
                alive.pop(key, None)
        first = min((row["time"] for row in self.operations), default=0)
        for segment in (each for each in self.snapshot.get("segments") or [] if isinstance(each, dict)):
            device, at = segment.get("device", 0), segment.get("address", 0)
            for block in (each for each in segment.get("blocks") or [] if isinstance(each, dict)):
                address, size = block.get("address", at), block.get("size", 0)
                known = all(isinstance(each, int) and 0 <= each < _MOST for each in (device, address, size))
                if address is None or not known:
                    self.ignored += 1
                    continue
                at = address + size
                if block.get("state") == "active_allocated" and (f"cuda:{device}", address) not in alive:
                    self._operation("memory_allocation", device, first, (int(address), size), block.get("frames"))

    def _stack(self, frames: Any) -> int | None:
        """The row of a stack; the pickle shares lists of frames, so each is looked at once."""
        if not isinstance(frames, list) or not frames:
            return None
        if id(frames) not in self.by_list:
            key = tuple(
                (str(each.get("filename", "")), each.get("line") or 0, str(each.get("name", "")))
                for each in frames
                if isinstance(each, dict) and isinstance(each.get("line") or 0, int)
            )
            self.by_list[id(frames)] = self.stacks.setdefault(key, len(self.stacks)) if key else None
        return self.by_list[id(frames)]


def _lists(value: Any) -> list[list[Any]]:
    return [each if isinstance(each, list) else [] for each in value] if isinstance(value, list) else []


def _frames(key: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [{"file": file, "line": line & 0x7FFFFFFF, "function": name} for file, line, name in key]


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
