// The hooks about what the host has waited for, and about what it has observed without waiting.
#pragma once

#include "bindings/base/exception.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {

// Fires a hook while an exception may be pending, which stays. False if an exception is pending afterwards.
inline bool fire_keeping_exception(const HookRecord& record) {
    {
        const KeptException kept;
        hub::fire(record);
    }
    return !PyErr_Occurred();
}

// Fires host_wait: this thread has observed, without blocking in a synchronization, that something of a stream is
// complete. name "cancelled": it has cancelled that work, which will not run. False if a listener raised. Without a
// listener: one load.
inline bool host_observed_completion(const Stream* stream, uint64_t event, uint64_t version, uint64_t work,
                                     std::string_view name = {}) {
    if (!stream || !hub::listening(Hook::host_wait)) return true;
    HookRecord r{.hook = Hook::host_wait, .device = stream->device_id, .stream = stream->id};
    r.event = event;
    r.version = version;
    r.work = work;
    r.name = name;
    return fire_keeping_exception(r);
}

// The hook of one synchronization. It is fired before the wait and, if that was fired, after it with the outcome; a
// common handle pairs the two.
class Synchronization {
  public:
    explicit Synchronization(const HookRecord& record) : start_ns(now_ns()), record_(record) {
        record_.time_ns = start_ns;
    }
    // False if a listener raised.
    bool begin() {
        if (!hub::listening(record_.hook)) return true;
        record_.handle = hub::next_token();
        return fire_keeping_exception(record_);
    }
    // Once, on any thread. False if an exception is pending: that of an interrupted wait, or what a listener raised.
    bool end(Outcome outcome) {
        if (record_.handle && hub::listening(record_.hook)) {
            HookRecord r = record_;
            r.end = true;
            r.outcome = outcome;
            r.name = outcome == Outcome::cancelled ? "gave up" : "";
            r.time_ns = now_ns();
            r.waited_ns = r.time_ns - start_ns;
            r.thread = 0;
            fire_keeping_exception(r);
        }
        record_.handle = 0;
        return !PyErr_Occurred();
    }
    bool end(Waited waited, bool failed) {
        return end(waited != Waited::done ? Outcome::cancelled : failed ? Outcome::failed : Outcome::ok);
    }

    int64_t start_ns;

  private:
    HookRecord record_;
};

}  // namespace eventide::python
