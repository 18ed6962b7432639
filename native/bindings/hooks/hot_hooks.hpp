// Python callbacks on the hooks: one native listener that walks a snapshot of them.
#pragma once

#include "bindings/base/python.hpp"
#include "hooks/hub.hpp"

namespace eventide::python {

PyTypeObject* make_registry_type();

// Adds a callback (or an observer's bound method, which gets the whole record) and returns its number.
uint64_t add_callback(Hook hook, PyObject* callback, DeviceId device, bool observer, bool end);
// False if it is not there (any more).
bool remove_callback(Hook hook, uint64_t number);
void clear_callbacks(Hook hook);
// A new list of the callbacks, without observers; null with an exception set.
PyObject* list_callbacks(Hook hook);

struct HookStatistics {
    uint64_t callbacks, fired, errors;
};
HookStatistics hook_statistics(Hook hook);
void callbacks_after_fork_in_child();
// Fires for native listeners alone: no Python callback is called.
void fire_native(const HookRecord& record);

// bind_hook_record.cpp: the Python form of a record, and what to do once its observers have seen it.
PyObject* make_hook_record(const HookRecord& record);
void finish_hook_record(PyObject* record);

}  // namespace eventide::python
