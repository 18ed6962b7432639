"""The columns of a trace. Readers fill them, writers and analysis read them.

Times are int64 nanoseconds on the trace's one clock (`metadata["clock"]` says which), durations too. An id that does
not apply is null. Names and categories are dictionary-encoded. `args` is one JSON object as text, or null.

tracks       a process, a thread, a stream of a device, a counter. The id is the row number.
spans        took time: host code, work on a stream, a blocking synchronization, a compile, a step.
instants     happened at one time.         counters   had a value from one time on.
edges        dependencies: a launch, the record that a wait was bound to, a synchronization.
operations   hook records, in order: the input of the sanitizer. Empty in traces of other tools.
stacks       Python stacks, interned; innermost frame first. The id is the row number.
"""

from __future__ import annotations

import pyarrow as pa

_name = pa.dictionary(pa.int32(), pa.string())

TRACKS = pa.schema(
    [
        pa.field("kind", pa.string()),  # process, thread, stream, counter, other
        pa.field("name", pa.string()),  # for people
        pa.field("parent", pa.int32()),  # the process or device track it belongs to
        pa.field("pid", pa.int64()),
        pa.field("tid", pa.int64()),  # of a thread: the system's id
        pa.field("device", pa.string()),  # of a stream: "cpu:0", "cuda:1"; null on the host
        pa.field("stream", pa.int64()),  # of a stream: its id
        pa.field("rank", pa.int32()),
    ]
)

SPANS = pa.schema(
    [
        pa.field("track", pa.int32()),
        pa.field("name", _name),
        pa.field("category", _name),  # see CATEGORIES
        pa.field("start", pa.int64()),
        pa.field("duration", pa.int64()),  # null: it had not ended when the recording did
        pa.field("submit", pa.int64()),  # when the host submitted it
        pa.field("cpu", pa.int64()),  # CPU time of the thread within it
        pa.field("work", pa.int64()),  # the work item's id (of a compile or a step: its number)
        pa.field("correlation", pa.int64()),  # ties a launch to what it launched
        pa.field("outcome", _name),  # of work: ok, failed, skipped, cancelled; of operators: failed; or null
        pa.field("stack", pa.int32()),  # where it was called or submitted
        pa.field("args", pa.string()),
    ]
)

INSTANTS = pa.schema(
    [
        pa.field("track", pa.int32()),
        pa.field("name", _name),
        pa.field("category", _name),
        pa.field("time", pa.int64()),
        pa.field("stack", pa.int32()),
        pa.field("args", pa.string()),
    ]
)

COUNTERS = pa.schema(
    [
        pa.field("track", pa.int32()),
        pa.field("name", _name),
        pa.field("time", pa.int64()),
        pa.field("value", pa.float64()),
    ]
)

EDGES = pa.schema(
    [
        pa.field("kind", _name),  # launch, wait (record -> wait), synchronize (stream -> host), fwdbwd, flow
        pa.field("from_track", pa.int32()),
        pa.field("from_time", pa.int64()),
        pa.field("from_span", pa.int64()),  # row of spans, where the end lies in one
        pa.field("to_track", pa.int32()),
        pa.field("to_time", pa.int64()),
        pa.field("to_span", pa.int64()),
        pa.field("event", pa.int64()),
        pa.field("version", pa.int64()),
        pa.field("correlation", pa.int64()),
    ]
)

_accesses = pa.list_(
    pa.struct(
        [
            ("address", pa.uint64()),
            ("bytes", pa.uint64()),
            ("write", pa.bool_()),
            ("run", pa.uint64()),  # of a strided view: the first `run` bytes of every `stride`; null or 0: all of them
            ("stride", pa.uint64()),
            ("possible", pa.bool_()),  # true: an upper bound of what is touched
        ]
    )
)

OPERATIONS = pa.schema(
    [
        pa.field("hook", _name),  # the name of the hook
        pa.field("end", pa.bool_()),  # of a synchronization: it is complete
        pa.field("time", pa.int64()),
        pa.field("thread", pa.int64()),  # the system's id of the host thread
        pa.field("device", _name),
        pa.field("stream", pa.int64()),
        pa.field("event", pa.int64()),
        pa.field("version", pa.int64()),
        pa.field("work", pa.int64()),
        pa.field("handle", pa.uint64()),  # address of memory
        pa.field("bytes", pa.uint64()),
        pa.field("name", _name),
        pa.field("group", _name),
        pa.field("accesses", _accesses),  # null: unknown; empty: known to touch nothing
        pa.field("stack", pa.int32()),
    ]
)

FRAME = pa.struct([("file", pa.string()), ("line", pa.int32()), ("function", pa.string())])
STACKS = pa.schema([pa.field("frames", pa.list_(FRAME))])

SCHEMAS: dict[str, pa.Schema] = {
    "tracks": TRACKS,
    "spans": SPANS,
    "instants": INSTANTS,
    "counters": COUNTERS,
    "edges": EDGES,
    "operations": OPERATIONS,
    "stacks": STACKS,
}

CATEGORIES = {
    "span": "host code that the program named",
    "op": "an operator of a framework on the host",
    "module": "a module's forward or backward",
    "step": "one step of a training loop",
    "runtime": "a call into a device's runtime: a launch, a copy, an allocation",
    "sync": "the host blocks until a device has completed",
    "compile": "a compiler ran",
    "work": "a work item on one of our streams",
    "kernel": "computation on a device",
    "copy": "moves memory on a device",
    "communication": "a collective on a device",
    "wait": "a stream waits for an event",
    "task": "a task of asyncio, from its creation to its end",
    "process": "a child process, from its start to its end",
    "backend": "a backend's own event",
    "annotation": "an annotation of another tool, on the host or on a device",
    "sample": "the sampled Python stack",
    "other": "none of these; `args` has the category of the source",
}
