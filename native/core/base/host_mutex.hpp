// A recursive lock that may be held while a device's own code runs, Python included. A thread that waits for it
// releases the host lock meanwhile, so that the owner can always take the host lock.
#pragma once

#include <mutex>

#include "base/host_lock.hpp"
#include "base/mutex.hpp"

namespace eventide {

class HostMutex {
  public:
    void lock() {
        if (try_lock()) return;
        HostLock* host = HostLock::installed();
        void* held = host ? host->suspend() : nullptr;
        m_.lock();
        locks::count_order(1);
        if (held) host->resume(held);
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
    std::recursive_mutex m_;
};

}  // namespace eventide
