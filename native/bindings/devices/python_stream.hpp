// Streams of devices written in Python: the core's table over the bound methods of a DeviceBackend.
#pragma once

#include <memory>

#include "bindings/devices/python_call.hpp"
#include "runtime/device.hpp"

namespace eventide::python {

// The bound methods of a backend, for the life of the process, and which of them are its own.
struct Methods {
    Method open_stream, close_stream, submit, make_marker, wait, flush, poll, error, join, completed_at, release, gate,
        open, allocate, free, now, count, capabilities, name, read_clock, native_handle, adopt_stream;
    bool flushes, releases, allocates, joins, reads_clock, has_now, has_handles;
};

// Takes over the reference to the backend's handle. `methods` must outlive the stream.
std::unique_ptr<DeviceStream> make_python_stream(Stream& stream, const Methods& methods, PyObject* handle);

PyTypeObject* make_device_work_type();

}  // namespace eventide::python
