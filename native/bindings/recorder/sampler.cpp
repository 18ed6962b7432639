// Samples the Python stack of every thread each period, and records each as an instant of category "sample"; one whose
// thread used less than a tenth of the time since the last sample has the argument "waiting". If several threads used
// more, they may have waited for the GIL in between: "ran" is the percentage that each used. Memory of the process is
// recorded as well.
//
// A thread of the core takes the GIL every period: Python's threads stop for the few microseconds of a sample.
// It has no frames and no entry in `threading`, so it is invisible to the program.
//
//   period   atomic; 0: no sampler. Changed by start and stop under the GIL; each sampler ends when it is not its own.
#include "bindings/recorder/sampler.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/context.hpp"
#include "base/host_lock.hpp"
#include "base/process.hpp"
#include "base/stacks.hpp"
#include "base/thread.hpp"
#include "bindings/base/frames.hpp"
#include "bindings/recorder/process_memory.hpp"
#include "bindings/recorder/thread_names.hpp"
#include "encoding/json.hpp"
#include "recorder/payload_records.hpp"

namespace eventide::python {
namespace {

std::atomic<uint64_t> running{0};  // the number of the sampler that may continue; 0: none
std::atomic<int64_t> period_ns{0};
std::atomic<uint64_t> numbers{0};

// CPU time of a thread by its system id, as the kernel names such clocks; -1: it has ended.
int64_t cpu_of(uint64_t tid) noexcept {
    timespec t;
    if (clock_gettime(clockid_t((~uint32_t(tid) << 3) | 6), &t)) return -1;
    return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// By thread, the CPU time at the last sample.
using Spent = std::unordered_map<uint64_t, int64_t>;

// A thread that runs Python, and the CPU time that it used since the last sample.
struct Sampled {
    PyThreadState* thread;
    uint32_t stack;
    int64_t used;
};

// A multiple of ten: arguments are stored once each, so they shall not all differ.
int64_t percent(int64_t used, int64_t elapsed) noexcept {
    return elapsed > 0 ? std::clamp<int64_t>((used * 10 + elapsed / 2) / elapsed, 1, 10) * 10 : 100;
}

void record(const Sampled& one, const std::string& args) {
    PyThreadState* thread = one.thread;
    const uint32_t stack = one.stack;
    const auto frames = stacks::resolve(stack);
    const uint64_t tid = thread->native_thread_id;
    std::string name = python_thread_name(thread->thread_id);
    if (name.empty()) name = tid == uint64_t(getpid()) ? "MainThread" : "thread " + std::to_string(tid);
    const std::string track = json::Object()
                                  .text("kind", "other")
                                  .text("name", "samples of " + name)
                                  .add("tid", tid)
                                  .add("pid", getpid())
                                  .done();
    recorder::record_instant(track, frames.empty() ? "?" : frames[0].function, "sample", args, stack);
}

// `elapsed` is the time since the last call.
void sample_all(Spent& spent, int64_t elapsed) {
    const int64_t least = period_ns.load(std::memory_order_relaxed) / 10;
    std::vector<Sampled> found;
    PyInterpreterState* interpreter = PyInterpreterState_Get();
    for (PyThreadState* t = PyInterpreterState_ThreadHead(interpreter); t; t = PyThreadState_Next(t)) {
        const uint32_t stack = capture_stack_of(t);
        if (!stack) continue;  // it runs no Python just now
        int64_t& before = spent[t->native_thread_id];
        const int64_t cpu = cpu_of(t->native_thread_id);
        found.push_back({t, stack, cpu - before});
        before = cpu;
    }
    const auto ran = std::ranges::count_if(found, [&](const Sampled& one) { return one.used >= least; });
    for (const Sampled& one : found) {
        const int64_t part = ran > 1 ? percent(one.used, elapsed) : 100;
        if (one.used < least)
            record(one, R"({"waiting": true})");
        else
            record(one, part < 100 ? json::Object().add("ran", part).done() : "");
    }
}

void* sample_until_stopped(void* argument) {
    const auto mine = uint64_t(uintptr_t(argument));
    name_this_thread("et-sampler");
    thread_context.core_thread = true;
    recorder::is_profiler_thread = true;
    HostLock* lock = HostLock::installed();
    Spent spent{{uint64_t(getpid()), cpu_of(uint64_t(getpid()))}};  // later threads count from their start
    ProcessMemory memory;
    int64_t last = now_ns();
    while (running.load(std::memory_order_acquire) == mine) {
        const int64_t ns = period_ns.load(std::memory_order_relaxed);
        const timespec nap{ns / 1'000'000'000, ns % 1'000'000'000};
        nanosleep(&nap, nullptr);
        if (running.load(std::memory_order_acquire) != mine) break;
        memory.record_if_due(now_ns());
        lock->acquire();
        const int64_t now = now_ns();
        sample_all(spent, now - last);
        last = now;
        lock->release();
    }
    lock->forget_thread();
    return nullptr;
}

}  // namespace

void start_sampler(int64_t period) {
    period_ns.store(period, std::memory_order_relaxed);
    const uint64_t mine = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
    running.store(mine, std::memory_order_release);
    start_thread(sample_until_stopped, reinterpret_cast<void*>(uintptr_t(mine)));
}

void stop_sampler() noexcept {
    running.store(0, std::memory_order_release);
}

}  // namespace eventide::python
