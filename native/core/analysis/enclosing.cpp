#include "analysis/enclosing.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clamped.hpp"
#include "base/innermost_span.hpp"
#include "base/null_int64.hpp"

namespace eventide {
namespace {

int64_t end_of(const SpanTimes& spans, size_t row) {
    return spans.duration[row] == null_int64 ? INT64_MAX : clamped::add(spans.start[row], spans.duration[row]);
}

// The spans of the points' tracks only, by track and start, outer before inner.
std::vector<size_t> in_order(const SpanTimes& spans, const FlowPoints& points) {
    std::vector<int32_t> tracks(points.track, points.track + points.rows);
    std::sort(tracks.begin(), tracks.end());
    tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
    tracks.erase(tracks.begin(), std::lower_bound(tracks.begin(), tracks.end(), 0));  // no span has such a track
    std::vector<bool> wanted(tracks.empty() ? 0 : size_t(tracks.back()) + 1);
    for (const int32_t track : tracks) wanted[size_t(track)] = true;
    std::vector<size_t> order;
    for (size_t row = 0; row < spans.rows; ++row)
        if (size_t(spans.track[row]) < wanted.size() && wanted[size_t(spans.track[row])]) order.push_back(row);
    const auto before = [&](size_t a, size_t b) {
        if (spans.track[a] != spans.track[b]) return spans.track[a] < spans.track[b];
        if (spans.start[a] != spans.start[b]) return spans.start[a] < spans.start[b];
        const int64_t x = end_of(spans, a), y = end_of(spans, b);
        return x != y ? x > y : a < b;
    };
    if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
    return order;
}

}  // namespace

void find_spans(const SpanTimes& spans, const FlowPoints& points, int64_t* out) {
    const std::vector<size_t> order = in_order(spans, points);
    const auto spans_of = [&](int32_t track) {
        const auto begin =
            std::partition_point(order.begin(), order.end(), [&](size_t row) { return spans.track[row] < track; });
        return std::pair(
            begin, std::partition_point(begin, order.end(), [&](size_t row) { return spans.track[row] == track; }));
    };
    find_innermost(
        {points.track, points.time, points.rows}, spans_of, [&](size_t row) { return spans.start[row]; },
        [&](int64_t row, int64_t time) { return end_of(spans, size_t(row)) < time; },
        [&](size_t point, int64_t row, int64_t next) {
            const bool starts_here = row >= 0 && spans.start[row] == points.time[point];
            out[point] = points.enclosing[point] || starts_here ? row : next;
        });
}

}  // namespace eventide
