// One work item submitted to a stream. The device calls Stream::execute(work) in stream order; the bindings derive the
// kinds (a Python call, a C function, a copy). The stream's queue owns it until execute() disposes of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/ref.hpp"
#include "hooks/hub.hpp"

namespace eventide {

class Work {
  public:
    virtual ~Work() = default;

    virtual bool needs_host_lock() const = 0;
    // False if it was cancelled in time. After true it can no longer be cancelled.
    virtual bool begin() = 0;
    // Runs it; a failure becomes the error of the stream.
    virtual Ref<Failure> run() = 0;
    // Called instead of run() when the stream has an error.
    virtual void skip(const Failure& first) = 0;
    // Called instead of run() when the device lost it.
    virtual void fail(const Failure& failure) = 0;
    // Makes the outcome visible: the Future is done after this.
    virtual void publish() = 0;
    // The last call; frees the object.
    virtual void dispose() = 0;

    static uint64_t next_id() noexcept {
        static constinit std::atomic<uint64_t> ids{0};
        return ids.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    // For devices: its name, and its declared duration in seconds (negative: not declared).
    virtual std::string name() const { return ""; }
    virtual double duration() const { return -1; }

    uint64_t id = 0;
    uint64_t position = 0;  // in its stream, given by submit
    int64_t cpu_ns = 0;     // of the thread during run(), if hub::cpu_time_wanted

    // Of work on polled devices, between its run and the marker behind it.
    std::atomic<Outcome> outcome{Outcome::none};  // set after its run
    bool lost = false;                            // the device never ran it; the stream's lock
    int64_t start_ns = -1;                        // on the trace's clock; negative: unknown
    Ref<Failure> failure;                         // of an immediate device: what its run raised
    void* device_data = nullptr;                  // the device's, until DeviceStream::forget
};

}  // namespace eventide
