#include "formats/lanes.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "base/innermost_span.hpp"

namespace eventide::formats {
namespace {

// Sorts rows by key, stable; `first` becomes the index of each key's first row.
std::vector<int64_t> bucket(int64_t count, size_t keys, const int32_t* key, const std::vector<int64_t>* rows,
                            std::vector<int64_t>& first) {
    first.assign(keys + 1, 0);
    for (int64_t i = 0; i < count; ++i) ++first[size_t(key[i]) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int64_t> at(first.begin(), first.end() - 1), out(size_t(count), 0);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t row = rows ? (*rows)[size_t(i)] : i;
        out[size_t(at[size_t(key[row])]++)] = row;
    }
    return out;
}

// The lanes of one track: for each, the ends of the spans that are open on it, innermost last.
class OpenLanes {
  public:
    size_t place(int64_t start, int64_t end) {
        for (size_t k = 0; k < open_.size(); ++k)
            if (fits(open_[k], start, end)) return push(k, end);
        open_.emplace_back();
        return push(open_.size() - 1, end);
    }

  private:
    static bool fits(std::vector<int64_t>& ends, int64_t start, int64_t end) {
        while (!ends.empty() && ends.back() <= start) ends.pop_back();
        return ends.empty() || ends.back() >= end;
    }
    size_t push(size_t k, int64_t end) {
        open_[k].push_back(end);
        return k;
    }
    std::vector<std::vector<int64_t>> open_;
};

}  // namespace

Lanes assign_lanes(const Spans& spans, int32_t tracks) {
    for (int64_t row = 0; row < spans.count; ++row)
        if (spans.track[row] < 0 || spans.track[row] >= tracks)
            throw Error(ErrorKind::value, "row " + std::to_string(row) + " of spans has track " +
                                              std::to_string(spans.track[row]) + ", and there are " +
                                              std::to_string(tracks) + " tracks");
    Lanes out;
    out.lane.assign(size_t(spans.count), 0);
    out.track.resize(size_t(tracks));
    std::iota(out.track.begin(), out.track.end(), 0);
    std::vector<int64_t> first;
    std::vector<int64_t> rows = bucket(spans.count, size_t(tracks), spans.track, nullptr, first);
    const auto opens_before = [&](int64_t a, int64_t b) {
        return spans.start[a] != spans.start[b] ? spans.start[a] < spans.start[b] : spans.end(a) > spans.end(b);
    };
    for (int32_t t = 0; t < tracks; ++t) {
        const auto begin = rows.begin() + first[size_t(t)], end = rows.begin() + first[size_t(t) + 1];
        if (!std::is_sorted(begin, end, opens_before)) std::stable_sort(begin, end, opens_before);
        const auto extra = int32_t(out.track.size()) - 1;  // the second lane of this track is extra + 1
        OpenLanes open;
        for (auto row = begin; row != end; ++row) {
            const auto k = int32_t(open.place(spans.start[*row], spans.end(*row)));
            if (k && extra + k == int32_t(out.track.size())) out.track.push_back(t);
            out.lane[size_t(*row)] = k ? extra + k : t;
        }
    }
    out.order = bucket(spans.count, out.track.size(), out.lane.data(), &rows, out.first);
    return out;
}

std::vector<int64_t> enclosing(const Spans& spans, const Lanes& lanes, int64_t count, const int32_t* track,
                               const int64_t* time) {
    std::vector<int64_t> found(size_t(count), -1);
    const auto spans_of = [&](int32_t t) {
        const bool exists = t >= 0 && size_t(t) + 1 < lanes.first.size();
        const int64_t* const rows = lanes.order.data();
        return exists ? std::pair(rows + lanes.first[size_t(t)], rows + lanes.first[size_t(t) + 1])
                      : std::pair(rows, rows);
    };
    find_innermost(
        {track, time, size_t(count)}, spans_of, [&](int64_t row) { return spans.start[row]; },
        [&](int64_t row, int64_t at) { return spans.end(row) <= at; },
        [&](size_t point, int64_t row, int64_t) { found[point] = row; });
    return found;
}

}  // namespace eventide::formats
