// DLPack, both directions: the layout of its structs is fixed by the specification (versions 0.8 and 1.0).
#pragma once

#include "../core/hub.hpp"
#include "python.hpp"

namespace eventide::python {

// A capsule of `bytes` writable bytes of host memory that keeps `owner` alive. Consumers that know version 1 get that
// one: of an unversioned capsule they would make a read-only array.
PyObject* make_dlpack(void* data, size_t bytes, PyObject* owner, bool versioned);

// The address and extent of the memory behind a capsule, which stays unconsumed. False with an exception set.
bool read_dlpack(PyObject* capsule, Access& out);

}  // namespace eventide::python
