// The columns of a trace as input of the file writers: plain arrays, owned by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/null_int64.hpp"

namespace eventide::formats {

inline constexpr int64_t forever = std::numeric_limits<int64_t>::max();  // the end of an unfinished span

// Concatenated strings; where a null is possible, an empty string is null.
struct Texts {
    int64_t count = 0;
    const int64_t* offsets = nullptr;  // count + 1
    const char* data = nullptr;

    std::string_view operator[](int64_t i) const { return {data + offsets[i], size_t(offsets[i + 1] - offsets[i])}; }
};

// Rows of the table `spans`. Codes are indices into the dictionaries of the writer; -1 is null.
struct Spans {
    int64_t count = 0;
    const int32_t* track = nullptr;
    const int32_t* name = nullptr;
    const int32_t* category = nullptr;
    const int64_t* start = nullptr;
    const int64_t* duration = nullptr;
    const int64_t* submit = nullptr;
    const int64_t* cpu = nullptr;
    const int64_t* work = nullptr;
    const int64_t* correlation = nullptr;
    const int32_t* outcome = nullptr;
    const int32_t* stack = nullptr;
    Texts args;

    bool finished(int64_t i) const { return duration[i] != null_int64; }
    // The end, or `forever`. A negative duration counts as 0; an end beyond the clock is just before `forever`.
    int64_t end(int64_t i) const {
        if (!finished(i)) return forever;
        const int64_t length = duration[i] < 0 ? 0 : duration[i];
        if (start[i] <= forever - 1 - length) return start[i] + length;
        return start[i] < forever ? forever - 1 : forever;
    }
};

struct Instants {
    int64_t count = 0;
    const int32_t* track = nullptr;
    const int32_t* name = nullptr;
    const int32_t* category = nullptr;
    const int64_t* time = nullptr;
    const int32_t* stack = nullptr;
    Texts args;
};

struct Counters {
    int64_t count = 0;
    const int32_t* series = nullptr;  // one per name and track; rows are sorted by series, then by time
    const int64_t* time = nullptr;
    const double* value = nullptr;
};

struct Edges {
    int64_t count = 0;
    const int32_t* from_track = nullptr;
    const int64_t* from_time = nullptr;
    const int64_t* from_span = nullptr;
    const int32_t* to_track = nullptr;
    const int64_t* to_time = nullptr;
    const int64_t* to_span = nullptr;
};

// Receives the bytes of a file piece by piece.
class Sink {
  public:
    virtual ~Sink() = default;
    virtual void write(std::string_view bytes) = 0;
};

}  // namespace eventide::formats
