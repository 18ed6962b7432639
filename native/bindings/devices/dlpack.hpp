// DLPack, both directions: the layout of its structs is fixed by the specification (versions 0.8 and 1.0).
#pragma once

#include "bindings/base/python.hpp"

namespace eventide::python {

// A capsule of `bytes` writable bytes of host memory that keeps `owner` alive. Consumers that know version 1 get that
// one: of an unversioned capsule they would make a read-only array.
PyObject* make_dlpack(void* data, size_t bytes, PyObject* owner, bool versioned);

// (address, shape, strides in bytes or None, itemsize) of the memory behind a capsule, which stays unconsumed.
PyObject* read_dlpack(PyObject* capsule);

}  // namespace eventide::python
