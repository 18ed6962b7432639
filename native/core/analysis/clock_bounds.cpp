#include "analysis/clock_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace eventide {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Point = LineRange::Point;

// The lower hull of the points by time: what a line from below can touch. With -y it is the upper hull.
std::vector<Point> hull(std::vector<Point> points) {
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
        return a.t != b.t ? a.t < b.t : a.y != b.y ? a.y < b.y : a.row < b.row;
    });
    std::vector<Point> kept;
    for (const Point& point : points) {
        if (!kept.empty() && kept.back().t == point.t) continue;
        while (kept.size() > 1) {
            const Point &a = kept[kept.size() - 2], &b = kept.back();
            if ((b.y - a.y) * (point.t - a.t) < (point.y - a.y) * (b.t - a.t)) break;
            kept.pop_back();
        }
        kept.push_back(point);
    }
    return kept;
}

void negate(std::vector<Point>& points) {
    for (Point& point : points) point.y = -point.y;
}

// The point of a lower hull that a line of this slope touches: slopes between its points increase.
const Point& touch(const std::vector<Point>& points, double slope) {
    size_t low = 0, high = points.size() - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const Point &a = points[middle], &b = points[middle + 1];
        if (b.y - a.y >= slope * (b.t - a.t))
            high = middle;
        else
            low = middle + 1;
    }
    return points[low];
}

// The highest value at t of the lines below a lower hull whose slope is in [least, most].
double highest_at(const std::vector<Point>& points, double t, double least, double most) {
    if (points.empty()) return infinity;
    const auto next = std::partition_point(points.begin(), points.end(), [&](const Point& p) { return p.t < t; });
    double slope = next == points.end() ? most : least;  // the line through the last, or the first point
    if (next != points.begin() && next != points.end()) {
        const Point &a = *(next - 1), &b = *next;
        slope = std::clamp((b.y - a.y) / (b.t - a.t), least, most);
    }
    const Point& point = touch(points, slope);
    return point.y + slope * (t - point.t);
}

}  // namespace

LineRange::LineRange(std::vector<Point> upper, std::vector<Point> lower, double drift) : drift_(drift) {
    upper_ = hull(std::move(upper));
    negate(lower);
    lower_ = hull(std::move(lower));  // with -y, as a lower hull
    most_ = slope_limit(1);
    if (feasible_) least_ = -slope_limit(-1);
    if (feasible_ && least_ > most_) least_ = most_ = (least_ + most_) / 2;  // one line, but for the rounding
}

const Point& LineRange::binding_upper(double slope) const {
    return touch(upper_, slope);
}

const Point& LineRange::binding_lower(double slope) const {
    return touch(lower_, -slope);
}

// The largest slope (side 1), or the negative of the smallest (side -1). The room between the two hulls is a concave
// function of the slope; Newton's method reaches its zero from outside.
double LineRange::slope_limit(double side) {
    double slope = side * drift_;
    if (upper_.empty() || lower_.empty()) return drift_;
    for (size_t step = 0; step < upper_.size() + lower_.size() + 2; ++step) {
        const Point &high = binding_upper(slope), &low = binding_lower(slope);
        const double room = high.y + low.y - slope * (high.t - low.t);
        if (room >= 0) break;
        const double rate = side * (low.t - high.t);  // of the room, as the slope leaves zero
        // Rounding of a room of nothing is not a contradiction.
        const bool nowhere = rate >= 0 || slope * side - room / rate < -drift_;
        if (nowhere && room < -1e-3) {
            feasible_ = false;
            upper_row_ = high.row, lower_row_ = low.row;
        }
        if (nowhere) break;
        slope = side * (slope * side - room / rate);
    }
    return slope * side;
}

double LineRange::highest(double t) const {
    return highest_at(upper_, t, least_, most_);
}

double LineRange::lowest(double t) const {
    return -highest_at(lower_, t, -most_, -least_);
}

namespace {

class Clocks {
  public:
    Clocks(const ClockProblem& problem, const ClockRanges& out)
        : p_(problem), out_(out), after_(problem.collectives, -infinity), before_(problem.collectives, infinity) {}

    ClockConflict run(size_t most_rounds) {
        for (size_t round = 0; round < most_rounds; ++round) {
            changed_ = false;
            for (size_t rank = 0; rank < p_.ranks; ++rank)
                if (!(rank == p_.reference ? use_reference() : use_rank(rank))) return conflict_;
            if (!changed_) break;
        }
        return conflict_;
    }

  private:
    bool use_reference() {
        for (int64_t row = p_.first_row[p_.reference]; row < p_.first_row[p_.reference + 1]; ++row) {
            set(row, {0, 0, 0, 0});
            narrow(row);
        }
        return true;
    }

    bool use_rank(size_t rank) {
        std::vector<LineRange::Point> upper, lower;
        for (int64_t row = p_.first_row[rank]; row < p_.first_row[rank + 1]; ++row) {
            const double start = double(p_.start[row]), end = double(p_.end[row]);
            const double before = before_[p_.collective[row]], after = after_[p_.collective[row]];
            if ((p_.role[row] & ClockProblem::provides) && before < infinity)
                lower.push_back({start, start - before, row});
            if ((p_.role[row] & ClockProblem::receives) && after > -infinity) upper.push_back({end, end - after, row});
        }
        const LineRange lines(std::move(upper), std::move(lower), p_.drift);
        if (!lines.feasible()) {
            conflict_ = {true, rank, lines.upper_row(), lines.lower_row()};
            return false;
        }
        for (int64_t row = p_.first_row[rank]; row < p_.first_row[rank + 1]; ++row) {
            const double start = double(p_.start[row]), end = double(p_.end[row]);
            set(row, {lines.lowest(start), lines.highest(start), lines.lowest(end), lines.highest(end)});
            narrow(row);
        }
        return true;
    }

    struct Offsets {
        double low_at_start, high_at_start, low_at_end, high_at_end;
    };

    void set(int64_t row, const Offsets& offsets) {
        out_.low_at_start[row] = offsets.low_at_start;
        out_.high_at_start[row] = offsets.high_at_start;
        out_.low_at_end[row] = offsets.low_at_end;
        out_.high_at_end[row] = offsets.high_at_end;
    }

    // What this row says about T of its collective.
    void narrow(int64_t row) {
        const int64_t collective = p_.collective[row];
        const double after = double(p_.start[row]) - out_.high_at_start[row];
        const double before = double(p_.end[row]) - out_.low_at_end[row];
        if ((p_.role[row] & ClockProblem::provides) && after > after_[collective]) {
            changed_ |= after > after_[collective] + 1;
            after_[collective] = after;
        }
        if ((p_.role[row] & ClockProblem::receives) && before < before_[collective]) {
            changed_ |= before < before_[collective] - 1;
            before_[collective] = before;
        }
    }

    const ClockProblem& p_;
    const ClockRanges& out_;
    std::vector<double> after_, before_;  // T of each collective is in between
    bool changed_ = false;
    ClockConflict conflict_;
};

}  // namespace

ClockConflict bound_clocks(const ClockProblem& problem, const ClockRanges& out, size_t most_rounds) {
    return Clocks(problem, out).run(most_rounds);
}

}  // namespace eventide
