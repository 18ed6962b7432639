"""Builds traces for tests: a host thread or stream is a name, a span one call; times are plain numbers."""

from __future__ import annotations

from typing import Any

from eventide.trace import Trace


class Builder:
    def __init__(self) -> None:
        self._tracks: list[dict[str, Any]] = []
        self._ids: dict[Any, int] = {}
        self._spans: list[dict[str, Any]] = []
        self._edges: list[dict[str, Any]] = []
        self._operations: list[dict[str, Any]] = []
        self.stacks: list[list[dict[str, Any]]] = []

    def thread(self, tid: int = 1, pid: int = 1) -> int:
        return self._track(("thread", pid, tid), kind="thread", name=f"thread {tid}", pid=pid, tid=tid)

    def stream(self, number: int = 7, device: str = "cuda:0", rank: int | None = None, name: str | None = None) -> int:
        row = {"device": device, "stream": number, "rank": rank, "name": name}
        return self._track(("stream", device, number, rank), kind="stream", **row)

    def _track(self, key: Any, **row: Any) -> int:
        if key not in self._ids:
            self._ids[key] = len(self._tracks)
            self._tracks.append(row)
        return self._ids[key]

    def span(self, track: int, name: str, start: int, end: int | None, category: str = "op", **more: Any) -> int:
        duration = None if end is None else end - start
        self._spans.append(dict(track=track, name=name, start=start, duration=duration, category=category, **more))
        return len(self._spans) - 1

    def work(self, name: str, start: int, end: int, stream: int = 7, category: str = "kernel", **more: Any) -> int:
        return self.span(self.stream(stream), name, start, end, category, **more)

    def call(self, name: str, start: int, end: int, tid: int = 1, category: str = "runtime") -> int:
        return self.span(self.thread(tid), name, start, end, category)

    def launch(self, call: tuple[int, int], name: str, start: int, end: int, stream: int = 7, **more: Any) -> int:
        """A launching call, and the work that it launched; the row of the work."""
        source = self.call(more.pop("called", "cudaLaunchKernel"), *call, tid=more.pop("tid", 1))
        work = self.work(name, start, end, stream, **more)
        self.edge("launch", source, work)
        return work

    def edge(self, kind: str, source: int, target: int, **more: Any) -> None:
        one, other = self._spans[source], self._spans[target]
        times = {"from_time": one["start"], "to_time": other["start"]}
        ends = {"from_track": one["track"], "from_span": source, "to_track": other["track"], "to_span": target}
        self._edges.append(dict(kind=kind, **times, **ends, **more))

    def operation(self, hook: str, time: int, **more: Any) -> None:
        self._operations.append(dict(hook=hook, time=time, **more))

    def __repr__(self) -> str:
        lines = [str(row) for table in (self._tracks, self._spans, self._edges, self._operations) for row in table]
        return "\n".join(["<Builder of", *lines, ">"])

    def trace(self, **metadata: Any) -> Trace:
        tables = {"tracks": self._tracks, "spans": self._spans, "edges": self._edges, "operations": self._operations}
        columns: dict[str, Any] = {name: _columns(rows) for name, rows in tables.items()}
        if self.stacks:
            columns["stacks"] = {"frames": self.stacks}
        return Trace(columns, metadata)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
