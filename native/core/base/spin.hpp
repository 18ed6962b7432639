// Waiting awake for a few microseconds before a thread sleeps: waking a sleeper costs a system call, which is
// several times the cost of handing over small work.
//
// Bounded three ways: one wait lasts `spin_ns` at most; a thread whose waits do not pay skips the next ones (1, 2, 4
// ... 64), so one that idles sleeps; and while it waits it yields: the producer may need this very processor. At most
// one thread less than the process has processors waits so.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace eventide {

class Spin {
  public:
    // True as soon as ready() is. Owned by one thread.
    template <class Ready>
    bool wait(Ready ready) {
        if (skip_) {
            --skip_;
            return false;
        }
        if (spinning.fetch_add(1, std::memory_order_relaxed) < limit()) {
            for (const int64_t end = now_ns() + spin_ns; !ready() && now_ns() < end; sched_yield())
                for (int i = 0; i < 16; ++i) pause();
        }
        spinning.fetch_sub(1, std::memory_order_relaxed);
        const bool paid = ready();
        if (!paid) skip_ = penalty_;
        penalty_ = paid ? 1 : std::min<uint32_t>(2 * penalty_, 64);
        return paid;
    }

    // The child has none of the threads that waited.
    static void after_fork_in_child() noexcept { spinning.store(0, std::memory_order_relaxed); }

  private:
    static constexpr int64_t spin_ns = 50'000;

    static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
    static int limit() noexcept {
        static const int processors = [] {
            cpu_set_t set;
            return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
        }();
        return std::max(processors - 1, 1);
    }
    static inline constinit std::atomic<int> spinning{0};

    uint32_t skip_ = 1;  // waits not to make; the first one of a thread's life is before its first work
    uint32_t penalty_ = 1;
};

}  // namespace eventide
