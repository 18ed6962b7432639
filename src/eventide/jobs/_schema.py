"""The tables that a job keeps of each rank, and their columns. Times are int64 nanoseconds on the rank's own clock."""

from __future__ import annotations

import pyarrow as pa

VERSION = 3  # of the directory; a rank imported with another one is imported again

WHOLE = "whole"  # the one step of a trace without steps

STEPS = pa.schema(
    [
        pa.field("step", pa.string()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        # The time of the rank's devices; disjoint, they sum to the length. A rank without a device has its collectives
        # as communication, and all other time as compute (null: nor has it collectives).
        pa.field("compute", pa.int64()),
        pa.field("communication", pa.int64()),  # that nothing hides
        pa.field("copy", pa.int64()),
        pa.field("overlap", pa.int64()),
        pa.field("idle", pa.int64()),
    ]
)

COLLECTIVES = pa.schema(
    [
        pa.field("key", pa.string()),  # the same on all ranks that took part
        pa.field("kind", pa.string()),  # all_reduce, all_gather, ...; null: not known
        pa.field("group", pa.string()),  # the process group, or the order of the stream if the trace has none
        pa.field("group_ranks", pa.list_(pa.int32())),  # null: not known
        pa.field("step", pa.string()),
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("submit", pa.int64()),  # when the host submitted it; null: not known
        pa.field("bytes", pa.int64()),  # the larger of input and output; null: not known
        pa.field("exposed", pa.int64()),  # time in which the device did nothing else; null: on the host
        pa.field("provides", pa.bool_()),  # who receives cannot end before this rank has started
        pa.field("receives", pa.bool_()),
        # What the rank did between the end of its collective before, or the begin of the step, and this start.
        pa.field("before", pa.int64()),
        pa.field("before_compute", pa.int64()),
        pa.field("before_copy", pa.int64()),
        pa.field("before_gc", pa.int64()),  # garbage collection of the host while the device was idle
        pa.field("before_idle", pa.int64()),  # the device was idle otherwise: the host was late
        pa.field("how", pa.string()),  # the key is of: "comms id", "sequence number" or "order"
    ]
)

SUMMARY = pa.schema(
    [
        pa.field("name", pa.string()),
        pa.field("category", pa.string()),
        pa.field("grid", pa.string()),  # of a kernel's launch, "[64,1,1]": its shape; null: not known
        pa.field("count", pa.int64()),
        pa.field("total", pa.int64()),
        pa.field("median", pa.int64()),
    ]
)

CLOCK = pa.schema(
    [
        pa.field("clock", pa.string()),  # the name of the rank's clock
        pa.field("resolution", pa.int64()),  # nanoseconds
        pa.field("first", pa.int64()),
        pa.field("last", pa.int64()),
        pa.field("host", pa.string()),
        pa.field("world_size", pa.int32()),
        pa.field("stage", pa.int32()),  # of a pipeline; null: not known
        pa.field("cut", pa.string()),  # what the recording lost; null: nothing
        pa.field("identity", pa.string()),  # the same for ranks that share a clock; null: not known
    ]
)

# Messages of our recorder to another rank and back, as in NTP.
CLOCK_PAIRS = pa.schema(
    [
        pa.field("peer", pa.int32()),
        pa.field("sent", pa.int64()),
        pa.field("received", pa.int64()),  # on the clock of the peer
        pa.field("answered", pa.int64()),  # on the clock of the peer
        pa.field("returned", pa.int64()),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "steps": STEPS,
    "collectives": COLLECTIVES,
    "summary": SUMMARY,
    "clock": CLOCK,
    "clock_pairs": CLOCK_PAIRS,
}
