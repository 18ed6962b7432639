"""The sanitizer on a stored trace: its operations are the hook records, so the findings are those of the live run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from eventide._native import Sanitizer, SanitizerFeed
from eventide.sanitizer._finding import Finding, Frame, finding_from_native
from eventide.sanitizer._findings import HOST_MEMORY_OF_QUEUES, Coverage, Findings, judge
from eventide.sanitizer._suppress import Suppression

if TYPE_CHECKING:
    from eventide.trace import Trace

_IDS = ("thread", "stream", "event", "work", "handle", "bytes")
COPIES = frozenset({"read buffer", "write buffer"})
"""Work of OpenCL queues that accesses memory of the host."""
_UNSIGNED = (1 << 64) - 1  # a damaged file may have negative numbers; they stay distinct


def check_trace(
    trace: Trace, *, predict: bool = False, leaks: bool = False, rules: Sequence[Suppression] = ()
) -> Findings:
    """The findings in the run that a trace contains.

    A trace without operations (of another tool) is "not checkable", never "clean".
    """
    engine = Sanitizer(predict=predict, unseen_hand_over=True)
    feed = SanitizerFeed(engine)
    copies = False
    for row in _rows(trace):
        feed.on_hook(**row)
        copies |= row["name"] in COPIES
    engine.finish(leaks)
    found = [_finding(raw, trace) for raw in engine.findings()]
    coverage = engine.coverage()
    unseen = (HOST_MEMORY_OF_QUEUES,) if copies else ()
    seen = Coverage(coverage["works"], coverage["known"], coverage["forgotten"], unseen)
    return judge(found, seen, rules, _stream_names(trace))


def _rows(trace: Trace) -> Iterator[dict[str, Any]]:
    devices: dict[str, int] = {}
    for batch in trace.operations.to_batches(max_chunksize=1 << 16):
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names if name != "time"}
        for n in range(batch.num_rows):
            row = {name: columns[name][n] for name in columns}
            device = row["device"]
            for name in _IDS:
                row[name] = (row[name] or 0) & _UNSIGNED
            row["version"] = row["version"] or 0
            row["end"] = bool(row["end"])
            row["name"], row["group"] = row["name"] or "", row["group"] or ""
            row["device"] = -1 if device is None else devices.setdefault(device, len(devices))
            row["stack"] = 0 if row["stack"] is None else row["stack"] + 1  # for the engine, 0 is no stack
            if row["accesses"] is not None:
                row["accesses"] = [_access(each) for each in row["accesses"] if each is not None]
            yield row


def _access(cell: dict[str, Any]) -> tuple[int, int, bool, int, int, bool]:
    numbers = [cell[name] or 0 for name in ("address", "bytes", "run", "stride")]
    return numbers[0], numbers[1], bool(cell["write"]), numbers[2], numbers[3], bool(cell["possible"])


def _finding(raw: dict[str, Any], trace: Trace) -> Finding:
    stacks: dict[int, tuple[Frame, ...]] = {}
    for side in (raw["first"], raw["second"]):
        if side is not None and side["stack_id"]:
            frames = trace.stacks.column("frames")[side["stack_id"] - 1].as_py() or ()
            stacks[side["stack_id"]] = tuple((f["file"], f["line"], f["function"]) for f in frames)
    return finding_from_native(raw, stacks)


def _stream_names(trace: Trace) -> dict[int, str]:
    tracks = trace.tracks
    kinds, streams, names = (tracks.column(name).to_pylist() for name in ("kind", "stream", "name"))
    rows = zip(kinds, streams, names, strict=True)
    return {stream: name for kind, stream, name in rows if kind == "stream" and name and name != f"stream {stream}"}
