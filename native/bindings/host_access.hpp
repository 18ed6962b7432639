// Accesses as the Python side gives them, and the hooks of the host thread itself.
#pragma once

#include <vector>

#include "../core/hub.hpp"
#include "python.hpp"

namespace eventide::python {

// From a tuple of (address, bytes) or (address, bytes, run, stride, possible).
std::vector<Access> read_accesses(PyObject* accesses);

// Functions of the module: listening, host_access, host_signal, host_wait, host_memory.
extern PyMethodDef host_functions[];

}  // namespace eventide::python
