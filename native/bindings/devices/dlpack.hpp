// DLPack in both directions, unversioned and version 1 (native/third_party/dlpack/dlpack.h).
#pragma once

#include "bindings/base/python.hpp"

namespace eventide::python {

// A capsule of `bytes` writable bytes of host memory that keeps `owner` alive. Consumers of version 1 get a
// versioned one: they import an unversioned capsule as a read-only array.
PyObject* make_dlpack(void* data, size_t bytes, PyObject* owner, bool versioned);

// (address, shape, strides in bytes or None, itemsize) of the memory behind a capsule, which stays unconsumed.
PyObject* read_dlpack(PyObject* capsule);

}  // namespace eventide::python
