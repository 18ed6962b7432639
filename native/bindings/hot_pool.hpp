// EventPoolBase: the native half of eventide.EventPool.
#pragma once

#include "python.hpp"

namespace eventide::python {

PyTypeObject* make_pool_type();

}  // namespace eventide::python
