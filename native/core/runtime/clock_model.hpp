// Maps times of a device's clock to the trace's clock, with a bound on the error.
//
// A sample is a reading of the device's clock between two readings of CLOCK_MONOTONIC: the true offset lies in an
// interval as wide as the two are apart. The tightest sample of each stretch of time is kept as an anchor. Between two
// anchors the offset is interpolated, beyond the last one it is extrapolated at the rate measured so far, and the bound
// grows with the distance to the anchors: by what the two intervals leave open, and by how much a clock's rate may vary
// (wander), which is increased when a new anchor contradicts the old ones. A step of the clock (it was set) gives a
// wide bound there.
//
// Thread-safe. Plain arithmetic, checked against an oracle: tests/reference/clock_oracle.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.hpp"

namespace eventide {

struct ClockSample {
    int64_t before = 0;  // CLOCK_MONOTONIC
    int64_t device = 0;  // the device's clock, at some moment in between
    int64_t after = 0;
};

class ClockModel {
  public:
    static constexpr double max_drift = 1e-3;           // of any clock: an NTP slew and a bad crystal together
    static constexpr double least_wander = 2e-6;        // how much a rate may change, before any measurement
    static constexpr int64_t spacing_ns = 500'000'000;  // of anchors, at first
    static constexpr size_t most_anchors = 1024;        // then every second one is removed, and the spacing doubles

    struct Anchor {
        int64_t device;  // on the device's clock
        int64_t offset;  // device - host
        int64_t error;   // the offset is known to within this
    };
    struct Estimate {
        int64_t host;    // on CLOCK_MONOTONIC
        int64_t error;   // upper bound of the error; -1: no sample yet
        int64_t offset;  // device - host
    };

    void add(const ClockSample& sample);
    Estimate at(int64_t device) const;
    // Whether it is time for another sample: soon at first, then every second.
    bool due(int64_t host_now) const;
    // The caller is about to take a sample: other threads need not.
    void taking(int64_t host_now);

    struct State {
        std::vector<Anchor> anchors;
        uint64_t samples = 0;
        double drift = 0;   // how much faster the device's clock runs, as a ratio
        double wander = 0;  // how much the drift may vary
    };
    State state() const;

  private:
    struct Rate {
        double drift;
        double error;
    };
    Rate rate_locked(size_t last, int direction) const;
    Estimate beyond_locked(size_t anchor, int direction, int64_t device) const;
    Estimate between_locked(size_t before, int64_t device) const;
    Estimate at_locked(int64_t device) const;
    void widen_wander_locked(const Anchor& fresh);
    void thin_locked();
    bool stepped_locked(size_t before) const;

    mutable Mutex m_;
    std::vector<Anchor> anchors_;  // by device time
    uint64_t samples_ = 0;
    double wander_ = least_wander;
    int64_t spacing_ = spacing_ns;
    int64_t first_taken_ = 0;
    int64_t last_taken_ = 0;
};

}  // namespace eventide
