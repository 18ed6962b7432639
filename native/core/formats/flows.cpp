#include "formats/flows.hpp"

#include <algorithm>

namespace eventide::formats {
namespace {

std::vector<int64_t> resolve(const Spans& spans, const Lanes& lanes, const Edges& edges, bool from) {
    const int64_t* span = from ? edges.from_span : edges.to_span;
    std::vector<int64_t> found = enclosing(spans, lanes, edges.count, from ? edges.from_track : edges.to_track,
                                           from ? edges.from_time : edges.to_time);
    for (int64_t e = 0; e < edges.count; ++e)
        if (span[e] != null_int64) found[size_t(e)] = span[e];
    return found;
}

}  // namespace

Flows::Flows(const Spans& spans, const Edges& edges, const Lanes& lanes) : tail_time_(size_t(edges.count), null_int64) {
    if (!edges.count) return;
    const std::vector<int64_t> from = resolve(spans, lanes, edges, true), to = resolve(spans, lanes, edges, false);
    std::vector<int64_t> place(size_t(spans.count), 0);  // its index in the file, which decides among equal times
    for (size_t i = 0; i < lanes.order.size(); ++i) place[size_t(lanes.order[i])] = int64_t(i);
    for (int64_t e = 0; e < edges.count; ++e) {
        const int64_t a = from[size_t(e)], b = to[size_t(e)];
        if (a < 0 || b < 0 || a == b) continue;
        const int64_t tail = spans.start[a], head = spans.start[b];
        const bool in_order = tail < head || (tail == head && place[size_t(a)] < place[size_t(b)]);
        if (!in_order && (!spans.finished(b) || spans.end(b) <= tail)) continue;
        ends_.push_back({a, e, false, false});
        ends_.push_back({b, e, true, !in_order});
        tail_time_[size_t(e)] = tail;
    }
    std::stable_sort(ends_.begin(), ends_.end(), [](const FlowEnd& x, const FlowEnd& y) { return x.span < y.span; });
    first_.assign(size_t(spans.count) + 1, 0);
    for (const FlowEnd& f : ends_) ++first_[size_t(f.span) + 1];
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

}  // namespace eventide::formats
