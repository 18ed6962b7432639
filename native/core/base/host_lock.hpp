// The interface to the lock that Python work needs (the GIL). The bindings install an implementation; without one (C++
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
    // How long one run of work may hold the lock before other threads get a turn.
    virtual int64_t slice_ns() = 0;
    // For calls into a device from any thread: takes the lock if this thread does not hold it; leave() undoes that.
    virtual int enter() = 0;
    virtual void leave(int how) = 0;
    // Releases the lock if this thread holds it, else returns nullptr. resume() takes it again.
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
    // Ends the run after its time slice: other threads get a turn between two items, never within one.
    void leave_after_slice(int64_t now) {
        if (held_ && lock_ && now - started_ >= lock_->slice_ns()) leave();
    }
    bool held() const noexcept { return held_; }

  private:
    HostLock* lock_ = nullptr;
    bool held_ = false;
    int64_t started_ = 0;
};

}  // namespace eventide
