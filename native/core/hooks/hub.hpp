// The hooks: named points of the runtime at which listeners are called.
//
//   if (hub::listening(Hook::event_record)) hub::fire(record);
//
// Without a listener a hook costs one relaxed load and one predicted branch. Listeners are registered by address and
// must live forever (or tolerate a late call): firing takes no lock and counts no reference. The bridge to Python, the
// recorder and the sanitizer are one such object each, added and removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "base/device_id.hpp"

namespace eventide {

// The order is not part of any stored format; names come from hub::name. What a record carries besides time, thread and
// stack:
//
//   hook                 fields
//   stream_creation      group "default" or "behind": on a device whose default stream blocks, that stream or another
//   work_submission      group: the category of the span, such as "copy"; empty: "work"
//   memory_deallocation  handle, bytes; name "dropped": the last reference was dropped, so no work that had one is
//                        pending
//   memory_use           handle, bytes, stream: Buffer.record_stream
//   host_access          reads, writes: by the host thread, or, with work and stream, by that work while it runs
//   host_signal          handle: a token with which this thread signals another; 0, with work and stream: the function
//                        of that work, which began with a host_wait, has returned
//   host_wait            handle: the token; or, without one, what this thread observed to be complete: event, version
//                        and stream (query, notify), work and stream (a Future), or the stream as it is now
//                        (Stream.query); with the name "inside": up to its host_signal, what this thread does
//                        belongs to the function of that work
//
// Synchronizations fire twice, before and after (`end`), with one handle for both: they wait for what was queued at the
// first. When one gave up, the end has the name "gave up" and its outcome is cancelled. Between the two records of a
// coroutine there may be any others.
enum class Hook : uint8_t {
    event_creation,
    event_deletion,
    event_record,
    event_wait,
    memory_allocation,
    memory_deallocation,
    stream_creation,
    device_synchronization,
    stream_synchronization,
    event_synchronization,
    stream_deletion,
    work_submission,
    work_completion,
    collective_launch,
    memory_use,
    host_access,
    host_signal,
    host_wait,
};
inline constexpr int hook_count = 18;

// Memory that is touched: `bytes` from `address` on or, of a strided view, the first `run` bytes of every `stride` of
// them (stride 0: all). possible: an upper bound, because the view is none of these.
struct Access {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t run = 0;
    uint64_t stride = 0;
    bool possible = false;
    bool operator==(const Access&) const = default;
};

enum class Outcome : uint8_t { none, ok, failed, skipped, cancelled };

// What every hook carries. Fields that do not apply are zero. Pointers are valid during the call only.
struct HookRecord {
    Hook hook;
    bool end = false;                 // synchronizations: false before blocking, true after
    bool accesses_known = false;      // reads and writes are complete, possibly empty; false: accesses are unknown
    Outcome outcome = Outcome::none;  // of work; of the end of a synchronization: cancelled if it gave up waiting
    DeviceId device;
    mutable int64_t time_ns = 0;  // 0 until stamp()
    mutable uint64_t thread = 0;
    uint64_t stream = 0;
    uint64_t event = 0;
    uint64_t version = 0;
    uint64_t work = 0;
    uint64_t handle = 0;
    uint64_t bytes = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t waited_ns = 0;
    int64_t cpu_ns = 0;  // of work: CPU time of the thread that ran it; 0 unless hub::cpu_time_wanted
    std::string_view name;
    std::string_view group;
    const Access* reads = nullptr;
    const Access* writes = nullptr;
    uint32_t read_count = 0;
    uint32_t write_count = 0;

    // Fills in the time and the thread on the first call. For listeners that use them.
    void stamp() const noexcept;
};

namespace hub {

// The version of an event in a record made by a caller: the latest.
inline constexpr uint64_t newest_version = ~uint64_t{0};

class Listener {
  public:
    virtual void on_hook(const HookRecord& record) = 0;

  protected:
    ~Listener() = default;
};

inline constexpr int max_listeners = 4;  // per hook: the Python bridge, the recorder, the sanitizer, one to spare

// Bit h is set while hook h has a listener.
inline constinit std::atomic<uint32_t> listening_mask{0};

// A listener needs HookRecord::cpu_ns: two system calls a work item.
inline constinit std::atomic<bool> cpu_time_wanted{false};

inline bool listening(Hook h) noexcept {
    return listening_mask.load(std::memory_order_relaxed) & (1u << unsigned(h));
}

// The name of the two records that enclose what the function of a work item does. They are fired only if it fires any.
inline constexpr std::string_view inside_work = "inside";
// Fires the second one.
void fire_end_of_work(uint64_t stream, uint64_t work, DeviceId device);

// Calls every listener of record.hook.
void fire(const HookRecord& record);
// The same without one of them.
void fire_except(const HookRecord& record, const Listener* listener);

// Adding twice or removing an absent listener does nothing. Throws Error when all slots are used.
void add(Hook h, Listener& listener);
void remove(Hook h, Listener& listener) noexcept;
// Whether this hook has a listener other than `listener`.
bool others_listening(Hook h, const Listener& listener) noexcept;

std::string_view name(Hook h) noexcept;
uint64_t this_thread_id() noexcept;
void after_fork_in_child();
// A unique number: pairs the two records of a synchronization or of a hand-over.
uint64_t next_token() noexcept;

}  // namespace hub
}  // namespace eventide
