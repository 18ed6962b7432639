// EventPoolBase: the native half of eventide.EventPool.
#pragma once

#include "bindings/base/python.hpp"

namespace eventide::python {

PyTypeObject* make_pool_type();

}  // namespace eventide::python
