// A recursive lock that may be held while a device's own code runs, Python included. Whoever has to wait for it lets go
// of the host lock meanwhile, so the holder can always take that.
#pragma once

#include <mutex>

#include "host_lock.hpp"

namespace eventide {

class HostMutex {
  public:
    void lock() {
        if (m_.try_lock()) return;
        HostLock* host = HostLock::installed();
        void* held = host ? host->suspend() : nullptr;
        m_.lock();
        if (held) host->resume(held);
    }
    void unlock() { m_.unlock(); }

  private:
    std::recursive_mutex m_;
};

}  // namespace eventide
