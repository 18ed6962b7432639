// Edges as arrows between spans. Viewers read events in the order of time and need an arrow's tail before its head, so
// an arrow into a span that began earlier (a synchronization) ends at that span's end.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/lanes.hpp"

namespace eventide::formats {

struct FlowEnd {
    int64_t span;
    int64_t edge;
    bool head;    // the arrow ends here; else it starts here
    bool at_end;  // at the end of the span, not at its beginning
};

class Flows {
  public:
    Flows(const Spans& spans, const Edges& edges, const Lanes& lanes);

    int64_t drawn() const { return int64_t(ends_.size() / 2); }
    const FlowEnd* begin(int64_t span) const { return ends_.data() + (first_.empty() ? 0 : first_[size_t(span)]); }
    const FlowEnd* end(int64_t span) const { return ends_.data() + (first_.empty() ? 0 : first_[size_t(span) + 1]); }
    // When the tail of a drawn edge is; null_int64 for an edge that is not drawn.
    int64_t tail_time(int64_t edge) const { return tail_time_[size_t(edge)]; }

  private:
    std::vector<FlowEnd> ends_;       // sorted by span
    std::vector<int64_t> first_;      // of each span, its first index in `ends_`
    std::vector<int64_t> tail_time_;  // of each edge
};

}  // namespace eventide::formats
