#include "analysis/enclosing.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/clamped.hpp"
#include "encoding/column.hpp"

namespace eventide {
namespace {

int64_t end_of(const SpanColumns& spans, size_t row) {
    return spans.duration[row] == NONE ? INT64_MAX : clamped::add(spans.start[row], spans.duration[row]);
}

// Spans of the points' tracks alone, outer before inner.
std::vector<size_t> in_order(const SpanColumns& spans, const Points& points) {
    std::vector<int32_t> tracks(points.track, points.track + points.rows);
    std::sort(tracks.begin(), tracks.end());
    tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
    tracks.erase(tracks.begin(), std::lower_bound(tracks.begin(), tracks.end(), 0));  // no span is on those
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

void find_spans(const SpanColumns& spans, const Points& points, int64_t* out) {
    const std::vector<size_t> order = in_order(spans, points);
    std::vector<size_t> asked(points.rows);
    for (size_t i = 0; i < asked.size(); ++i) asked[i] = i;
    std::sort(asked.begin(), asked.end(), [&](size_t a, size_t b) {
        return std::tie(points.track[a], points.time[a]) < std::tie(points.track[b], points.time[b]);
    });
    std::vector<size_t> open;
    size_t next = 0;
    int32_t track = -1;
    for (const size_t point : asked) {
        const int64_t time = points.time[point];
        if (points.track[point] != track) {
            track = points.track[point];
            open.clear();
            while (next < order.size() && spans.track[order[next]] < track) ++next;
        }
        const auto here = [&] { return next < order.size() && spans.track[order[next]] == track; };
        for (; here() && spans.start[order[next]] <= time; ++next) {
            while (!open.empty() && end_of(spans, open.back()) < spans.start[order[next]]) open.pop_back();
            open.push_back(order[next]);
        }
        while (!open.empty() && end_of(spans, open.back()) < time) open.pop_back();
        if (points.enclosing[point]) {
            out[point] = open.empty() ? -1 : int64_t(open.back());
        } else if (!open.empty() && spans.start[open.back()] == time) {
            out[point] = int64_t(open.back());
        } else {
            out[point] = here() ? int64_t(order[next]) : -1;
        }
    }
}

}  // namespace eventide
