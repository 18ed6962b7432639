#include "base/ticks.hpp"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace eventide::ticks {
namespace {

// EVENTIDE_CLOCK=monotonic disables the counter: for machines with a wrong counter, and for tests.
bool find_counter() noexcept {
    if (const char* wanted = std::getenv("EVENTIDE_CLOCK"); wanted && wanted[0] == 'm') return false;
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));  // invariant TSC
#elif defined(__aarch64__)
    return true;  // the generic timer is invariant by its specification
#else
    return false;
#endif
}

}  // namespace

const bool counter = find_counter();

Anchor anchor() noexcept {
    Anchor best{0, 0, INT64_MAX};
    for (int i = 0; i < 16; ++i) {
        const int64_t before = now_ns();
        const uint64_t t = now();
        const int64_t after = now_ns();
        if (after - before < best.width_ns) best = {t, before + (after - before) / 2, after - before};
    }
    if (!counter) best = {uint64_t(best.ns), best.ns, 0};
    return best;
}

const char* source() noexcept {
#if defined(__x86_64__)
    return counter ? "tsc" : "clock_monotonic";
#else
    return counter ? "cntvct" : "clock_monotonic";
#endif
}

}  // namespace eventide::ticks
