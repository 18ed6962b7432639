// The host has learnt, without blocking in a synchronization, that something of a stream is over.
#pragma once

#include "bindings/base/python.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {

// Tells host_wait. An exception that is set stays set; false if there is one afterwards.
inline bool tell_learnt(const Stream& stream, uint64_t event, uint64_t version, uint64_t work) {
    HookRecord r{.hook = Hook::host_wait, .device = stream.device_id, .stream = stream.id};
    r.event = event;
    r.version = version;
    r.work = work;
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    hub::fire(r);
    if (kind) PyErr_Restore(kind, value, trace);
    return !PyErr_Occurred();
}

// True unless a listener raised. Nobody listening: one load.
inline bool learnt(const Stream* stream, uint64_t event, uint64_t version, uint64_t work) {
    return !stream || !hub::listening(Hook::host_wait) || tell_learnt(*stream, event, version, work);
}

// Fills in the end of a synchronization.
inline void set_end(HookRecord& r, Outcome outcome) {
    r.end = true;
    r.outcome = outcome;
    r.name = outcome == Outcome::cancelled ? "gave up" : "";
}
inline void set_end(HookRecord& r, Waited waited, bool failed) {
    set_end(r, waited != Waited::done ? Outcome::cancelled : failed ? Outcome::failed : Outcome::ok);
}

}  // namespace eventide::python
