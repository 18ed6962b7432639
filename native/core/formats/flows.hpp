// Edges as arrows between spans. A viewer reads events in the order of time and wants an arrow's tail before its head,
// so an arrow into a span that began earlier (a synchronization) is put at that span's end.
#pragma once

#include <algorithm>
#include <vector>

#include "formats/lanes.hpp"

namespace eventide::trace {

struct FlowEnd {
    int64_t span;
    int64_t edge;
    bool head;    // the arrow ends here
    bool at_end;  // at the end of the span, not at its beginning
};

class Flows {
  public:
    Flows(const Spans& spans, const Edges& edges, const Lanes& lanes);

    int64_t drawn() const { return int64_t(ends_.size() / 2); }
    const FlowEnd* begin(int64_t span) const { return ends_.data() + (first_.empty() ? 0 : first_[size_t(span)]); }
    const FlowEnd* end(int64_t span) const { return ends_.data() + (first_.empty() ? 0 : first_[size_t(span) + 1]); }
    // Of an edge that is drawn: the spans that its ends lie in, and when its tail is.
    int64_t tail_time(int64_t edge) const { return tail_time_[size_t(edge)]; }

  private:
    std::vector<FlowEnd> ends_;       // sorted by span
    std::vector<int64_t> first_;      // of each span, its place in `ends_`
    std::vector<int64_t> tail_time_;  // of each edge
};

}  // namespace eventide::trace
