// Which span the end of a flow belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eventide {

struct SpanTimes {
    const int32_t* track;
    const int64_t* start;
    const int64_t* duration;  // null_int64: not ended
    size_t rows;
};

struct FlowPoints {
    const int32_t* track;
    const int64_t* time;
    const uint8_t* enclosing;  // 0: the span that starts there or next
    size_t rows;
};

// For each point the row of the innermost span of its track that contains it, both ends included; -1: none, or no such
// track. Of spans that start together the shortest is innermost. O((spans + points) log).
void find_spans(const SpanTimes& spans, const FlowPoints& points, int64_t* out);

}  // namespace eventide
