// Reads XSpace, the protobuf of profiles of JAX and XLA (*.xplane.pb): planes, their lines, and events with statistics.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/null_int64.hpp"
#include "encoding/text_table.hpp"

namespace eventide::formats {

// The bytes from this offset on are not an XSpace.
struct XplaneDamaged : std::runtime_error {
    XplaneDamaged(size_t offset, const char* what) : std::runtime_error(what), offset(offset) {}
    size_t offset;
};

struct XplaneLine {
    size_t plane = 0;
    int64_t id = 0;
    std::string name;
};

struct XplanePlane {
    std::string name;
    std::string stats;  // JSON
};

struct XplaneEvent {
    int32_t line = 0;
    int32_t name = 0, args = 0;        // numbers in TextTable
    int64_t start = 0, end = 0;        // ns, rounded down after the picoseconds were added
    int64_t correlation = null_int64;  // the same for a launch and the launched work
    int64_t step = null_int64;         // of a StepTraceAnnotation
    bool hlo = false;                  // an operation of a compiled program
};

struct XplaneContents {
    std::vector<XplanePlane> planes;
    std::vector<XplaneLine> lines;
    std::vector<XplaneEvent> events;
    std::vector<std::pair<int64_t, int64_t>> arrows;  // from producer to consumer
    std::vector<std::string> errors, warnings;        // of the profiler itself
    TextTable texts;
    int64_t aggregated = 0;  // events without a time: counts
    int64_t bad_times = 0;   // events with an invalid timestamp
    int64_t unnamed = 0;     // events without a name in the file
    int64_t left_out = 0;    // statistics that are bytes, long texts of an event's kind, or exceeded the budget
};

// Reads the whole file; throws XplaneDamaged. The times of a line at or after the profile's start are Unix times; those
// of other lines are relative to that start, which is added if the file contains it.
XplaneContents read_xplane(std::string_view data);

}  // namespace eventide::formats
