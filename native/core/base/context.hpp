// What a thread is doing, as far as blocking calls must know.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/device_id.hpp"

namespace eventide {

class Stream;

struct ThreadContext {
    Stream* running = nullptr;   // the stream whose work this thread runs now: the current one
    uint64_t position = 0;       // and the position of that work in it
    uint64_t work = 0;           // its id, until a hook was told that this thread runs it
    uint64_t work_stream = 0;    // with `work`: the id of its stream
    DeviceId work_device;        // and the device of that
    uint64_t running_work = 0;   // its id, as long as it runs
    Stream* held = nullptr;      // the stream that cannot go on while this thread blocks: that of deferred work
    uint64_t held_position = 0;  // and the position of that work in it
    const char* name = nullptr;  // what the host language should call this thread, or nothing
    bool core_thread = false;    // one of ours: it keeps what the bindings attach to it
    bool defers_wakes = false;   // see wake.hpp
    std::atomic<uint32_t>* wake = nullptr;
    uint32_t callback_depth = 0;  // > 0: inside notify or Future callbacks, where blocking is refused
};

inline thread_local ThreadContext thread_context;

}  // namespace eventide
