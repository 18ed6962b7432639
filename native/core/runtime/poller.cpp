#include "runtime/poller.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/context.hpp"
#include "base/error.hpp"
#include "base/futex.hpp"
#include "base/host_lock.hpp"
#include "base/mutex.hpp"
#include "base/process.hpp"
#include "base/thread.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"

namespace eventide::poller {
namespace {

constexpr int64_t shortest_ns = 20'000;
constexpr int64_t longest_ns = 2'000'000;
constexpr int64_t hour_ns = 3'600'000'000'000;

// Of one device type.
struct Poller {
    Mutex m;  // guards the next three
    std::vector<Ref<Marker>> fresh;
    bool started = false;
    bool removed = false;  // the type: the thread ends when it has nothing to poll
    std::atomic<uint32_t> turn{0};
};

using Pollers = std::array<Poller, devices::max_types>;  // by the number of the type
Pollers* pollers = new Pollers;  // leaked on purpose: the threads may outlive static destruction

// False: there is something to poll again.
bool end(Poller& p) {
    std::lock_guard lock(p.m);
    p.started = !p.fresh.empty();
    return !p.started;
}

// No catch (...) and no noexcept on this stack: see thread.hpp.
void* loop(void* argument) {
    Poller& p = *static_cast<Poller*>(argument);
    name_this_thread("eventide-poll");
    thread_context.core_thread = true;
    thread_context.name = "eventide-poller";
    std::vector<Ref<Marker>> watched;
    int64_t pause = shortest_ns;
    for (;;) {
        const uint32_t turn = p.turn.load(std::memory_order_acquire);
        bool removed = false;
        {
            std::lock_guard lock(p.m);
            removed = p.removed;
            if (!p.fresh.empty()) pause = shortest_ns;
            for (auto& m : p.fresh) watched.push_back(std::move(m));
            p.fresh.clear();
        }
        const size_t before = watched.size();
        std::erase_if(watched, [](const Ref<Marker>& m) { return !m->pending(); });
        if (process::abandoned.load(std::memory_order_relaxed)) park_thread();
        pause = watched.size() < before ? shortest_ns : std::min(pause * 2, longest_ns);
        if (!watched.empty())
            watched.front()->sleep(pause);  // a device with virtual time advances when it is waited for
        else if (!removed)
            futex::wait(p.turn, turn, hour_ns);
        else if (end(p))
            break;
    }
    if (HostLock* lock = HostLock::installed()) lock->forget_thread();
    return nullptr;
}

// If the system cannot create a thread, markers wait for the next call, or until they are queried.
void start_locked(Poller& p) {
    try {
        start_thread(loop, &p);
        p.started = true;
    } catch (const Error&) {
    }
}

}  // namespace

void watch(Ref<Marker> marker) {
    Poller& p = pollers->at(size_t(marker->stream().device_id.type));
    {
        std::lock_guard lock(p.m);
        p.fresh.push_back(std::move(marker));
        if (!p.started) start_locked(p);
    }
    // After the list: a loop that reads the new number takes the marker, one that read the old does not sleep on it.
    // The wake-up is unconditional, so there is no second flag whose order could matter.
    p.turn.fetch_add(1, std::memory_order_release);
    futex::wake_all(p.turn);
}

void type_removed(int16_t type) {
    Poller& p = pollers->at(size_t(type));
    {
        std::lock_guard lock(p.m);
        p.removed = true;
    }
    p.turn.fetch_add(1, std::memory_order_release);
    futex::wake_all(p.turn);
}

void after_fork_in_child() {
    pollers = new Pollers;
}

}  // namespace eventide::poller
