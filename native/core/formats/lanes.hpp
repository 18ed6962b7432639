// Viewers draw a track as a stack of spans, so two spans must nest or not overlap. Spans that overlap in part get
// further lanes of their track, so that none is dropped.
#pragma once

#include <vector>

#include "formats/columns.hpp"

namespace eventide::formats {

struct Lanes {
    std::vector<int32_t>
        lane;  // of each span. Lane t is the first lane of track t; further lanes follow behind the last track
    std::vector<int32_t> track;  // of each lane
    std::vector<int64_t> order;  // the rows of the spans, lane by lane, sorted by start, outer before inner
    std::vector<int64_t> first;  // of each lane, its first index in `order`; one more at the end
};

// First fit: each span gets the first lane of its track on which it nests. Unfinished spans end after all others.
// Throws Error (value) if a span's track is not below `tracks`.
Lanes assign_lanes(const Spans& spans, int32_t tracks);

// The innermost span on the first lane of each track that is open at the time, its end excluded. -1: none, or no such
// track.
std::vector<int64_t> enclosing(const Spans& spans, const Lanes& lanes, int64_t count, const int32_t* track,
                               const int64_t* time);

}  // namespace eventide::formats
