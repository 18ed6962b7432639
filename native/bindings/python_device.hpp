// A device written in Python: the core's table over the bound methods of a DeviceBackend, looked up once.
#pragma once

#include "python.hpp"

namespace eventide::python {

PyTypeObject* make_device_work_type();

// Registers the backend under that name for the life of the process. Throws Error.
void register_python_device(const std::string& type, PyObject* backend);

}  // namespace eventide::python
