// Devices written in Python. Their methods are looked up once.
#pragma once

#include <string>

#include "bindings/base/python.hpp"

namespace eventide::python {

// Registers the backend under that name for the life of the process. Throws Error.
void register_python_device(const std::string& type, PyObject* backend);

}  // namespace eventide::python
