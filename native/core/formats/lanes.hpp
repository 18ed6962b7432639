// Viewers draw a track as a stack of spans: each must lie inside the one below it or beside it. Spans that overlap in
// part go to further lanes of their track, so that nothing is dropped.
#pragma once

#include <vector>

#include "formats/columns.hpp"

namespace eventide::trace {

struct Lanes {
    std::vector<int32_t> lane;  // of each span. Lane t is track t's own; lanes of overlaps follow behind the last track
    std::vector<int32_t> track;  // of each lane
    std::vector<int64_t> order;  // the spans, lane by lane, in the order in which they open: outer before inner
    std::vector<int64_t> first;  // of each lane, its place in `order`; one more at the end
};

// First fit: the first lane of its track on which a span nests. Unfinished spans end after all others. Throws Error
// (value) where a span's track is none of the `tracks`.
Lanes assign_lanes(const Spans& spans, int32_t tracks);

// The innermost span on the track's own lane that is open at the time, or -1; also for a track that does not exist.
std::vector<int64_t> enclosing(const Spans& spans, const Lanes& lanes, int64_t count, const int32_t* track,
                               const int64_t* time);

}  // namespace eventide::trace
