// The lock that Python work needs (the GIL), as the core sees it: something the bindings install. Without one (C++
// programs, C++ tests) it costs nothing.
#pragma once

#include <atomic>
#include <cstdint>

namespace eventide {

class HostLock {
  public:
    // Both are called on the core's own threads only. acquire() does not return once process::abandoned is set.
    virtual void acquire() = 0;
    virtual void release() = 0;
    // Called by a core thread that is about to end, without the lock.
    virtual void forget_thread() = 0;
    // How long one run of work may keep the lock while others may want it.
    virtual int64_t slice_ns() = 0;
    // For calls into a device from any thread, with or without the lock: takes it if need be; leave() undoes that.
    virtual int enter() = 0;
    virtual void leave(int how) = 0;
    // Lets go of the lock if this thread has it; nullptr if not. resume() takes it back.
    virtual void* suspend() = 0;
    virtual void resume(void* held) = 0;

    static HostLock* installed() noexcept { return instance.load(std::memory_order_acquire); }
    static void install(HostLock* lock) noexcept { instance.store(lock, std::memory_order_release); }

  protected:
    ~HostLock() = default;

  private:
    static inline constinit std::atomic<HostLock*> instance{nullptr};
};

// One thread's hold on the host lock, taken when needed and kept over a run of work.
class HostRun {
  public:
    void enter(int64_t now) {
        if (held_) return;
        if ((lock_ = HostLock::installed())) lock_->acquire();
        held_ = true;
        started_ = now;
    }
    void leave() {
        if (!held_) return;
        held_ = false;
        if (lock_) lock_->release();
    }
    // Ends the run if it has lasted its slice: others get their turn between two items, never within one.
    void breathe(int64_t now) {
        if (held_ && lock_ && now - started_ >= lock_->slice_ns()) leave();
    }
    bool held() const noexcept { return held_; }

  private:
    HostLock* lock_ = nullptr;
    bool held_ = false;
    int64_t started_ = 0;
};

}  // namespace eventide
