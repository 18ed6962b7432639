// Derives from the operations of a recording: spans of work and synchronizations; edges of launches, waits and
// synchronizations; the bytes allocated on each device. The time is linear in the operations, times the logarithm of
// the number of streams for submissions and synchronizations of a device.
//
// A completed synchronization of a whole device (no timeout, and its end is recorded) has an edge from each stream that
// received work since the last such one began. Every synchronization of a device also has the edge from the
// latest-ending of the last work items of the device's streams. So there are no more such edges than work items and
// synchronizations together. See docs/decisions/0006-device-synchronization-edges.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_vector.hpp"

namespace eventide::tracefile {

// The hooks that are used here. Each file has its own numbers for them.
enum class Operation : uint8_t {
    other,
    submission,
    completion,
    record,
    wait,
    stream_sync,
    event_sync,
    device_sync,
    stream_creation,
    allocation,
    deallocation,
};
inline constexpr int operation_count = 11;

// Columns of operations sorted by time, owned by the caller. Names, groups and devices are numbers from 1; equal devices have
// equal numbers; `thread` is the row of a track.
struct Operations {
    int64_t rows = 0;
    const int32_t *hook, *end, *outcome, *thread, *device, *name, *group, *stack;
    const int64_t *time, *stream, *event, *version, *work, *start, *finish, *cpu;
    const uint64_t *handle, *bytes;
};

enum class SpanKind : int32_t { work, unsubmitted, stream_sync, event_sync, device_sync };
enum class EdgeKind : int32_t { launch, wait, synchronize };

// Values that do not apply are null_int64. A track is the row of a thread or, from `first_track` on, a row of
// `streams`.
struct DerivedWork {
    struct Spans {
        LargeVector<int32_t> kind, track, name, group, outcome, stack;
        LargeVector<int64_t> start, duration, submit, cpu, work;
    } spans;
    LargeVector<int64_t> waited_for;  // per synchronization: the stream, the event, or the number of the device
    struct Edges {
        LargeVector<int32_t> kind, from_track, to_track;
        LargeVector<int64_t> from_time, from_span, to_time, to_span, event, version, correlation;
    } edges;
    struct Streams {  // in the order of their first operation; one that gets its name later is listed again
        LargeVector<int64_t> stream;
        LargeVector<int32_t> device, name;
    } streams;
    struct Levels {
        LargeVector<int64_t> operation;  // the row of the allocation or deallocation
        LargeVector<double> held;        // bytes, from that operation on
    } levels;
};

// `kinds`: by the number of a hook in the file. `first_span`: the number of the first span here.
DerivedWork derive_work(const Operations& operations, const std::vector<Operation>& kinds, int64_t first_span,
                        int32_t first_track);

}  // namespace eventide::tracefile
