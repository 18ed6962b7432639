// Per-thread state that blocking calls and hooks need.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/device_id.hpp"

namespace eventide {

class Stream;
class SubmitListener;

struct ThreadContext {
    Stream* running = nullptr;             // the stream whose work this thread runs now
    uint64_t position = 0;                 // the position of that work in the stream
    uint64_t work = 0;                     // its id, until a hook has reported that this thread runs it
    int64_t work_began_ns = 0;             // with `work`: when its function began, if that is known
    uint64_t work_stream = 0;              // with `work`: the id of its stream
    DeviceId work_device;                  // with `work`: the device of the stream
    uint64_t running_work = 0;             // the id of the work, as long as it runs
    SubmitListener* submitting = nullptr;  // of the submission that this thread is in, if it reports one
    uint64_t submitting_work = 0;          // the id of its work: the device may run it before the submission returns
    Stream* held = nullptr;                // the stream of deferred work, which is blocked while this thread blocks
    uint64_t held_position = 0;            // the position of that work in `held`
    const char* name = nullptr;            // the name of this thread for the host language, or null
    bool core_thread = false;              // started by the core: state that the bindings attach to it is kept
    bool defers_wakes = false;             // see wake.hpp
    std::atomic<uint32_t>* wake = nullptr;
    uint32_t callback_depth = 0;  // > 0: inside notify or Future callbacks, where blocking is refused
};

inline thread_local ThreadContext thread_context;

}  // namespace eventide
