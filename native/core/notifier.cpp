#include "notifier.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "clock.hpp"
#include "context.hpp"
#include "futex.hpp"
#include "host_lock.hpp"
#include "process.hpp"
#include "thread.hpp"

namespace eventide::notifier {
namespace {

struct State {
    std::mutex m;  // guards first, last, started
    Task* first = nullptr;
    Task* last = nullptr;
    bool started = false;
    std::atomic<uint32_t> posted{0};    // futex word of the thread: one up per post
    std::atomic<uint32_t> finished{0};  // futex word of drain(): one up per task
    std::atomic<bool> sleeping{false};
    std::atomic<bool> sweep{false};  // request_sweep was called
    std::atomic<uint32_t> drainers{0};
    std::atomic<uint64_t> accepted{0};
    std::atomic<uint64_t> done{0};
};

constexpr int64_t hour_ns = 3'600'000'000'000;
constexpr int64_t sweep_after_ns = 5'000'000;

Sweeper sweeper{};
State* state = new State;  // leaked on purpose: the thread may outlive static destruction

Task* take_all(State& s) {
    std::lock_guard lock(s.m);
    s.last = nullptr;
    return std::exchange(s.first, nullptr);
}

void run_list(State& s, Task* t, HostRun& run) {
    while (t) {
        Task* task = std::exchange(t, t->next);  // no smart pointer: see thread.hpp, the stack may be unwound
        if (task->needs_host_lock()) run.enter(now_ns());
        task->run();
        delete task;
        s.done.fetch_add(1, std::memory_order_release);
        s.finished.fetch_add(1, std::memory_order_seq_cst);
        if (s.drainers.load(std::memory_order_seq_cst)) futex::wake_all(s.finished);
        run.breathe(now_ns());
    }
}

void sweep_once(State& s, HostRun& run) {
    s.sweep.store(false, std::memory_order_seq_cst);
    if (!sweeper.needed()) return;
    run.enter(now_ns());
    sweeper.sweep();
}

// No catch (...) and no noexcept on this stack: see thread.hpp.
void* loop(void* argument) {
    State& s = *static_cast<State*>(argument);
    HostRun run;
    name_this_thread("eventide-notify");
    thread_context.core_thread = true;
    thread_context.name = "eventide-notifier";
    thread_context.callback_depth = 1;
    for (;;) {
        uint32_t seen = s.posted.load(std::memory_order_acquire);
        if (Task* t = take_all(s)) {
            run_list(s, t, run);
            continue;
        }
        run.leave();
        if (process::abandoned.load(std::memory_order_relaxed)) park_thread();
        s.sleeping.store(true, std::memory_order_seq_cst);
        const bool sweep = s.sweep.load(std::memory_order_seq_cst);
        futex::wait(s.posted, seen, sweep ? sweep_after_ns : hour_ns);
        s.sleeping.store(false, std::memory_order_relaxed);
        if (sweep) sweep_once(s, run);
    }
    return nullptr;
}

void wake(State& s, bool start) {
    if (start) start_thread(loop, &s);
    s.posted.fetch_add(1, std::memory_order_seq_cst);
    if (s.sleeping.load(std::memory_order_seq_cst)) futex::wake_all(s.posted);
}

}  // namespace

void post(Task* first) {
    if (!first) return;
    State& s = *state;
    uint64_t n = 1;
    Task* last = first;
    for (; last->next; last = last->next) ++n;
    bool start = false;
    {
        std::lock_guard lock(s.m);
        (s.last ? s.last->next : s.first) = first;
        s.last = last;
        start = !std::exchange(s.started, true);
        s.accepted.fetch_add(n, std::memory_order_relaxed);
    }
    wake(s, start);
}

void set_sweeper(Sweeper given) {
    sweeper = given;
}

void request_sweep() {
    State& s = *state;
    if (s.sweep.load(std::memory_order_relaxed) || s.sweep.exchange(true, std::memory_order_seq_cst)) return;
    bool start;
    {
        std::lock_guard lock(s.m);
        start = !std::exchange(s.started, true);
    }
    wake(s, start);
}

bool drain(int64_t timeout_ns) {
    State& s = *state;
    const uint64_t target = s.accepted.load(std::memory_order_relaxed);
    const int64_t deadline = now_ns() + timeout_ns;
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

uint64_t completed() noexcept {
    return state->done.load(std::memory_order_relaxed);
}

void after_fork_in_child() {
    state = new State;
}

}  // namespace eventide::notifier
