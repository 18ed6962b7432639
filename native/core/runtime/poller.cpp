#include "runtime/poller.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/context.hpp"
#include "base/error.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/process.hpp"
#include "base/thread.hpp"

namespace eventide::poller {
namespace {

constexpr int64_t shortest_ns = 20'000;
constexpr int64_t longest_ns = 2'000'000;
constexpr int64_t hour_ns = 3'600'000'000'000;

struct State {
    Mutex m;  // guards fresh, started
    std::vector<Ref<Marker>> fresh;
    bool started = false;
    std::atomic<uint32_t> turn{0};
};

State* state = new State;  // leaked on purpose: the thread may outlive static destruction

// No catch (...) and no noexcept on this stack: see thread.hpp.
void* loop(void* argument) {
    State& s = *static_cast<State*>(argument);
    name_this_thread("eventide-poll");
    thread_context.core_thread = true;
    thread_context.name = "eventide-poller";
    std::vector<Ref<Marker>> watched;
    int64_t pause = shortest_ns;
    for (;;) {
        const uint32_t turn = s.turn.load(std::memory_order_acquire);
        {
            std::lock_guard lock(s.m);
            if (!s.fresh.empty()) pause = shortest_ns;
            for (auto& m : s.fresh) watched.push_back(std::move(m));
            s.fresh.clear();
        }
        const size_t before = watched.size();
        std::erase_if(watched, [](const Ref<Marker>& m) { return !m->pending(); });
        if (process::abandoned.load(std::memory_order_relaxed)) park_thread();
        pause = watched.size() < before ? shortest_ns : std::min(pause * 2, longest_ns);
        if (watched.empty())
            futex::wait(s.turn, turn, hour_ns);
        else
            watched.front()->sleep(pause);  // a device with virtual time moves on when it is waited for
    }
    return nullptr;
}

// When the system has no thread to give, markers wait for the next call, or until they are asked about.
void start_locked(State& s) {
    try {
        start_thread(loop, &s);
        s.started = true;
    } catch (const Error&) {
    }
}

}  // namespace

void watch(Ref<Marker> marker) {
    State& s = *state;
    {
        std::lock_guard lock(s.m);
        s.fresh.push_back(std::move(marker));
        if (!s.started) start_locked(s);
    }
    // After the list: a loop that reads the new number takes the marker, one that read the old does not sleep on it.
    // The wake-up is unconditional, so there is no second flag whose order could matter.
    s.turn.fetch_add(1, std::memory_order_release);
    futex::wake_all(s.turn);
}

void after_fork_in_child() {
    state = new State;
}

}  // namespace eventide::poller
