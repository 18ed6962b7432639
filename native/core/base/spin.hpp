// Spins for a few microseconds before a thread sleeps: waking a sleeping thread costs a system call, several times the
// cost of handing over small work.
//
// Bounded in three ways: one wait lasts at most `spin_ns`; a thread whose waits fail skips the next ones (1, 2, 4 ...
// 64), so an idle thread sleeps; a waiting thread yields, because the producer may need its processor. At most one
// thread fewer than there are processors spins.
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
        const bool succeeded = ready();
        if (!succeeded) skip_ = penalty_;
        penalty_ = succeeded ? 1 : std::min<uint32_t>(2 * penalty_, 64);
        return succeeded;
    }

    // The spinning threads do not exist in the child.
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
        int n = processors.load(std::memory_order_relaxed);
        if (!n) {
            cpu_set_t set;
            n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
            processors.store(n, std::memory_order_relaxed);
        }
        return std::max(n - 1, 1);
    }
    static inline constinit std::atomic<int> processors{0};  // 0: not counted yet
    static inline constinit std::atomic<int> spinning{0};

    uint32_t skip_ = 1;  // waits to skip; the first wait of a thread comes before its first work
    uint32_t penalty_ = 1;
};

}  // namespace eventide
