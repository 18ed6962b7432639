#include "hooks/hub.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/context.hpp"
#include "base/error.hpp"
#include "base/mutex.hpp"
#include "base/process.hpp"

namespace eventide {

void HookRecord::stamp() const noexcept {
    if (!time_ns) time_ns = now_ns();
    if (!thread) thread = hub::this_thread_id();
}

}  // namespace eventide

namespace eventide::hub {
namespace {

constinit std::atomic<Listener*> slots[hook_count][max_listeners] = {};
Mutex change;  // guards changes of slots and of listening_mask; firing never takes it

constexpr std::string_view names[hook_count] = {
    "event_creation",
    "event_deletion",
    "event_record",
    "event_wait",
    "memory_allocation",
    "memory_deallocation",
    "stream_creation",
    "device_synchronization",
    "stream_synchronization",
    "event_synchronization",
    "stream_deletion",
    "work_submission",
    "work_completion",
    "collective_launch",
    "memory_use",
    "host_access",
    "host_signal",
    "host_wait",
};

}  // namespace

namespace {

// The function of a work item fires its first hook: from here on they belong to it, whatever thread runs it.
void fire_begin_of_work(int64_t time) {
    ThreadContext& context = thread_context;
    HookRecord r{.hook = Hook::host_wait, .device = context.work_device};
    r.stream = context.work_stream;
    r.work = context.work;
    r.name = inside_work;
    r.time_ns = context.work_began_ns ? context.work_began_ns : time;  // that of a hook may be earlier than now
    context.work = 0;
    if (listening(Hook::host_wait)) fire_except(r, nullptr);
}

}  // namespace

void fire_end_of_work(uint64_t stream, uint64_t work, DeviceId device) {
    HookRecord r{.hook = Hook::host_signal, .device = device};
    r.stream = stream;
    r.work = work;
    r.name = inside_work;
    if (listening(Hook::host_signal)) fire_except(r, nullptr);
}

void fire(const HookRecord& record) {
    if (thread_context.work && record.hook != Hook::work_completion) fire_begin_of_work(record.time_ns);
    fire_except(record, nullptr);
}

void fire_except(const HookRecord& record, const Listener* listener) {
    locks::check_outside("a hook");
    for (auto& slot : slots[unsigned(record.hook)])
        if (Listener* l = slot.load(std::memory_order_acquire); l && l != listener) l->on_hook(record);
}

void add(Hook h, Listener& listener) {
    std::lock_guard lock(change);
    std::atomic<Listener*>* place = nullptr;
    for (auto& slot : slots[unsigned(h)]) {
        Listener* l = slot.load(std::memory_order_relaxed);
        if (l == &listener) return;
        if (!l && !place) place = &slot;
    }
    if (!place)
        throw Error(ErrorKind::usage, "hook " + std::string(name(h)) + " has no place for another native listener");
    place->store(&listener, std::memory_order_release);
    listening_mask.fetch_or(1u << unsigned(h), std::memory_order_relaxed);
}

void remove(Hook h, Listener& listener) noexcept {
    std::lock_guard lock(change);
    bool left = false;
    for (auto& slot : slots[unsigned(h)]) {
        if (slot.load(std::memory_order_relaxed) == &listener) slot.store(nullptr, std::memory_order_release);
        left |= slot.load(std::memory_order_relaxed) != nullptr;
    }
    if (!left) listening_mask.fetch_and(~(1u << unsigned(h)), std::memory_order_relaxed);
}

bool others_listening(Hook h, const Listener& listener) noexcept {
    for (auto& slot : slots[unsigned(h)]) {
        Listener* l = slot.load(std::memory_order_relaxed);
        if (l && l != &listener) return true;
    }
    return false;
}

std::string_view name(Hook h) noexcept {
    return names[unsigned(h)];
}

void after_fork_in_child() {
    new (&change) Mutex;  // a thread of the parent may have held it
}

uint64_t next_token() noexcept {
    static constinit std::atomic<uint64_t> tokens{0};
    return tokens.fetch_add(1, std::memory_order_relaxed) + 1;
}

uint64_t this_thread_id() noexcept {
    thread_local uint64_t id = 0;
    thread_local uint32_t made_in = 0;
    if (const uint32_t now = process::generation.load(std::memory_order_relaxed); !id || made_in != now) {
        id = uint64_t(syscall(SYS_gettid));  // a fork gives the thread another one
        made_in = now;
    }
    return id;
}

}  // namespace eventide::hub
