#include "analysis/spans_in_time.hpp"

#include <algorithm>
#include <vector>

#include "base/clamped.hpp"

namespace eventide {
namespace {

class Sweep {
  public:
    explicit Sweep(const Nesting& n) : n_(n) {}

    // Adds the time up to `until` to the self time of the innermost span.
    void advance(int64_t until) {
        while (now_ < until) {
            const int64_t top = innermost();
            const int64_t stop = top < 0 ? until : std::min(until, n_.end[top]);
            if (top >= 0) n_.self_time[top] = clamped::add(n_.self_time[top], clamped::subtract(stop, now_));
            if (segments_ == 0 || n_.owner[segments_ - 1] != top) {
                n_.times[segments_] = now_;
                n_.owner[segments_++] = top;
            }
            now_ = stop;
        }
    }

    void begin(size_t row) {
        if (row == 0) now_ = n_.start[0];
        advance(n_.start[row]);
        n_.parent[row] = innermost();
        n_.self_time[row] = 0;
        running_.push_back(int64_t(row));
        last_ = std::max(last_, n_.end[row]);
    }

    size_t finish() {
        advance(last_);
        n_.times[segments_] = last_;
        return segments_;
    }

  private:
    int64_t innermost() {
        while (!running_.empty() && n_.end[running_.back()] <= now_) running_.pop_back();
        return running_.empty() ? -1 : running_.back();
    }

    const Nesting& n_;
    std::vector<int64_t> running_;
    int64_t now_ = 0;
    int64_t last_ = INT64_MIN;
    size_t segments_ = 0;
};

}  // namespace

size_t nest(const Nesting& n) {
    if (n.rows == 0) return 0;
    Sweep sweep(n);
    for (size_t row = 0; row < n.rows; ++row) sweep.begin(row);
    return sweep.finish();
}

void relax(const int64_t* source, const int64_t* target, const int64_t* gap, size_t edges, int64_t* slack) {
    for (size_t i = 0; i < edges; ++i)
        slack[source[i]] = std::min(slack[source[i]], clamped::add(gap[i], slack[target[i]]));
}

size_t follow(const int64_t* pred, const int64_t* low, int64_t node, int64_t begin, size_t capacity, int64_t* out) {
    size_t count = 0;
    while (node >= 0 && count < capacity) {
        out[count++] = node;
        if (low[node] <= begin) break;
        node = pred[node];
    }
    return count;
}

}  // namespace eventide
