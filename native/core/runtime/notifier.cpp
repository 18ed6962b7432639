#include "runtime/notifier.hpp"

#include <array>
#include <atomic>
#include <utility>

#include "base/clock.hpp"
#include "base/context.hpp"
#include "base/error.hpp"
#include "base/futex.hpp"
#include "base/host_lock.hpp"
#include "base/mutex.hpp"
#include "base/process.hpp"
#include "base/thread.hpp"
#include "runtime/device.hpp"

namespace eventide::notifier {
namespace {

// Of one thread.
struct State {
    Mutex m;  // guards the next three
    Task* first = nullptr;
    Task* last = nullptr;
    bool removed = false;  // the device type: the thread ends when it has nothing to run
    const char* name = "eventide-device";
    std::atomic<bool> started{false};   // written under m
    std::atomic<uint32_t> posted{0};    // futex word of the thread: one up per post
    std::atomic<uint32_t> finished{0};  // futex word of drain(): one up per task
    std::atomic<bool> sleeping{false};
    std::atomic<int64_t> sweep_at{INT64_MAX};  // the earliest time given to request_sweep
    std::atomic<uint32_t> drainers{0};
    std::atomic<uint64_t> accepted{0};
    std::atomic<uint64_t> done{0};
};

constexpr int64_t hour_ns = 3'600'000'000'000;

struct States {
    States() { callbacks.name = "eventide-notifier"; }
    State callbacks;
    std::array<State, devices::max_types> devices;  // by the number of the type

