// Which span a point in time lies in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eventide {

struct SpanColumns {
    const int32_t* track;
    const int64_t* start;
    const int64_t* duration;  // NONE: not ended
    size_t rows;
};

struct Points {
    const int32_t* track;
    const int64_t* time;
    const uint8_t* enclosing;  // 0: the span that begins there or next
    size_t rows;
};

// The row of the innermost span of its track that holds each point, both ends included, or -1, also where there is no
// such track. Of spans that begin
// together the shortest is innermost. O((spans + points) log).
void find_spans(const SpanColumns& spans, const Points& points, int64_t* out);

}  // namespace eventide
