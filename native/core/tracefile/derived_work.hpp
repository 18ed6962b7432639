// What follows from the operations of a recording: work and synchronizations as spans; launches, waits and
// synchronizations as edges; the bytes that each device holds. All of it takes time linear in the operations, but for
// the logarithm of the number of streams at a submission and at a synchronization of a device.
//
// A synchronization of a whole device that ended (it neither gave up nor was cut off) has an edge from each stream that
// got work since the last such one began. Every synchronization of a device has, besides, the edge from the work that
// ended last of all that the streams of the device got last. So there are no more such edges than work items and
// synchronizations together. docs/decisions/0006-device-synchronization-edges.md has the reason.
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_vector.hpp"

namespace eventide::recorder {

// The hooks that matter here; a file numbers the hooks in its own way.
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

// Columns of operations by time, owned by the caller. Names and devices are numbers from 1, and equal devices have
// equal numbers; `thread` is the row of a track.
struct Operations {
    int64_t rows = 0;
    const int32_t *hook, *end, *outcome, *thread, *device, *name, *stack;
    const int64_t *time, *stream, *event, *version, *work, *start, *finish, *cpu;
    const uint64_t *handle, *bytes;
};

enum class SpanKind : int32_t { work, unsubmitted, stream_sync, event_sync, device_sync };
enum class EdgeKind : int32_t { launch, wait, synchronize };

// Numbers that do not apply are `absent`. A track is the row of a thread or, from `first_track` on, a row of `streams`.
struct DerivedWork {
    struct Spans {
        LargeVector<int32_t> kind, track, name, outcome, stack;
        LargeVector<int64_t> start, duration, submit, cpu, work;
    } spans;
    LargeVector<int64_t> waited_for;  // per synchronization: the stream, the event, or the number of the device
    struct Edges {
        LargeVector<int32_t> kind, from_track, to_track;
        LargeVector<int64_t> from_time, from_span, to_time, to_span, event, version, correlation;
    } edges;
    struct Streams {  // in the order in which they were met; one that gets its name later is met again
        LargeVector<int64_t> stream;
        LargeVector<int32_t> device, name;
    } streams;
    struct Levels {
        LargeVector<int64_t> operation;  // the row of the allocation or deallocation
        LargeVector<double> held;        // bytes, from then on
    } levels;
};

// `kinds`: by the number of a hook in the file. `first_span`: the number of the first span here.
DerivedWork derive_work(const Operations& operations, const std::vector<Operation>& kinds, int64_t first_span,
                        int32_t first_track);

}  // namespace eventide::recorder
