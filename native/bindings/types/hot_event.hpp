// EventBase: the native half of eventide.Event; a handle on a core event, which may be on lease from a pool.
#pragma once

#include "bindings/base/python.hpp"
#include "runtime/event.hpp"
#include "runtime/pool.hpp"

namespace eventide::python {

struct PyEvent {
    PyObject_HEAD;
    Event* core;       // owned reference; nullptr until __init__
    EventPool* pool;   // owned reference, or nullptr
    uint64_t lease;    // the handle is dead once the event's lease is another
    bool owner;        // dropping this handle gives the event back
    PyObject* stream;  // what record() and wait() use when none is given, or nullptr
};

PyTypeObject* make_event_type();
bool is_event(PyObject* object);
void set_event_class(PyObject* type);
// A new Event of the registered class, without timing.
PyObject* make_event(DeviceId device);
// A new handle on an event of a pool.
PyObject* make_pooled_event(EventPool& pool, EventPool::Lease lease, bool owner, PyObject* stream);
// Both return None, or nullptr with an exception set.
PyObject* event_record(PyObject* event, Stream& stream);
PyObject* event_wait(PyObject* event, Stream& stream);
// The core of a usable handle; nullptr with an exception set.
Event* event_core(PyObject* event);

}  // namespace eventide::python
