// The clock of traces: CLOCK_MONOTONIC in nanoseconds. A read is one vDSO call (about 20 ns).
#pragma once

#include <cstdint>
#include <ctime>

namespace eventide {

inline int64_t now_ns() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// CPU time of the calling thread; a system call (about 200 ns).
inline int64_t thread_cpu_ns() noexcept {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace eventide
