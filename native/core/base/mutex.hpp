// The mutex of the core and its rule (docs/locks.md): no lock of the core is held while a hook, a callback or a
// device's own code runs, except order locks (host_mutex.hpp) around a device's code. A build with EVENTIDE_CHECK_LOCKS
// counts the locks of each thread and aborts where the rule is broken; other builds check nothing.
#pragma once

#include <mutex>

#ifdef EVENTIDE_CHECK_LOCKS
#include <cstdio>
#include <cstdlib>
#endif

namespace eventide {

#ifdef EVENTIDE_CHECK_LOCKS

namespace locks {

struct Held {
    int plain = 0;
    int order = 0;
};
inline thread_local Held held;

// `order`: how many order locks may be held here.
inline void check(const char* what, int order) {
    if (held.plain == 0 && held.order <= order) return;
    std::fprintf(stderr, "%s is called with %d locks and %d order locks held; see docs/locks.md\n", what, held.plain,
                 held.order);
    std::abort();
}

inline void count_order(int change) {
    held.order += change;
}

// A hook or a callback is about to run.
inline void check_outside(const char* what) {
    check(what, 0);
}

// Scope in which a polled device's own code runs. That code may call anything: its count starts at 0.
class DeviceCall {
  public:
    DeviceCall() : outer_(held) {
        check("a device", 2);  // the stream's, and that of an event that is recorded there
        held = {};
    }
    ~DeviceCall() { held = outer_; }
    DeviceCall(const DeviceCall&) = delete;
    DeviceCall& operator=(const DeviceCall&) = delete;

  private:
    const Held outer_;
};

}  // namespace locks

class Mutex {
  public:
    void lock() {
        m_.lock();
        ++locks::held.plain;
    }
    bool try_lock() {
        if (!m_.try_lock()) return false;
        ++locks::held.plain;
        return true;
    }
    void unlock() {
        --locks::held.plain;
        m_.unlock();
    }

  private:
    std::mutex m_;
};

#else

using Mutex = std::mutex;

namespace locks {

inline void check_outside(const char*) {}
inline void count_order(int) {}

struct DeviceCall {
    DeviceCall() {}  // not trivial: avoids a warning about an unused variable
};

}  // namespace locks

#endif

}  // namespace eventide
