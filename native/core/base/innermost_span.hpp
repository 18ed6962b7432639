// Which span is innermost at a point in time: one sweep over the spans and the points of each track. The writers of
// trace files and the readers of flows use it; they differ in when a span counts as ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace eventide {

struct TrackPoints {
    const int32_t* track;
    const int64_t* time;
    size_t count;
};

// `spans_of(track)` returns two iterators over the rows of the track's spans, sorted by start, outer before inner.
// `start(row)` is when a span starts; `ended(row, time)` says whether it has ended at that time.
// Calls `found(point, row, next)` for each point: the innermost open span, and the first span that starts later; -1
// where there is none. O(spans + points log points).
template <class SpansOf, class Start, class Ended, class Found>
void find_innermost(const TrackPoints& points, SpansOf spans_of, Start start, Ended ended, Found found) {
    std::vector<size_t> order(points.count);
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::tie(points.track[a], points.time[a], a) < std::tie(points.track[b], points.time[b], b);
    });
    std::vector<int64_t> open;  // innermost last
    const auto close = [&](int64_t time) {
        while (!open.empty() && ended(open.back(), time)) open.pop_back();
    };
    for (size_t i = 0; i < order.size();) {
        const int32_t track = points.track[order[i]];
        auto [next, end] = spans_of(track);
        open.clear();
        for (; i < order.size() && points.track[order[i]] == track; ++i) {
            const int64_t time = points.time[order[i]];
            for (; next != end && start(*next) <= time; ++next) {
                close(start(*next));
                open.push_back(int64_t(*next));
            }
            close(time);
            found(order[i], open.empty() ? -1 : open.back(), next == end ? -1 : int64_t(*next));
        }
    }
}

}  // namespace eventide
