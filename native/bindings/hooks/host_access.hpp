// Accesses as the Python side gives them, and the hooks of the host thread itself.
#pragma once

#include <vector>

#include "bindings/base/python.hpp"
#include "hooks/hub.hpp"

namespace eventide::python {

// From a tuple of (address, bytes) or (address, bytes, run, stride, possible).
std::vector<Access> read_accesses(PyObject* accesses);

// Functions of the module: listening, host_access, host_signal, host_wait, host_memory.
extern PyMethodDef host_functions[];

// While it lives, host memory that this thread reports has this time of allocation: memory that is reported because
// work accesses it was allocated before the work was submitted. 0: now.
class MemoryAsOf {
  public:
    explicit MemoryAsOf(int64_t time_ns);
    ~MemoryAsOf();
    MemoryAsOf(const MemoryAsOf&) = delete;
    MemoryAsOf& operator=(const MemoryAsOf&) = delete;
};

}  // namespace eventide::python
