// StreamBase: the native half of eventide.Stream.
#pragma once

#include "bindings/base/python.hpp"
#include "runtime/stream.hpp"

namespace eventide::python {

struct PyStream {
    PyObject_HEAD;
    Stream* core;  // owned reference; nullptr until __init__
};

PyTypeObject* make_stream_type();
bool is_stream(PyObject* object);
// The core of a stream; after __init__ it is never null.
inline Stream* stream_core(PyObject* stream) {
    return ((PyStream*)stream)->core;
}
// The same for a method's self: nullptr with an exception set if a subclass forgot super().__init__().
Stream* usable_core(PyObject* self);
// The stream given, or the current one of the device if it is null or None; owned. nullptr with an exception set.
PyObject* stream_argument(const char* verb, PyObject* given, DeviceId device);
// Blocks until everything queued is complete; raises its first error, and clears it.
PyObject* synchronize_stream(Stream& stream, const Timeout& timeout, const char* verb);

// Methods that hot_submit.cpp supplies.
PyObject* stream_submit(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* stream_submit_call(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* stream_submit_native(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* stream_copy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
// The Python class of declared work, whose instances submit() opens.
void set_work_class(PyObject* type);
// Called with each end of a copy while work_submission has a listener. None: removes it.
void set_copy_watcher(PyObject* watcher);

}  // namespace eventide::python
