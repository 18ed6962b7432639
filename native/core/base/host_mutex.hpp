// A recursive lock that may be held while a device's own code runs, Python included. A thread that waits for it
// releases the host lock meanwhile, so that the owner can always take the host lock.
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host_lock.hpp"
#include "base/mutex.hpp"

namespace eventide {

class HostMutex {
  public:
    // When the thread that ends the process stops waiting: the holder may hang inside the device or be parked. Set by
    // process::shut_down.
    static inline thread_local int64_t give_up_at = INT64_MAX;

    // Throws Error (device) at that time.
    void lock() {
        if (try_lock()) return;
        HostLock* host = HostLock::installed();
        void* held = host ? host->suspend() : nullptr;
        const bool locked = wait();
        if (held) host->resume(held);
        if (!locked)
            throw Error(ErrorKind::device,
                        "the process ends, and another thread has not returned from the stream's device; end threads "
                        "that use a device before the process ends");
        locks::count_order(1);
    }
    bool try_lock() {
        if (!m_.try_lock()) return false;
        locks::count_order(1);
        return true;
    }
    void unlock() {
        locks::count_order(-1);
        m_.unlock();
    }

  private:
    bool wait() {
        if (give_up_at == INT64_MAX) {
            m_.lock();
            return true;
        }
        while (!m_.try_lock()) {
            if (now_ns() >= give_up_at) return false;
            const timespec pause{0, 1'000'000};
            nanosleep(&pause, nullptr);
        }
        return true;
    }

    std::recursive_mutex m_;
};

}  // namespace eventide
