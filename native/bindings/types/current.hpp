// The current stream of each thread: what `with stream:` pushed, what set_stream chose, the stream whose work runs
// here, or the device's default stream.
#pragma once

#include "bindings/base/python.hpp"
#include "hooks/hub.hpp"

namespace eventide::python {

// All with the GIL. Streams are Python objects of the registered class.
bool push_stream(PyObject* stream);
// Takes the stream off; false with UsageError set if it was not the last one pushed (it is taken off all the same).
bool pop_stream(PyObject* stream);
bool set_stream(PyObject* stream);
// A new reference. device.type -1: the current device.
PyObject* current_stream(DeviceId device);
DeviceId current_device();
// make(type: str, index: int) -> stream: called once per device for its default stream.
void set_stream_factories(PyObject* make_default, PyObject* rewrap);
PyObject* default_stream(DeviceId device);
// A new reference to the stream with that id; None if it no longer exists.
PyObject* stream_by_id(uint64_t id);
void current_after_fork_in_child();

}  // namespace eventide::python
