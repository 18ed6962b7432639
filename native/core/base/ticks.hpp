// The recorder's time stamps: the processor's counter where it is invariant (8 ns per read), else CLOCK_MONOTONIC in
// nanoseconds (25 ns). The source and the conversion to nanoseconds are stored with the trace.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace eventide::ticks {

// Set once, before main: the counter is invariant.
extern const bool counter;

inline uint64_t now() noexcept {
#if defined(__x86_64__)
    if (__builtin_expect(counter, true)) return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(counter, true)) {
        uint64_t t;
        asm volatile("mrs %0, cntvct_el0" : "=r"(t));
        return t;
    }
#endif
    return uint64_t(now_ns());
}

// One moment on both clocks, exact to `width_ns`: the time between the two reads of the clock around it.
struct Anchor {
    uint64_t ticks;
    int64_t ns;
    int64_t width_ns;
};

// The narrowest of several tries: an interrupted one is too wide.
Anchor anchor() noexcept;

// "tsc", "cntvct" or "clock_monotonic"
const char* source() noexcept;

}  // namespace eventide::ticks
