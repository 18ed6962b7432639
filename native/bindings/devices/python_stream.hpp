// Streams of devices written in Python: the core's table over the bound methods of a DeviceBackend.
#pragma once

#include <memory>
#include <string>

#include "bindings/base/python.hpp"
#include "runtime/device.hpp"

namespace eventide::python {

// The bound methods of a backend, for the life of the process.
struct Methods {
    PyObject *open_stream, *close_stream, *submit, *make_marker, *wait, *flush, *poll, *error, *join, *completed_at,
        *release, *gate, *open, *allocate, *free, *now, *count, *capabilities, *name, *read_clock, *native_handle,
        *adopt_stream;
    bool flushes, releases, allocates, joins, reads_clock, tells_time, has_handles;
};

// The current exception as a text; cleared.
std::string take_error();

// A call into the backend: takes the GIL, and puts aside an exception that is on its way to the user. Explicit, not a
// guard: see python.hpp.
struct Call {
    Call() : how(take_gil()) { PyErr_Fetch(&kind, &value, &trace); }
    PyObject* operator()(PyObject* method, std::initializer_list<PyObject*> args) const {
        return PyObject_Vectorcall(method, args.begin(), args.size(), nullptr);
    }
    // What the backend raised has been dealt with by now.
    void end() const {
        PyErr_Restore(kind, value, trace);
        give_gil(how);
    }

    int how;
    PyObject *kind, *value, *trace;
};

// Takes over the reference to the backend's handle. `methods` and `type` must outlive the stream.
std::unique_ptr<DeviceStream> make_python_stream(Stream& stream, const Methods& methods, const std::string& type,
                                                 PyObject* handle);

PyTypeObject* make_device_work_type();

}  // namespace eventide::python