    State& of(int16_t type) { return type < 0 ? callbacks : devices.at(size_t(type)); }
};

Sweeper sweeper{};
States* states = new States;  // leaked on purpose: the threads may outlive static destruction

Task* take_all(State& s) {
    std::lock_guard lock(s.m);
    s.last = nullptr;
    return std::exchange(s.first, nullptr);
}

void run_list(State& s, Task* t, HostRun& run) {
    while (t) {
        Task* task = std::exchange(t, t->next);  // no smart pointer: see thread.hpp, the stack may be unwound
        if (task->needs_host_lock()) run.enter(now_ns());
        locks::check_outside("a callback");
        task->run();
        delete task;
        s.done.fetch_add(1, std::memory_order_release);
        // Pairs with drain(), which increments `drainers` and then reads `finished`, all seq_cst: at least one of the
        // two sees the other.
        s.finished.fetch_add(1, std::memory_order_seq_cst);
        if (s.drainers.load(std::memory_order_seq_cst)) futex::wake_all(s.finished);
        run.leave_after_slice(now_ns());
    }
}

void sweep_once(State& s, HostRun& run) {
    // Both sides change sweep_at by one read-modify-write, so one is first. If request_sweep is, this exchange reads
    // what it released, and needed() sees the clean-up that its caller left. If this is, request_sweep reads INT64_MAX
    // and requests another sweep. (Fences would do as well; TSan does not support them.)
    s.sweep_at.exchange(INT64_MAX, std::memory_order_seq_cst);
    if (!sweeper.needed()) return;
    run.enter(now_ns());
    sweeper.sweep();
}

// False: there is something to run, or more may come.
bool end(State& s) {
    std::lock_guard lock(s.m);
    if (!s.removed || s.first) return false;
    s.started = false;
    return true;
}

// No catch (...) and no noexcept on this stack: see thread.hpp.
void* loop(void* argument) {
    State& s = *static_cast<State*>(argument);
    HostRun run;
    name_this_thread(std::string(s.name, 0, 15).c_str());
    thread_context.core_thread = true;
    thread_context.name = s.name;
    thread_context.callback_depth = 1;
    for (;;) {
        uint32_t seen = s.posted.load(std::memory_order_acquire);
        if (Task* t = take_all(s)) {
            run_list(s, t, run);
            continue;
        }
        run.leave();
        if (process::abandoned.load(std::memory_order_relaxed)) park_thread();
        if (end(s)) break;
        // Pairs with wake(), which changes sweep_at or the list, counts up `posted` and then reads `sleeping`, all
        // seq_cst: if it reads false, its count came before this store, and futex::wait sees another number than
        // `seen`. `seen` was read before the list was taken.
        s.sleeping.store(true, std::memory_order_seq_cst);
        const int64_t sweep_at = s.sweep_at.load(std::memory_order_seq_cst);
        const int64_t left = sweep_at == INT64_MAX ? hour_ns : sweep_at - now_ns();
        if (left > 0) futex::wait(s.posted, seen, left);
        s.sleeping.store(false, std::memory_order_relaxed);
        if (sweep_at <= now_ns()) sweep_once(s, run);
    }
    if (HostLock* lock = HostLock::installed()) lock->forget_thread();
    return nullptr;
}

// Starts the thread if it does not run yet. If the system cannot create one, posted tasks wait for the next call: the
// callers are workers and hooks, which cannot raise the error.
void start(State& s) {
    std::lock_guard lock(s.m);
    if (s.started) return;
    try {
        start_thread(loop, &s);
        s.started = true;
    } catch (const Error&) {
    }
}

void wake(State& s) {
    if (!s.started.load(std::memory_order_acquire)) start(s);
    s.posted.fetch_add(1, std::memory_order_seq_cst);
    if (s.sleeping.load(std::memory_order_seq_cst)) futex::wake_all(s.posted);
}

bool drain(State& s, int64_t deadline) {
    const uint64_t target = s.accepted.load(std::memory_order_relaxed);
    if (s.done.load(std::memory_order_acquire) < target) wake(s);
    s.drainers.fetch_add(1, std::memory_order_seq_cst);
    bool drained = false;
    for (;;) {
        const uint32_t seen = s.finished.load(std::memory_order_seq_cst);
        drained = s.done.load(std::memory_order_acquire) >= target;
        const int64_t left = deadline - now_ns();
        if (drained || left <= 0) break;
        futex::wait(s.finished, seen, left);
    }
    s.drainers.fetch_sub(1, std::memory_order_relaxed);
    return drained;
}

// The tasks from `first` to `last`, of one thread.
void post(State& s, Task* first, Task* last, uint64_t n) {
    {
        std::lock_guard lock(s.m);
        (s.last ? s.last->next : s.first) = first;
        s.last = last;
        s.accepted.fetch_add(n, std::memory_order_relaxed);
    }
    wake(s);
}

}  // namespace

void post(Task* first) {
    while (first) {
        const int16_t type = first->device_type();
        uint64_t n = 1;
        Task* last = first;
        for (; last->next && last->next->device_type() == type; last = last->next) ++n;
        Task* const rest = std::exchange(last->next, nullptr);
        post(states->of(type), std::exchange(first, rest), last, n);
    }
}

void set_sweeper(Sweeper given) {
    sweeper = given;
}

void request_sweep(int64_t after_ns) {
    State& s = states->callbacks;
    const int64_t at = now_ns() + after_ns;
    int64_t before = s.sweep_at.fetch_add(0, std::memory_order_seq_cst);  // not a load: see sweep_once
    do {
        if (before <= at) return;
    } while (!s.sweep_at.compare_exchange_weak(before, at, std::memory_order_seq_cst));
    wake(s);
}

// Callbacks once more at the end: closing a stream may post that its error was not seen.
bool drain(int64_t timeout_ns) {
    const int64_t deadline = now_ns() + timeout_ns;
    bool drained = drain(states->callbacks, deadline);
    for (State& s : states->devices) drained &= drain(s, deadline);
    return drain(states->callbacks, deadline) && drained;
}

uint64_t completed() noexcept {
    uint64_t sum = states->callbacks.done.load(std::memory_order_relaxed);
    for (const State& s : states->devices) sum += s.done.load(std::memory_order_relaxed);
    return sum;
}

void type_removed(int16_t type) {
    State& s = states->of(type);
    {
        std::lock_guard lock(s.m);
        s.removed = true;
    }
    if (s.started.load(std::memory_order_acquire)) wake(s);
}

void after_fork_in_child() {
    states = new States;
}

}  // namespace eventide::notifier
