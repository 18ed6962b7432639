// What all bindings share: errors, the GIL, blocking calls, references to drop later.
//
// Rule of this folder: what runs Python code or takes the GIL below frames of the core does it inside or_park. On the
// stacks of the core's own threads, and of plain C methods, there is no noexcept frame and no catch (...) either, see
// base/thread.hpp. nanobind's own dispatch has one, so methods that block, call back or fire hooks are plain C methods
// in hot_*.cpp; nanobind serves the rest.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process.hpp"
#include "base/thread.hpp"

namespace eventide::python {

// Runs f, which runs Python code or takes the GIL, below frames of the core. CPython 3.11 to 3.13 end a thread that
// requests the GIL while the interpreter shuts down with pthread_exit, which would unwind those frames: their
// destructors would request the GIL once more, and some are noexcept. The thread stops here instead, with all that it
// holds; since 3.14 CPython itself does the same.
template <class F>
auto or_park(F&& f) -> decltype(f()) {
    try {
        return f();
    } catch (abi::__forced_unwind&) {
        park_thread();
    }
}

// ---- errors ------------------------------------------------------------------------------------------------------
// Sets the Python exception that corresponds; always returns nullptr.
PyObject* raise(const Error& error);
PyObject* raise(ErrorKind kind, const char* format, ...);
PyObject* raise(const std::exception& error);
// A new reference to eventide.errors.<name>; nullptr with an exception set if it is missing.
PyObject* error_class(ErrorKind kind);
// A new reference to eventide.errors.<name>, likewise.
PyObject* errors_attribute(const char* name);

// new T(...); nullptr with MemoryError set if there is no memory. No exception may reach the C frames of Python.
template <class T, class... A>
T* new_or_raise(A&&... arguments) {
    try {
        return new T(std::forward<A>(arguments)...);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
        return nullptr;
    }
}

// A verb that Python called on this thread. If a device written in Python raises something that is no
// Exception (KeyboardInterrupt, SystemExit), the core completes its operation with an error of the device, and then the
// verb raises that exception instead of any other result.
class Verb {
  public:
    Verb() noexcept : outer_(std::exchange(innermost, this)) {}
    Verb(const Verb&) = delete;
    Verb& operator=(const Verb&) = delete;
    // Once, with the GIL: the result, or nullptr with the exception set.
    PyObject* end(PyObject* result);
    // Keeps the exception for the innermost verb of this thread, which raises the first one it gets. Without a verb (a
    // thread of the core or of the device) the main thread raises it. With the GIL.
    static void interrupt(PyObject* exception);
    static bool interrupted() noexcept { return innermost && innermost->exception_; }

  private:
    static thread_local Verb* innermost;
    Verb* const outer_;
    PyObject* exception_ = nullptr;
};

// Runs f and turns what the core throws into a Python exception. Its handlers are typed: a thread that ends inside f is
// unwound through them.
template <class F>
PyObject* translated(F&& f) {
    try {
        return f();
    } catch (const Error& e) {
        return raise(e);
    } catch (const std::exception& e) {
        return raise(e);
    }
}

// The same for a whole verb.
template <class F>
PyObject* guarded(F&& f) {
    Verb verb;
    return verb.end(translated(f));
}

// The exception of failed work, kept until the last stream, marker and Future that refer to it are destroyed. See
// failure.cpp.
class PythonFailure final : public Failure {
  public:
    explicit PythonFailure(PyObject* exception);  // with the GIL
    ~PythonFailure() override;                    // on any thread
    PyObject* exception;                          // written and read with the GIL
    // Its stream was destroyed. Logged when no other object can raise the error, unless it was raised before.
    void report_unseen(const std::string& where) override;
    // The program gets the exception. With the GIL.
    void show() const;
    bool seen() const noexcept { return seen_.load(std::memory_order_relaxed); }

