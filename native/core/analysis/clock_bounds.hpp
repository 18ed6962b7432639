// What the collectives of a job say about the clocks of its ranks.
//
// In a collective no rank that receives ends before each rank that provides has started. With T between the two, in the
// time of the reference rank, start - offset(start) <= T of a rank that provides, and T <= end - offset(end) of one that
// receives. The offset of a rank is a line over its own time, whose slope is at most `drift`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eventide {

struct ClockProblem {
    static constexpr uint8_t provides = 1, receives = 2;

    size_t ranks;
    size_t collectives;
    const int64_t* first_row;   // ranks + 1; the rows of rank r are [first_row[r], first_row[r + 1])
    const int64_t* collective;  // rows
    const int64_t* start;       // rows, nanoseconds, of the rank's own clock
    const int64_t* end;         // rows
    const uint8_t* role;        // rows: provides | receives
    size_t reference;           // the rank with offset 0
    double drift;               // largest slope, ns per ns
};

// The range of each row's offset, at its start and at its end; infinite where nothing bounds it.
struct ClockRanges {
    double* low_at_start;
    double* high_at_start;
    double* low_at_end;
    double* high_at_end;
};

// Two rows of one rank that no line satisfies.
struct ClockConflict {
    bool found = false;
    size_t rank = 0;
    int64_t upper_row = -1, lower_row = -1;
};

// A linear programme of two unknowns for each rank, repeated until the ranges of T do not shrink by a nanosecond: what
// one rank says about T bounds the others. Each step only removes what is impossible, so the ranges contain the truth
// whenever it ends. O(rounds * rows * log rows).
ClockConflict bound_clocks(const ClockProblem& problem, const ClockRanges& out, size_t most_rounds);

// Lines y = a + b * t below every upper point and above every lower one, with |b| <= drift.
class LineRange {
  public:
    struct Point {
        double t, y;
        int64_t row;
    };

    // Sorts the points.
    LineRange(std::vector<Point> upper, std::vector<Point> lower, double drift);

    bool feasible() const { return feasible_; }
    int64_t upper_row() const { return upper_row_; }  // of a system that is not feasible
    int64_t lower_row() const { return lower_row_; }
    double highest(double t) const;  // at time t
    double lowest(double t) const;

  private:
    const Point& binding_upper(double slope) const;
    const Point& binding_lower(double slope) const;
    double slope_limit(double side);

    std::vector<Point> upper_, lower_;  // the hulls that lines touch, by time
    double drift_, least_ = 0, most_ = 0;
    bool feasible_ = true;
    int64_t upper_row_ = -1, lower_row_ = -1;
};

}  // namespace eventide
