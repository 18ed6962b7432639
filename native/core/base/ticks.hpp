// The recorder's stamps: the processor's own counter where it runs evenly and never stops (8 ns a look), else
// CLOCK_MONOTONIC in nanoseconds (25 ns). Which one, and how ticks become nanoseconds, is stored with the trace.
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

// The same moment on both clocks; it lies within `width_ns` (the time between two looks at the clock around it).
struct Anchor {
    uint64_t ticks;
    int64_t ns;
    int64_t width_ns;
};

// The tightest of some tries: a look that was interrupted is no good.
Anchor anchor() noexcept;

// "tsc", "cntvct" or "clock_monotonic"
const char* source() noexcept;

}  // namespace eventide::ticks
