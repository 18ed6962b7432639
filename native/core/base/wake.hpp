// Wakes threads that wait for a worker. A thread that wakes while the worker still holds the host lock blocks on that
// lock again, which doubles the cost of a round trip; so a worker defers the wake-up until it has released the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/context.hpp"
#include "base/futex.hpp"

namespace eventide {

// At once, or, on a worker that defers wake-ups, at its next wake_now().
inline void wake_soon(std::atomic<uint32_t>& word) noexcept {
    ThreadContext& c = thread_context;
    if (!c.defers_wakes) return futex::wake_all(word);
    if (c.wake && c.wake != &word) futex::wake_all(*c.wake);
    c.wake = &word;  // if the object is destroyed meanwhile, the wake-up has no effect
}

inline void wake_now() noexcept {
    if (auto* word = std::exchange(thread_context.wake, nullptr)) futex::wake_all(*word);
}

}  // namespace eventide
