// Converts a raw trace to columns: begins and ends become spans, ticks become nanoseconds, arguments become JSON.
//
// Names, tracks and stacks are numbers from 1; 0: none. A value that does not apply is null_int64.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/large_vector.hpp"
#include "base/null_int64.hpp"
#include "base/zeroed_vector.hpp"
#include "tracefile/raw_trace.hpp"

namespace eventide::tracefile {

// The texts of all rows, concatenated; an empty text is null.
struct TextColumn {
    LargeVector<int64_t> offsets{0};
    std::string bytes;
    void add(std::string_view text) {
        bytes += text;
        offsets.push_back(int64_t(bytes.size()));
    }
};

struct SpanColumns {
    LargeVector<int32_t> track, name, category, outcome, stack, error;  // error: name of the exception
    LargeVector<int64_t> start, end, submit, cpu, work, correlation;
    TextColumn arguments;
};
struct InstantColumns {
    LargeVector<int32_t> track, name, category, stack;
    LargeVector<int64_t> time;
    TextColumn arguments;
};
struct CounterColumns {
    LargeVector<int32_t> track, name, thread;  // thread: the track that recorded it
    LargeVector<int64_t> time;
    LargeVector<double> value;
};
struct EdgeColumns {
    LargeVector<int32_t> kind, from_track, to_track;
    LargeVector<int64_t> from_time, to_time, event, version, correlation;
};
// Sorted by time; records of one time keep the order of the file.
struct HookColumns {
    LargeVector<int32_t> hook, thread;  // thread: a track
    LargeVector<int64_t> time, start, finish, cpu;
    ZeroedVector<int32_t> end, outcome, known, device, name, group, stack;
    ZeroedVector<int64_t> stream, event, version, work, waited;
    ZeroedVector<uint64_t> handle, bytes;
    ZeroedVector<int64_t> access_offsets{0};
    LargeVector<uint64_t> access_address, access_bytes, access_run, access_stride;
    LargeVector<uint8_t> access_write, access_possible;
};

// How ticks were converted to nanoseconds.
struct ClockFit {
    double ns_per_tick = 1;
    int64_t residual_ns =
        0;  // the largest distance of an anchor from the interpolation of its neighbours, plus half its width
    int64_t anchors = 0;
};

struct TraceColumns {
    SpanColumns spans;
    InstantColumns instants;
    CounterColumns counters;
    EdgeColumns edges;
    HookColumns hooks;
    std::vector<std::string_view> texts, tracks;  // by number - 1
    std::map<uint64_t, std::string_view> stacks;  // by number
    ClockFit clock;
    uint64_t records[kind_count] = {};
    uint64_t lost_ends = 0;  // ends of spans without a begin
    uint64_t damaged = 0;    // chunks that could not be decoded completely
    uint64_t left_out = 0;   // names of arguments that exceeded the budget
};

// The texts point into `raw`.
TraceColumns columns_of(const RawTrace& raw);

}  // namespace eventide::tracefile
