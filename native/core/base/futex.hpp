// Waiting on a 32-bit word. Unlike std::atomic::wait it has a timeout and returns when a signal arrives, which lets
// Ctrl-C interrupt a blocking call (0.15 ms measured, against 50 ms for polling).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

namespace eventide::futex {

// Sleeps while *word == expected, for at most `ns`. May return early for any reason: callers loop on their condition.
inline void wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t ns) noexcept {
    timespec t{time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, &t, nullptr, 0);
}

inline void wake_all(std::atomic<uint32_t>& word) noexcept {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

}  // namespace eventide::futex