  private:
    friend struct LiveFailures;
    std::string where_;  // guarded by the lock of the live failures
    mutable std::atomic<bool> seen_{false};
};

// For objects that keep such an exception themselves, all but the second with the GIL: a new reference that is counted
// as theirs, its end (before the reference is dropped), and that the program gets the exception.
PyObject* own_exception(PyObject* exception);
void disown_exception(PyObject* exception);
void show_exception(PyObject* exception);
// Whether there are exceptions that were shown and may have to lose frames of the program; then does it. With the GIL.
bool failures_shown() noexcept;
void restore_tracebacks();
// At exit nothing waits for the last holder: logs what was not seen so far, and from now on at once.
void report_unseen_failures();
void failures_after_fork_in_child();

// stream.synchronize: the first error itself. Returns nullptr.
PyObject* raise_failure(const Failure& failure);
// event.synchronize and skipped work: a StreamError caused by it, "<what> because earlier work there raised ...". The
// second gives it as a new reference.
PyObject* raise_stream_error(const Failure& failure, const std::string& what);
PyObject* make_stream_error(const Failure& failure, const std::string& what);

// Logs an exception that a callback raised (the current one, which is cleared) and counts it.
// KeyboardInterrupt and SystemExit are not logged: false, and the exception stays set.
bool report_callback_error(const char* what, PyObject* callback);
// Logs that the accesses of declared work are unknown (the current exception is the reason; it is cleared).
void report_unknown_accesses(PyObject* work);

// ---- the GIL -----------------------------------------------------------------------------------------------------
void install_host_lock();
void read_switch_interval();
// Takes the GIL on any thread, also one of the core's that has not got it; not once the interpreter shuts down: then
// the thread is parked.
int take_gil();
void give_gil(int how);
// Takes the GIL back after PyEval_SaveThread, likewise.
void restore_thread(PyThreadState* state);
// The state of this thread if it holds the GIL, else nullptr. PyGILState_Check answers 1 for every thread once there
// was a subinterpreter.
inline PyThreadState* state_with_gil() noexcept {
#if PY_VERSION_HEX < 0x030d0000
    PyThreadState* holder = _PyThreadState_UncheckedGet();
#else
    PyThreadState* holder = PyThreadState_GetUnchecked();
#endif
    return holder && holder == PyGILState_GetThisThreadState() ? holder : nullptr;
}
// Raises the current exception of this thread, or the given one, in the main thread instead.
void send_to_main_thread();
void send_to_main_thread(PyObject* exception);
bool on_main_thread();
void note_main_thread(unsigned long ident);

// Drops a reference from a thread that has not got the GIL: it is done by the next one that has.
void drop_later(PyObject* object);
// The same for an object with its own references, without a lock or an allocation: a node of the list of references.
class Dropped {
  public:
    virtual void drop() = 0;  // with the GIL; frees the object
    Dropped* next = nullptr;

  protected:
    ~Dropped() = default;
};
void drop_later(Dropped* node);
void drop_what_is_due();
void after_fork_in_child_python();

// ---- blocking ----------------------------------------------------------------------------------------------------
inline constexpr int64_t no_deadline = INT64_MAX;
inline constexpr int64_t slice_ns = 50'000'000;  // how long the main thread sleeps before it checks for signals

struct Timeout {
    double seconds = 0;  // as it was given
    int64_t deadline = no_deadline;
};

// None or seconds. False with an exception set if it is neither.
bool parse_timeout(PyObject* given, Timeout& timeout);

// Sets TimeoutError "<verb>: <what> after <the timeout> s"; returns nullptr.
PyObject* raise_timeout(const char* verb, const std::string& what, const Timeout& timeout);

enum class Waited { done, timeout, interrupted };

// Sleeps in step(ns) without the GIL until it says true, the deadline has passed, or a signal handler or the device
// raises.
template <class Step>
Waited wait_without_gil(int64_t deadline, Step&& step) {
    const bool main = on_main_thread();
    for (;;) {
        int64_t ns = main ? slice_ns : 3'600'000'000'000;
        if (deadline != no_deadline) {
            const int64_t left = deadline - now_ns();
            if (left < ns) ns = left > 0 ? left : 0;
        }
        PyThreadState* state = PyEval_SaveThread();
        const bool done = step(ns);
        restore_thread(state);
        drop_what_is_due();
        // First: it may be of a hook in this step.
        if (main && or_park([] { return Py_MakePendingCalls(); }) < 0) return Waited::interrupted;
        if (Verb::interrupted()) return Waited::interrupted;
        if (done) return Waited::done;
        if (deadline != no_deadline && now_ns() >= deadline) return Waited::timeout;
    }
}

// Keyword arguments of a fast method: fills slots by position and by name. False with TypeError set.
bool parse_arguments(const char* function, const char* const* names, PyObject** slots, int count, PyObject* const* args,
                     Py_ssize_t nargs, PyObject* kwnames);

}  // namespace eventide::python
