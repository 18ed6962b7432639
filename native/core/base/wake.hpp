// Waking sleepers from a worker. A thread that is woken while the worker still holds the host lock goes straight back
// to sleep for it, which doubles the cost of a round trip; so a worker remembers the wake-up until it has let go.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/context.hpp"
#include "base/futex.hpp"

namespace eventide {

// Now; on a worker between two of its own steps: at its next wake_now().
inline void wake_soon(std::atomic<uint32_t>& word) noexcept {
    ThreadContext& c = thread_context;
    if (!c.defers_wakes) return futex::wake_all(word);
    if (c.wake && c.wake != &word) futex::wake_all(*c.wake);
    c.wake = &word;  // if the object dies meanwhile, waking its address wakes nobody
}

inline void wake_now() noexcept {
    if (auto* word = std::exchange(thread_context.wake, nullptr)) futex::wake_all(*word);
}

}  // namespace eventide
