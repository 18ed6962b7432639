// Threads of the core. They block all signals (the main thread handles them), are not joined (with one exception), and end by returning.
//
// A thread that takes the GIL while the interpreter shuts down is ended by pthread_exit, which unwinds its stack and
// aborts the process at any noexcept or catch (...) frame. The bindings park it before it unwinds the core (or_park in
// python.hpp), but a task's own Python code may still end the thread: so the functions given to start_thread, and all
// they call while Python may run, have neither (std::thread would add one).
#pragma once

#include <pthread.h>
#include <signal.h>

namespace eventide {

// While it exists, signals wait, or go to another thread.
class WithoutSignals {
  public:
    WithoutSignals() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WithoutSignals(const WithoutSignals&) = delete;
    WithoutSignals& operator=(const WithoutSignals&) = delete;

  private:
    sigset_t before_;
};

// Throws Error (device) if the system cannot start a thread.
void start_thread(void* (*function)(void*), void* argument);
// The same for a thread that will be joined; it takes no host lock.
pthread_t start_joinable_thread(void* (*function)(void*), void* argument);

// The system shows at most 15 characters.
void name_this_thread(const char* name) noexcept;

// Never returns: a thread waits here for the end of the process, with all the locks that it holds.
[[noreturn]] void park_thread();

}  // namespace eventide
